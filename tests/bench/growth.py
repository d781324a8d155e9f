"""`python -m tests.bench.growth [--against kafka,kfake] [--only NAME] [--quick] [--json FILE] [--restart-gb N]`

What more partitions, connections, producers, groups and bytes cost, each broker once, one after another. Absolute numbers move by a fifth
between runs and much more between machines: read the ratios. A broker that cannot be started is reported and left out. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.scenarios import SCENARIOS, Bench, Row
from tests.bench.servers import SERVERS, Unavailable

Table = dict[tuple[str, str], dict[str, float]]  # (what, unit) -> broker -> value
TOTAL_SECONDS = 600.0
QUICK_SECONDS = 120.0


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.growth", description="what growth costs oncelog and its rivals, in numbers"
    )
    parser.add_argument("--against", default="kafka,kfake", help="rivals, comma separated; empty: none")
    parser.add_argument("--only", help="scenarios, comma separated: " + ", ".join(SCENARIOS))
    parser.add_argument("--quick", action="store_true", help="under two minutes; rougher numbers")
    parser.add_argument("--json", type=Path, help="write the numbers here, too")
    parser.add_argument(
        "--restart-gb", type=float, default=1.0, help="log size for the restart; from 10 on oncelog is measured at a tenth, too"
    )
    given = parser.parse_args()
    wanted = given.only.split(",") if given.only else list(SCENARIOS)
    brokers = ["oncelog", *filter(None, given.against.split(","))]
    unknown = [name for name in wanted if name not in SCENARIOS] + [name for name in brokers if name not in SERVERS]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}")
    _allow_many_files()
    scale = 0.15 if given.quick else 1.0
    deadline = time.monotonic() + (QUICK_SECONDS if given.quick else TOTAL_SECONDS) * max(given.restart_gb, 1.0)
    results = _measure(wanted, brokers, scale, given.restart_gb * (0.2 if given.quick else 1.0), deadline)
    if given.json is not None:
        rows = [{"what": what, "unit": unit, **values} for table in results.values() for (what, unit), values in table.items()]
        given.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


def _measure(wanted: list[str], brokers: list[str], scale: float, restart_gb: float, deadline: float) -> dict[str, Table]:
    results: dict[str, Table] = {}
    missing: set[str] = set()
    for name in wanted:
        table: Table = {}
        for broker in brokers:
            if broker in missing:
                continue
            if time.monotonic() > deadline:
                print(f"skipped: {name} of {broker}, the time is up", file=sys.stderr)
                continue
            with tempfile.TemporaryDirectory(prefix="oncelog-bench-") as folder:
                try:
                    rows = SCENARIOS[name](Bench(SERVERS[broker], Path(folder), scale, restart_gb))
                except Unavailable as why:
                    print(f"skipped: {broker}: {why}", file=sys.stderr)
                    missing.add(broker)
                    continue
                except (OSError, TimeoutError, ValueError, AttributeError, IndexError) as error:
                    print(f"skipped: {name} of {broker}: {type(error).__name__}: {error}", file=sys.stderr)
                    continue
            _add(table, broker, rows)
        results[name] = table
        _show(name, table, brokers)
    return results


def _add(table: Table, broker: str, rows: list[Row]) -> None:
    for what, unit, value in rows:
        table.setdefault((what, unit), {})[broker] = value


def _show(name: str, table: Table, brokers: list[str]) -> None:
    """Absolute numbers, then oncelog's ratio to each rival."""
    rivals = brokers[1:]
    heads = [name, "", *brokers, *(f"/ {rival}" for rival in rivals)]
    lines = [heads]
    for (what, unit), values in table.items():
        ours = values.get("oncelog")
        cells = [_number(values.get(broker)) for broker in brokers]
        ratios = [_number(ours / values[rival]) if ours is not None and values.get(rival) else "-" for rival in rivals]
        lines.append([what, unit, *cells, *ratios])
    widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]
    for line in lines:
        print(
            "  ".join(cell.ljust(width) if at < 2 else cell.rjust(width) for at, (cell, width) in enumerate(zip(line, widths, strict=True)))
        )
    print(flush=True)


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _allow_many_files() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


if __name__ == "__main__":
    sys.exit(main())
