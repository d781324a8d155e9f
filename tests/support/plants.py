"""Damages planted into a directory of Apache Kafka, each by a function that says what an audit must find: kind, partition, offset."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from oncelog.storage.audit.findings import Kind
from oncelog.storage.audit.verify import verify

NOW = 1_795_236_700_000
Expected = tuple[Kind, str, int | None]
Plant = Callable[[Path], Expected]


class Plants(dict[str, Plant]):
    """Those of one test file, by name; the instance is the decorator."""

    def __call__(self, function: Plant) -> Plant:
        self[function.__name__] = function
        return function

    def complaint(self, name: str, directory: Path) -> str | None:
        """Plant it and audit: what is wrong, None when it was found as an error."""
        expected = self[name](directory)
        found = {(finding.kind, finding.partition, finding.offset) for finding in verify(directory).errors}
        return None if expected in found else f"{name}: wanted {expected}, found {sorted(found, key=str)}"
