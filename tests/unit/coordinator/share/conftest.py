"""Fixtures of the share coordinator's tests."""

from __future__ import annotations

import pytest
from support.share_bench import ShareBench


@pytest.fixture
def bench() -> ShareBench:
    return ShareBench()
