"""Fixtures of the commands' tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.group_requests import AT_ONCE
from support.scripted_broker import ScriptedBroker
from support.served_broker import ServedBroker
from support.whole_broker import WholeBroker


@pytest.fixture
def broker() -> Iterator[ScriptedBroker]:
    made = ScriptedBroker()
    yield made
    made.close()


@pytest.fixture
def served() -> Iterator[ServedBroker]:
    """A broker with a topic `t` of two partitions."""
    whole = WholeBroker({"t": 2}, AT_ONCE)
    made = ServedBroker(whole)
    yield made
    made.close()
    whole.close()
