"""Fixtures of the audit's tests."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.golden_storage import unpack


@pytest.fixture(scope="session")
def golden(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Directories that Apache Kafka wrote, as a stop and as a kill left them: only to be read."""
    folder = tmp_path_factory.mktemp("golden")
    return {name: unpack(name, folder) for name in ("clean", "killed")}


@pytest.fixture
def directory(golden: dict[str, Path], tmp_path: Path) -> Path:
    """A copy of the clean one, to damage."""
    return Path(shutil.copytree(golden["clean"], tmp_path / "data"))
