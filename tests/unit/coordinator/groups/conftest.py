"""Fixtures of the group coordinator's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.group_machine import Machine


@pytest.fixture
def machine() -> Iterator[Machine]:
    started = Machine()
    yield started
    started.logs.stop()
