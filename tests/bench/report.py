"""`python -m tests.bench.report FILE [--to FOLDER] [--force]`: the page and its charts, from the results of one run.

A run that was measured while others kept the machine busy is refused, unless forced; the page then says so.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.bench import results
from tests.bench.charts import chart
from tests.bench.results import MACHINE, OURS, Results, RowResult
from tests.bench.runner import number

PAGE = "README.md"
FOLDER = Path(__file__).with_name("results")


class Loaded(Exception):
    """Figures that foreign load has spoilt."""


def write(found: Results, source: str, folder: Path, *, force: bool = False) -> list[Path]:
    """The files written, the page first. `source`: the name of the results' file. Raises Loaded."""
    spoilt = [row.name for row in found.rows if row.loaded]
    if spoilt and not force:
        raise Loaded(f"others kept the machine busy during {', '.join(spoilt)}: measure again, or --force")
    folder.mkdir(parents=True, exist_ok=True)
    written = [folder / PAGE]
    pictures: dict[str, str] = {}
    for section, rows in sections(found).items():
        drawn = chart(section, rows, rivals(found))
        if drawn is not None:
            pictures[section] = f"{section.lower().replace(' ', '-')}.svg"
            written.append(folder / pictures[section])
            written[-1].write_text(drawn)
    written[0].write_text(page(found, source, pictures))
    return written


def rivals(found: Results) -> list[str]:
    return [broker for broker in found.options["brokers"] if broker != OURS]


def sections(found: Results) -> dict[str, list[RowResult]]:
    grouped: dict[str, list[RowResult]] = {}
    for row in found.rows:
        grouped.setdefault(row.section, []).append(row)
    return grouped


def page(found: Results, source: str, pictures: dict[str, str]) -> str:
    """`pictures`: the chart of a section, by its title."""
    seconds, warm_seconds = found.options["seconds"], found.options["warm_seconds"]
    lines = [
        "# oncelog beside its rivals",
        "",
        f"Made by `python -m tests.bench.report` from `{source}`: do not edit. Medians of {_rounds(found)}; in each, every broker",
        f"is measured fresh and alone, one after another, {seconds:g} s after {warm_seconds:g} s of warming up. Absolute numbers",
        "differ from machine to machine: read the ratios.",
        "",
    ]
    if found.loaded:
        lines += ["**Measured while others kept the machine busy (rows marked ‡): these figures are not to be relied on.**", ""]
    for section, rows in sections(found).items():
        lines += [f"## {section}", ""]
        if section in pictures:
            lines += [f"![{section}: ratios]({pictures[section]})", ""]
        lines += _table(rows, found.options["brokers"])
        lines += _failures(rows)
    return "\n".join([*lines, *_how(found)]) + "\n"


def _rounds(found: Results) -> str:
    counts = sorted({len(row.rounds) for row in found.rows}) or [0]
    told = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"{told} round{'s' * (counts != [1])}"


def _table(rows: Sequence[RowResult], brokers: Sequence[str]) -> Iterator[str]:
    """Of a row of the machine, one cell; of others, for each broker its value, CPU, peak, and beside each rival the ratio."""
    if all(row.brokers() == [MACHINE] for row in rows):
        brokers = [MACHINE]
    others = [broker for broker in brokers if broker not in (OURS, MACHINE)]
    heads = ["", "unit", *brokers, *(f"{OURS} / {rival}" for rival in others), "others, cores"]
    yield f"| {' | '.join(heads)} |"
    yield f"|---|---|{'---:|' * (len(heads) - 2)}"
    for row in rows:
        mark = " ‡" if row.loaded else ""
        cells = [_cell(row, broker) for broker in brokers]
        if row.brokers() == [MACHINE]:
            cells[0] = _cell(row, MACHINE)
        yield f"| {' | '.join([row.title + mark, row.unit, *cells, *(_ratio(row, rival) for rival in others), _foreign(row)])} |"
    yield ""


def _cell(row: RowResult, broker: str) -> str:
    value = row.median(broker)
    if value is None:
        return "–"
    parts = [f"**{number(value)}**"]
    cpu, peak = row.median(broker, "cpu_us"), row.median(broker, "peak_mib")
    if cpu is not None:
        parts.append(f"{number(cpu)} µs CPU a {row.per}")
    if peak is not None:
        parts.append(f"peak {number(peak)} MiB")
    parts += [f"{name.rpartition(' ')[0]} {number(noted)} {name.rpartition(' ')[2]}" for name, noted in row.more(broker).items()]
    return "<br>".join(parts)


def _ratio(row: RowResult, rival: str) -> str:
    """The median of the rounds' ratios and their range; of the CPU, too."""
    ratios, cpu = row.ratios(rival), row.ratios(rival, "cpu_us")
    if not ratios:
        return "–"
    parts = [f"**{number(results.middle(ratios))}**", f"{number(min(ratios))} to {number(max(ratios))}"]
    if cpu:
        parts.append(f"CPU {number(results.middle(cpu))}")
    return "<br>".join(parts)


def _foreign(row: RowResult) -> str:
    return number(max(sample.foreign for one in row.rounds for sample in one.samples.values()))


def _failures(rows: Sequence[RowResult]) -> Iterator[str]:
    told = [(row.title, broker, row.error(broker)) for row in rows for broker in row.brokers()]
    found = [f"- {title}, {broker}: {' '.join(error.split())[:200]}" for title, broker, error in told if error]
    if found:
        yield from ["Not measured:", "", *found, ""]


def _how(found: Results) -> Iterator[str]:
    yield "## On what, and how to repeat it"
    yield ""
    for name, value in found.machine.items():
        yield f"- {name}: {value}"
    if found.options["generator"] != "C":
        yield f"- the load of small requests was made in {found.options['generator']}, which costs more than some brokers do"
    options = found.options
    against = ",".join(rivals(found))
    asked = f"--against {against} --rounds {options['rounds']} --seconds {options['seconds']:g} --warm-seconds {options['warm_seconds']:g}"
    yield ""
    yield f"`python -m tests.bench {asked}`, or `make bench AGAINST={against}`. A round during which others kept more than"
    yield f"{options['quiet_cores']:g} cores busy is measured again, at most three times. In rows counted in ms, MiB or % less is better;"
    yield "the charts show how many times as good oncelog is, the thin line from the worst to the best round."


def main(given: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.report", description="the page and its charts, from results")
    parser.add_argument("file", type=Path)
    parser.add_argument("--to", type=Path, default=FOLDER, help="folder of the page (default: tests/bench/results)")
    parser.add_argument("--force", action="store_true", help="also from results that foreign load has spoilt")
    options = parser.parse_args(given)
    try:
        written = write(results.load(options.file), options.file.name, options.to, force=options.force)
    except Loaded as error:
        print(error, file=sys.stderr)
        return 1
    print("\n".join(map(str, written)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
