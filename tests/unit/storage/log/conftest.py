"""Fixtures of the log's tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.storage_kit import Kit


@pytest.fixture
def kit(tmp_path: Path) -> Kit:
    made = Kit(tmp_path / "data")
    made.create()
    return made
