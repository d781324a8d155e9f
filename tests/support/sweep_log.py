"""What a start says and what an audit finds, for sweeps to compare."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from pathlib import Path

from oncelog.storage.audit.verify import verify


@contextlib.contextmanager
def told() -> Iterator[list[str]]:
    """Warnings and errors of the broker while this is open, and what it says of leftovers."""
    lines: list[str] = []
    handler = logging.Handler(logging.INFO)
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    broker, leftovers = logging.getLogger("oncelog"), logging.getLogger("oncelog.storage.recovery.leftovers")
    before = broker.level
    broker.setLevel(logging.WARNING)
    leftovers.setLevel(logging.INFO)
    broker.addHandler(handler)
    try:
        yield lines
    finally:
        broker.removeHandler(handler)
        broker.setLevel(before)
        leftovers.setLevel(logging.NOTSET)


def findings(data_dir: Path) -> set[tuple[object, ...]]:
    report = verify(data_dir)
    return {*report.findings, *report.partitions}
