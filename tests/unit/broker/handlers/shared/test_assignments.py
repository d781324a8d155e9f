"""Assignments by hand: what one broker can be told, and the first thing that is wrong with the rest."""

from __future__ import annotations

import pytest
from oncelog.broker.handlers.shared.assignments import check_new_partitions, check_replicas
from oncelog.protocol.errors import ErrorCode, KafkaError

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("count", [0, 1, 10_000])
def test_as_many_as_one_request_may_make(count: int) -> None:
    check_new_partitions(count)
    with pytest.raises(KafkaError, match="Excessively large number") as refused:
        check_new_partitions(10_001 + count)
    assert refused.value.code is ErrorCode.POLICY_VIOLATION


@pytest.mark.parametrize(
    ("replicas", "why"),
    [
        ([], "an empty replica list"),
        ([2], "includes broker 2, but no such broker"),
        ([5, 3], "includes broker 3, but no such broker"),
        ([1, 1], "includes the broker 1 more than once"),
        ([1, 1, 2], "includes the broker 1 more than once"),  # in ascending order: what is met first is told
        ([0, 1, 1], "includes broker 0, but no such broker"),
    ],
    ids=str,
)
def test_replicas_elsewhere_or_twice(replicas: list[int], why: str) -> None:
    with pytest.raises(KafkaError, match=why) as refused:
        check_replicas(replicas, node_id=1)
    assert refused.value.code is ErrorCode.INVALID_REPLICA_ASSIGNMENT


@pytest.mark.parametrize("node_id", [0, 1, 7])
def test_the_only_broker(node_id: int) -> None:
    check_replicas([node_id], node_id)
    with pytest.raises(KafkaError, match="no such broker"):
        check_replicas([node_id], node_id + 1)
