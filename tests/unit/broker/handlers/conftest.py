"""Fixtures of the handlers' tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.administered import Harness
from support.group_requests import AT_ONCE
from support.whole_broker import WholeBroker


@pytest.fixture
def broker(tmp_path: Path) -> Harness:
    return Harness(tmp_path)


@pytest.fixture
def whole() -> Iterator[WholeBroker]:
    """A broker with a topic `t` of two partitions, where the first member of a group need not wait for others."""
    made = WholeBroker({"t": 2}, AT_ONCE)
    yield made
    made.close()


@pytest.fixture
def wholes() -> Iterator[Callable[..., WholeBroker]]:
    """Makes brokers with other topics and settings."""
    made: list[WholeBroker] = []

    def make(*args: Any, **kwargs: Any) -> WholeBroker:
        made.append(WholeBroker(*args, **kwargs))
        return made[-1]

    yield make
    for each in made:
        each.close()
