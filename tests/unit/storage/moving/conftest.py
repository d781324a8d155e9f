"""Fixtures of the tests of moves."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.golden_storage import unpack


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack("killed", tmp_path_factory.mktemp("golden"))


@pytest.fixture
def source(golden: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(golden, tmp_path / "source"))
