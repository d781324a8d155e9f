"""All rows, in the order of the page."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatch

from tests.bench.rows import bulk, latency, machine, membership, resting, small, starting, transactions
from tests.bench.stage import Row

SECTIONS = (small, transactions, bulk, latency, starting, membership, resting, machine)
TABLE = [replace(row, section=section.SECTION) for section in SECTIONS for row in section.ROWS]


def chosen(patterns: list[str]) -> list[Row]:
    """Rows by their names, `*` standing for anything. Raises LookupError with a pattern that fits none."""
    for pattern in patterns:
        if not any(fnmatch(row.name, pattern) for row in TABLE):
            raise LookupError(pattern)
    return [row for row in TABLE if not patterns or any(fnmatch(row.name, pattern) for pattern in patterns)]
