"""The transaction that pins a partition, in every state that it may be in; and who waits."""

from __future__ import annotations

import pytest
from oncelog.broker.console.model import Committed, Group, Member, OpenTransaction, Owner, Partition, Transaction
from oncelog.broker.console.stuck import rows
from oncelog.protocol.names import TopicPartition

pytestmark = pytest.mark.unit
PLACE = TopicPartition("orders", 0)
BEHIND = Partition(PLACE, 0, 4, 9, since_ms=900)
OPENED = OpenTransaction(7, 1, 4, 1_000)
NOW = 13_000


def transaction(state: str = "Ongoing", aborts_at_ms: int | None = 61_000, place: TopicPartition = PLACE) -> Transaction:
    return Transaction("t", 7, 1, state, 60_000, 1_000, 1_000, aborts_at_ms, 0, frozenset({place}), (7,), Owner("checkout", "10.0.0.1"))


def row_of(*transactions: Transaction, groups: tuple[Group, ...] = (), now_ms: int = NOW, may_abort: bool = True) -> dict[str, object]:
    opened = [OpenTransaction(8, 0, 6), OPENED]
    (row,) = rows([(BEHIND, opened)], transactions, groups, now_ms, "kafka:9092", may_abort=may_abort)
    return row


def test_an_ongoing_one() -> None:
    row = row_of(transaction())
    assert (row["transactional_id"], row["state"], row["age_ms"], row["first_offset"], row["since_ms"]) == ("t", "Ongoing", 12_000, 4, 900)
    assert row["sentence"] == (
        "orders-0 gives read_committed consumers nothing from offset 4 on: t (checkout at 10.0.0.1) has had a transaction open for 12 s; "
        "it is aborted by itself in 48 s."
    )
    assert "its time is over" in str(row_of(transaction(), now_ms=62_000)["sentence"])
    assert "two-phase commit" in str(row_of(transaction(aborts_at_ms=None))["sentence"])


@pytest.mark.parametrize("known", [(), (transaction("Empty"),), (transaction(place=TopicPartition("other", 0)),)])
def test_a_hanging_one(known: tuple[Transaction, ...]) -> None:
    """No id has the producer, its id is idle, or its transaction knows nothing of the partition."""
    row = row_of(*known)
    assert (row["transactional_id"], row["state"], row["producer_id"], row["timeout_ms"]) == (None, "Hanging", 7, None)
    assert "nothing will ever end it by itself" in str(row["sentence"])
    assert row["abort"] == {
        "possible": True,
        "why_not": None,
        "command": "kafka-transactions.sh --bootstrap-server kafka:9092 abort --topic orders --partition 0 --start-offset 4",
    }


@pytest.mark.parametrize(("state", "word"), [("PrepareCommit", "commit"), ("PrepareAbort", "abort")])
def test_a_decided_one(state: str, word: str) -> None:
    row = row_of(transaction(state, None))
    assert f"decided to {word}" in str(row["sentence"])
    assert isinstance(row["abort"], dict)
    assert row["abort"]["possible"] is False


def test_a_directory_is_only_read() -> None:
    abort = row_of(transaction(), may_abort=False)["abort"]
    assert isinstance(abort, dict)
    assert abort["possible"] is False


def test_nobody_tells_which_it_is() -> None:
    (row,) = rows([(BEHIND, [])], [], [], NOW, "kafka:9092", may_abort=True)
    assert (row["state"], row["producer_id"], row["first_offset"]) == (None, None, None)
    assert isinstance(row["abort"], dict)
    assert (row["abort"]["possible"], row["abort"]["command"]) == (False, None)


def test_who_waits() -> None:
    member = Member("m", None, "c", "h", (PLACE,))
    groups = (
        Group("at-it", "classic", "Stable", committed={PLACE: Committed(4, 1)}),
        Group("behind-it", "classic", "Empty", committed={PLACE: Committed(1, 1)}),
        Group("past-it", "classic", "Stable", members=[member], committed={PLACE: Committed(5, 1)}),
        Group("began", "consumer", "Stable", members=[member]),
        Group("elsewhere", "classic", "Stable", committed={TopicPartition("other", 0): Committed(0, 1)}),
    )
    assert row_of(transaction(), groups=groups)["groups"] == ["at-it", "began", "behind-it"]


def test_the_longest_comes_first() -> None:
    later = Partition(TopicPartition("a", 0), 0, 4, 9, since_ms=950)
    found = rows([(later, []), (BEHIND, [])], [], [], NOW, "kafka:9092", may_abort=True)
    assert [row["topic"] for row in found] == ["orders", "a"]
