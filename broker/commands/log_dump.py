"""`oncelog log dump FILE|DIR`: what is in a file of a data directory, or in all of them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Literal

from oncelog.broker.commands.progress import progress
from oncelog.broker.ending import USAGE, problem, tell
from oncelog.storage.audit.dump import dump as rows_of
from rich.console import Console
from rich.markup import escape

# fields that open a line of the table, in this order; the rest follows as name=value
_FIRST = ("position", "base_offset", "last_offset", "offset")


def dump(path: Path, *, format: Literal["table", "json"] = "table", records: bool = True) -> int:
    """Print batches, records, indexes, snapshots and checkpoints of PATH, a file or a directory. Nothing is changed.

    Parameters
    ----------
    path:
        A file of a Kafka log (.log, .index, .timeindex, .txnindex, .snapshot, a checkpoint), a partition folder or a data directory.
    format:
        "table" for people, "json" for one object a line.
    records:
        Show the records inside the batches, internal topics decoded.
    """
    console = Console(highlight=False, soft_wrap=True)
    damaged = False
    current = ""
    with progress("reading", shown=not sys.stdout.isatty()) as at:
        rows = rows_of(path, records=records)
        while True:
            try:
                row = next(rows, None)
            except (OSError, ValueError) as error:
                return tell(problem(error), USAGE)
            if row is None:
                return 1 if damaged else 0
            damaged = damaged or "error" in row or row.get("crc_valid") is False
            if row["file"] != current:
                current = row["file"]
                at(current)
                if format == "table":
                    console.print(f"[bold]{escape(current)}[/bold]")
            if format == "json":
                sys.stdout.write(json.dumps(row) + "\n")
            else:
                console.print(_line(row))


def _line(row: dict[str, Any]) -> str:
    style = "red" if "error" in row or row.get("crc_valid") is False else "cyan" if row["kind"] == "batch" else ""
    indent = "    " if row["kind"] == "record" else "  "
    names = [name for name in _FIRST if name in row] + [name for name in row if name not in (*_FIRST, "file", "kind")]
    fields = " ".join(f"{name}={_value(row[name])}" for name in names if row[name] is not None or name in ("key", "value"))
    text = escape(f"{indent}{row['kind']} {fields}")
    return f"[{style}]{text}[/{style}]" if style else text


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
