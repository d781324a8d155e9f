"""Rounds of kills: `rounds(partitions, live)`, as many as --runs says."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.killing import Rounds

SLICE = 3


@pytest.fixture
def rounds(request: pytest.FixtureRequest, tmp_path: Path, seed: int, runs: int | None, capsys: pytest.CaptureFixture[str]) -> Rounds:
    def tell(line: str) -> None:
        with capsys.disabled():
            print(f"  {line}", flush=True)

    return Rounds(tmp_path, request.node.name, seed, runs or SLICE, tell)
