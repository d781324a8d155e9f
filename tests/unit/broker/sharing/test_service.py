"""Share partitions in use, their timers, and sessions that end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from oncelog.broker.sharing.hosting import ShareHost
from oncelog.protocol.errors import ErrorCode
from support.share_group import Member, share
from support.whole_broker import WholeBroker


@pytest.fixture
def broker() -> Iterator[WholeBroker]:
    made = WholeBroker({"t": 2})
    share(made, "g", "t")
    for partition in range(2):
        made.append("t", *[b"v"] * 5, partition=partition)
    yield made
    made.close()


def host(broker: WholeBroker, partition: int = 0) -> ShareHost:
    found = broker.context.sharing.known_host("g", broker.topic_id("t"), partition)
    assert isinstance(found, ShareHost)
    return found


def test_timers_wake_the_broker(broker: WholeBroker) -> None:
    sharing = broker.context.sharing
    assert sharing.next_deadline_ms() is None
    Member(broker, "g", "t").fetch()
    now_ms = broker.clock.monotonic_ms()
    assert sharing.next_deadline_ms() == now_ms + 30_000
    broker.advance(1_000)
    Member(broker, "g", "t", "b", partitions=(1,)).fetch()
    broker.advance(29_000)
    assert host(broker).partition.held() == {}  # type: ignore[union-attr]
    assert host(broker, 1).partition.held() == {"b": 5}  # type: ignore[union-attr]
    broker.advance(1_000)
    assert host(broker, 1).partition.held() == {}  # type: ignore[union-attr]
    assert sharing.next_deadline_ms() is None


def test_what_is_held_is_not_forgotten_with_the_last_session(broker: WholeBroker) -> None:
    """Records of a partition that its session has forgotten keep their locks, and their count."""
    member = Member(broker, "g", "t")
    member.fetch()
    member.fetch(forgotten_topics_data=[{"topic_id": member.topic_id, "partitions": [0]}])
    member.close()
    assert host(broker).partition.held() == {"a": 5}  # type: ignore[union-attr]
    broker.advance(30_000)
    assert broker.context.sharing.known_host("g", member.topic_id, 0) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert member.fetch() == [(0, 4, 2)]


def test_a_topic_made_anew_is_another(broker: WholeBroker) -> None:
    sharing, before = broker.context.sharing, broker.topic_id("t")
    first = sharing.host("g", before, 0)
    assert isinstance(first, ShareHost)
    assert sharing.host("g", before, 0) is first
    assert sharing.host("g", before, 9) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    broker.log("t").retire("gone")
    broker.logs.topics.remove("t")
    assert sharing.host("g", before, 0) is ErrorCode.UNKNOWN_TOPIC_ID


def test_nothing_is_written_after_the_end(broker: WholeBroker) -> None:
    member = Member(broker, "g", "t")
    member.fetch()
    broker.context.sharing.stop()
    member.connection.lose()
    assert host(broker).partition.held() == {"a": 5}  # type: ignore[union-attr]
