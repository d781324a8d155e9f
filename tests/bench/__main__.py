"""`python -m tests.bench --against kafka,kfake [--rows 'txn-*,start'] [--rounds N] [--seconds N] [--resume FILE]`

Row by row, every broker fresh and alone on loopback under the same load, in turn, A B C A B C. A round during which others kept the machine
busy is measured again, at most three times, and marked when it never was quiet. Absolute numbers move by a fifth between runs and much more
between machines: read the ratios. Nothing is asserted; what could not be measured is told.

The results are written after each round; `--resume` goes on with those of a run that was cut off. `python -m tests.bench.report FILE`
makes the page and the charts of them.
"""

from __future__ import annotations

import argparse
import resource
import sys
from datetime import UTC, datetime
from pathlib import Path

from tests.bench import machine, results, runner
from tests.bench.native import generator
from tests.bench.results import OURS, Results
from tests.bench.servers import SERVERS
from tests.bench.stage import Row, Staged
from tests.bench.table import TABLE, chosen

FOLDER = Path(__file__).with_name("results")
ORDER = {row.name: at for at, row in enumerate(TABLE)}
SAME = ("seconds", "warm_seconds", "generator", "brokers", "quiet_cores")  # rounds of other values do not compare


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="oncelog beside its rivals, in numbers")
    parser.add_argument("--against", default="kafka,kfake", help="rivals, comma separated; empty: none")
    parser.add_argument("--rows", default="", help="rows by name, comma separated, * for anything; without it all")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5.0, help="measured of each broker in each round")
    parser.add_argument("--warm-seconds", type=float, help="under load before that (default: half of --seconds)")
    parser.add_argument(
        "--quiet-cores",
        type=float,
        default=results.QUIET_CORES,
        help="what others may keep busy before a round is repeated (default: %(default)s)",
    )
    parser.add_argument("--output", type=Path, help="where the results go (default: a new file in tests/bench/results)")
    parser.add_argument("--resume", type=Path, metavar="FILE", help="go on with these results")
    parser.add_argument("--list", action="store_true", help="name the rows, measure nothing")
    options = parser.parse_args(given)
    options.brokers = [OURS, *filter(None, options.against.split(","))]
    unknown = [name for name in options.brokers if name not in SERVERS]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}")
    try:
        options.chosen = chosen(list(filter(None, options.rows.split(","))))
    except LookupError as error:
        parser.error(f"no row is called {error}; --list names them")
    if options.warm_seconds is None:
        options.warm_seconds = options.seconds / 2
    return options


def main() -> int:
    options = arguments()
    if options.list:
        _list(TABLE)
        return 0
    _allow_many_files()
    if generator() != "C":
        runner.print_line("no C compiler: the load of small requests is made in Python, which costs more than some brokers do")
    path, found = _results(options)
    plan = runner.Plan(options.brokers, options.rounds, options.quiet_cores)
    rows = [Staged(row, options.seconds, options.warm_seconds) for row in options.chosen]

    def keep() -> None:
        found.rows.sort(key=lambda row: ORDER.get(row.name, len(ORDER)))
        found.save(path)

    try:
        runner.run(rows, plan, found, keep, runner.print_line)
    except KeyboardInterrupt:
        print(f"cut off: --resume {path} goes on with it", file=sys.stderr)
        return 130
    show(found, options.brokers)
    print(f"{path}{': measured under foreign load, not to be published' if found.loaded else ''}")
    return 1 if any(row.error(own) for row in found.rows for own in (OURS, results.MACHINE)) else 0


def _results(options: argparse.Namespace) -> tuple[Path, Results]:
    here = machine.facts()
    asked = {name: getattr(options, name) for name in ("seconds", "warm_seconds", "quiet_cores", "brokers", "rounds")}
    asked["generator"] = generator()
    if options.resume is not None:
        try:
            return options.resume, results.resume(options.resume, here, asked, SAME)
        except results.Mismatch as error:
            sys.exit(str(error))
    now = datetime.now(UTC)
    path = options.output or FOLDER / f"{now:%Y-%m-%d-%H%M}.json"
    if path.exists():
        sys.exit(f"{path} exists: --resume goes on with it")
    return path, Results(here, {**asked, "begun": f"{now:%Y-%m-%d %H:%M} UTC"})


def show(found: Results, brokers: list[str]) -> None:
    """Medians, then oncelog's ratio to each rival."""
    rivals = brokers[1:]
    lines = [["", "", *brokers, *(f"/ {rival}" for rival in rivals)]]
    for row in found.rows:
        names = brokers if results.MACHINE not in row.brokers() else [results.MACHINE]
        cells = [runner.number(row.median(broker)) for broker in names]
        ratios = [runner.number(results.middle(row.ratios(rival))) for rival in rivals]
        lines.append([row.title + (" (loaded)" if row.loaded else ""), row.unit, *cells, *([""] * (len(brokers) - len(names))), *ratios])
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    for line in lines:
        padded = zip(line, widths, strict=True)
        print("  ".join(cell.ljust(width) if at < 2 else cell.rjust(width) for at, (cell, width) in enumerate(padded)).rstrip())


def _list(rows: list[Row]) -> None:
    width = max(len(row.name) for row in rows)
    for row in rows:
        print(f"{row.name:{width}}  {row.title} ({row.unit})")


def _allow_many_files() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


if __name__ == "__main__":
    sys.exit(main())
