"""What a command prints: a table for people, JSON for programs. Errors go to standard error with an exit status.

Exit status: 0 done · 1 the broker refused, or nothing of that name · 2 wrong arguments · 3 no broker could be reached.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, NoReturn

from oncelog.broker.ending import REFUSED, UNREACHABLE, USAGE, tell

__all__ = ["REFUSED", "UNREACHABLE", "USAGE", "Format", "done", "fail", "note", "show", "show_json"]


class Format(StrEnum):
    """How results are printed."""

    TABLE = "table"
    JSON = "json"


def show(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], how: Format, *, nothing: str = "nothing found") -> None:
    """Print `rows`: their `columns` as a table, or all of them as a JSON array."""
    if how is Format.JSON:
        show_json(rows)
    elif not rows:
        note(nothing)
    else:
        _print_table(rows, columns)


def show_json(value: Any) -> None:
    """Print one JSON document."""
    sys.stdout.write(json.dumps(value, indent=2, default=str, ensure_ascii=False) + "\n")


def done(message: str, how: Format, **facts: Any) -> None:
    """Say that something was done: a sentence, or `facts` as a JSON object."""
    if how is Format.JSON:
        show_json(facts)
    else:
        sys.stdout.write(message + "\n")


def note(message: str) -> None:
    """A remark that is not a result."""
    sys.stderr.write(message + "\n")


def fail(message: str, status: int = REFUSED) -> NoReturn:
    """End the command with an error."""
    raise SystemExit(tell(message, status))


def _print_table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in columns:
        numeric = all(isinstance(row.get(column), int | float | None) for row in rows)
        table.add_column(column.replace("_", " "), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_cell(row.get(column)) for column in columns))
    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console.width = 10_000  # a pipe has no width: one row is one line
    console.print(table)


def _cell(value: Any) -> str:
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case list() | tuple():
            return ",".join(str(part) for part in value)
        case _:
            return str(value)
