"""Values that the inspector's parts hand each other."""

from __future__ import annotations

import pytest
from oncelog.broker.console.model import Partition, Transaction
from oncelog.protocol.names import TopicPartition

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(("stable", "high", "behind"), [(4, 9, 5), (9, 9, 0), (9, 4, 0)])
def test_how_far_behind(stable: int, high: int, behind: int) -> None:
    assert Partition(TopicPartition("a", 0), 0, stable, high).behind == behind


@pytest.mark.parametrize(("state", "is_open"), [("Ongoing", True), ("PrepareAbort", True), ("Empty", False), ("CompleteCommit", False)])
def test_what_is_open(state: str, is_open: bool) -> None:
    assert Transaction("a", 1, 0, state, 1, None, None, None, 0, frozenset(), (1,)).is_open is is_open
