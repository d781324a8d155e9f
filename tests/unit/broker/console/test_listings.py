"""Rows of transactional ids, partitions, groups: order, bounds, lag that respects the last stable offset."""

from __future__ import annotations

import pytest
from oncelog.broker.console.listings import group_row, partition_row, places_of, transaction_row, transactions_sorted
from oncelog.broker.console.model import Committed, Group, Member, Partition, PendingOffset, Transaction
from oncelog.protocol.names import TopicPartition
from support.console_examples import EXAMPLES, misshapen

pytestmark = pytest.mark.unit
A, B, C = (TopicPartition("t", number) for number in range(3))
EDGES = {A: Partition(A, 0, 4, 9), B: Partition(B, 2, 9, 9)}


def transaction(id: str, state: str, start_ms: int | None, places: int = 1) -> Transaction:
    partitions = frozenset(TopicPartition("t", number) for number in range(places))
    return Transaction(id, 7, 0, state, 60_000, start_ms, 1, None, 2, partitions, (7,))


def test_open_ones_first_and_the_oldest_of_them() -> None:
    given = [transaction("b", "Empty", None), transaction("a", "Empty", 1), transaction("y", "Ongoing", 9), transaction("z", "Ongoing", 3)]
    assert [each.transactional_id for each in transactions_sorted(given, frozenset(), "")] == ["z", "y", "a", "b"]
    assert [each.transactional_id for each in transactions_sorted(given, frozenset({"Empty"}), "b")] == ["b"]


def test_a_transactional_id() -> None:
    row = transaction_row(transaction("a", "Ongoing", 3, places=120), 10)
    assert (row["age_ms"], len(row["partitions"])) == (7, 100)
    assert misshapen(row, EXAMPLES["GET /api/v1/transactions"][0]) == []
    idle = transaction_row(transaction("a", "CompleteCommit", 3), 10)
    assert (idle["start_ms"], idle["age_ms"]) == (None, None)


def test_a_partition() -> None:
    assert misshapen(partition_row(EDGES[A]), EXAMPLES["GET /api/v1/partitions"][0]) == []


def test_lag_respects_the_last_stable_offset() -> None:
    member = Member("m", None, "c", "h", (A, B, C))
    group = Group("g", "classic", "Stable", "consumer", "range", 3, [member], {A: Committed(4, 1)}, {A: [PendingOffset(7, None, 9, 5)]})
    row = group_row(group, EDGES.get, {7: transaction("owner", "Ongoing", 1)})
    assert [(each["partition"], each["committed_offset"], each["lag"], each["lag_to_end"]) for each in row["offsets"]] == [
        (0, 4, 0, 5),
        (1, None, 7, 7),
        (2, None, None, None),
    ]
    assert (row["lag"], row["lag_to_end"], row["waits_behind"]) == (7, 12, ["t-0"])
    (pending,) = row["offsets"][0]["pending"]
    assert (pending["transactional_id"], pending["producer_epoch"], pending["offset"]) == ("owner", 0, 9)
    assert misshapen(row, EXAMPLES["GET /api/v1/groups"][0]) == []


def test_what_is_not_told_is_null() -> None:
    row = group_row(Group("g", "classic", "Empty", committed={A: Committed(4, None)}, pending=None), EDGES.get, {})
    assert (row["offsets"][0]["pending"], row["rebalances"], row["epoch"]) == (None, None, None)


def test_places_are_bounded() -> None:
    group = Group("g", "classic", "Empty", committed={TopicPartition("t", number): Committed(0, 1) for number in range(3000)})
    assert len(places_of(group)) == 1000
