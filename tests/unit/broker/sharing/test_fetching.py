"""Which partitions a share fetch looks at, how much each gives, and what ends its waiting."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from oncelog.broker.sharing.hosting import ShareHost
from support.share_group import Member, ranges, share
from support.whole_broker import WholeBroker


@pytest.fixture
def broker() -> Iterator[WholeBroker]:
    made = WholeBroker({"t": 3})
    share(made, "g", "t")
    yield made
    made.close()


def put(broker: WholeBroker, partition: int, size: int = 1) -> None:
    broker.append("t", *[b"v"] * size, partition=partition)


def given(answer: object) -> list[int]:
    return [p.partition_index for topic in answer.responses for p in topic.partitions]  # type: ignore[attr-defined]


def test_the_first_partition_changes(broker: WholeBroker) -> None:
    for _ in range(3):
        for partition in range(3):
            put(broker, partition)
    member = Member(broker, "g", "t", partitions=(0, 1, 2))
    assert [given(member.begin(max_records=1, epoch=epoch).answer())[0] for epoch in range(3)] == [1, 2, 0]


def test_bytes_are_shared_out(broker: WholeBroker) -> None:
    for partition in range(3):
        for _ in range(4):
            broker.append("t", b"x" * 1_000, partition=partition)
    member = Member(broker, "g", "t", partitions=(0, 1, 2))
    answer = member.begin(max_bytes=6_600).answer()
    assert [last - first + 1 for first, last, _ in ranges(answer)] == [2, 2, 2]


def test_who_waits_listens_no_more_than_needed(broker: WholeBroker) -> None:
    member = Member(broker, "g", "t", partitions=(0, 1))
    waiting = member.begin(max_wait_ms=5_000)
    put(broker, 2)
    broker.settle()
    assert waiting.waits
    put(broker, 1)
    broker.settle()
    assert ranges(waiting.answer()) == [(0, 0, 1)]
    hosts = [broker.context.sharing.host("g", member.topic_id, partition) for partition in range(2)]
    assert all(isinstance(host, ShareHost) and not host._listeners for host in hosts)


def test_a_dismissed_partition_ends_the_waiting(broker: WholeBroker) -> None:
    member = Member(broker, "g", "t")
    waiting = member.begin(max_wait_ms=5_000)
    host = broker.context.sharing.host("g", member.topic_id, 0)
    assert isinstance(host, ShareHost)
    broker.context.sharing.forget(host.key)
    broker.settle()
    assert ranges(waiting.answer()) == []
    put(broker, 0)
    assert member.fetch() == [(0, 0, 1)]


def test_nobody_waits_for_partitions_that_are_not_there(broker: WholeBroker) -> None:
    assert given(Member(broker, "g", "t", partitions=(8,)).begin(max_wait_ms=5_000).answer()) == [8]
    member = Member(broker, "g", "t")
    assert member.begin(topics=[], max_wait_ms=5_000).answer().responses == []
