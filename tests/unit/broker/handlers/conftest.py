"""Fixtures of the handlers' tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.administered import Harness


@pytest.fixture
def broker(tmp_path: Path) -> Harness:
    return Harness(tmp_path)
