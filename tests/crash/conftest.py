"""Rounds of kills: `rounds(partitions, live)`, as many as --runs says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.killing import Rounds

SLICE = 3


@pytest.fixture
def rounds(request: pytest.FixtureRequest, tmp_path: Path, seed: int, runs: int | None, tell: Callable[[str], None]) -> Rounds:
    return Rounds(tmp_path, request.node.name, seed, runs or SLICE, tell)
