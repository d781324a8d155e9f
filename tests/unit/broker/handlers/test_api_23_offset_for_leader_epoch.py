"""OffsetForLeaderEpoch: where an epoch ends, and who is told."""

from __future__ import annotations

from typing import Any

import pytest
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from support.whole_broker import CLUSTER, WholeBroker

pytestmark = pytest.mark.unit


def ends(whole: WholeBroker, *asked: tuple[str, int, int, int], version: int = 4) -> list[tuple[int, int, int]]:
    """(error, leader epoch, end offset) of each (topic, partition, current epoch, epoch asked for)."""
    topics: list[dict[str, Any]] = [
        {"topic": topic, "partitions": [{"partition": partition, "current_leader_epoch": current, "leader_epoch": epoch}]}
        for topic, partition, current, epoch in asked
    ]
    answer = whole.ask(ApiKey.OFFSET_FOR_LEADER_EPOCH, version, topics=topics)
    assert [topic.topic for topic in answer.topics] == [topic for topic, *_ in asked]
    return [(each.error_code, each.leader_epoch, each.end_offset) for topic in answer.topics for each in topic.partitions]


@pytest.mark.parametrize("version", [2, 3, 4])
def test_the_present_epoch_ends_where_the_log_does(whole: WholeBroker, version: int) -> None:
    assert ends(whole, ("t", 0, 0, 0), version=version) == [(0, 0, 0)]  # known before its first batch
    whole.append("t", b"a", b"b")
    assert ends(whole, ("t", 0, -1, 0), ("t", 1, 0, 0), version=version) == [(0, 0, 2), (0, 0, 0)]


def test_epochs_that_nobody_knows(whole: WholeBroker) -> None:
    whole.append("t", b"a")
    assert ends(whole, ("t", 0, -1, 1), ("t", 0, -1, -1), ("t", 0, -1, 99)) == [(0, -1, -1)] * 3


def test_an_older_epoch_ends_where_the_next_began(whole: WholeBroker) -> None:
    whole.append("t", b"a", b"b")
    whole.log("t").leader_epoch = 3
    whole.append("t", b"c", leader_epoch=3)
    assert ends(whole, ("t", 0, 3, 0), ("t", 0, 3, 3), ("t", 0, 3, 2)) == [(0, 0, 2), (0, 3, 3), (0, 0, 2)]
    fenced, unknown = ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH
    assert ends(whole, ("t", 0, 2, 3), ("t", 0, 4, 3)) == [(fenced, -1, -1), (unknown, -1, -1)]


def test_partitions_that_are_not_there(whole: WholeBroker) -> None:
    unknown = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1)
    assert ends(whole, ("t", 2, -1, 0), ("gone", 0, -1, 0), ("", 0, -1, 0), ("t", -1, -1, 0)) == [unknown] * 4
    assert ends(whole) == []


def test_the_topic_or_the_cluster_is_needed(whole: WholeBroker) -> None:
    whole.deny(AclOperation.DESCRIBE, ResourceType.TOPIC, "t")
    assert ends(whole, ("t", 0, -1, 0)) == [(0, 0, 0)]  # a follower would be told of every topic
    whole.deny(AclOperation.CLUSTER_ACTION, *CLUSTER)
    assert ends(whole, ("t", 0, -1, 0), ("gone", 0, -1, 0)) == [(29, -1, -1), (3, -1, -1)]
