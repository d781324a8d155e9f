"""Fixtures of the tests of compaction."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.compacted_log import FakeLog


@pytest.fixture
def log(tmp_path: Path) -> Iterator[FakeLog]:
    made = FakeLog(tmp_path)
    yield made
    made.descriptors.close()
