"""Fixtures of the commands' tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.scripted_broker import ScriptedBroker


@pytest.fixture
def broker() -> Iterator[ScriptedBroker]:
    made = ScriptedBroker()
    yield made
    made.close()
