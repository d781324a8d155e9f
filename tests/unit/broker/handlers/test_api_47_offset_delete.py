"""OffsetDelete: offsets of topics that nobody in the group reads."""

from __future__ import annotations

from typing import Any

import pytest
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import TopicPartition
from support.group_requests import commit, consumer_member, joining, stable
from support.whole_broker import WholeBroker

pytestmark = pytest.mark.unit


def delete(whole: WholeBroker, *topics: tuple[str, list[int]], group: str = "g") -> Any:
    asked = [{"name": name, "partitions": [{"partition_index": number} for number in numbers]} for name, numbers in topics]
    return whole.ask(ApiKey.OFFSET_DELETE, 0, group_id=group, topics=asked)


def verdicts(answer: Any) -> list[tuple[str, int, int]]:
    assert answer.error_code == ErrorCode.NONE
    return [(topic.name, p.partition_index, p.error_code) for topic in answer.topics for p in topic.partitions]


def committed(whole: WholeBroker) -> set[TopicPartition]:
    found = whole.context.groups.offsets.fetch("g", None, require_stable=False)
    assert isinstance(found, dict)
    return set(found)


def test_partition_by_partition(whole: WholeBroker) -> None:
    commit(whole, "g", 1)
    commit(whole, "g", 2, partition=1)
    told = verdicts(delete(whole, ("t", [0, 7]), ("gone", [0]), ("t", [])))
    assert told == [("t", 0, ErrorCode.NONE), ("t", 7, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), ("gone", 0, 3)]
    assert committed(whole) == {TopicPartition("t", 1)}


def test_one_without_an_offset_is_no_error(whole: WholeBroker) -> None:
    commit(whole, "g", 1)
    assert verdicts(delete(whole, ("t", [1]))) == [("t", 1, ErrorCode.NONE)]
    assert committed(whole) == {TopicPartition("t", 0)}


@pytest.mark.parametrize("kind", ["classic", "consumer"])
def test_what_members_subscribe_to_stays(whole: WholeBroker, kind: str) -> None:
    whole.logs.create_topic("u", 1)
    commit(whole, "g", 1)
    commit(whole, "g", 1, topic="u")
    if kind == "classic":
        stable(whole)  # reads t
    else:
        consumer_member(whole)
    assert verdicts(delete(whole, ("t", [0]), ("u", [0]))) == [("t", 0, ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC), ("u", 0, 0)]
    assert committed(whole) == {TopicPartition("t", 0)}


def test_groups_that_cannot_be_asked(whole: WholeBroker) -> None:
    assert (delete(whole, ("t", [0])).error_code, delete(whole, group="").error_code) == (
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.INVALID_GROUP_ID,
    )
    joining(whole, version=3, protocol_type="connect").answer()
    answer = delete(whole, ("t", [0]))
    assert (answer.error_code, answer.topics) == (ErrorCode.NON_EMPTY_GROUP, [])


def test_without_the_topic(whole: WholeBroker) -> None:
    commit(whole, "g", 1)
    whole.deny(AclOperation.READ, ResourceType.TOPIC, "t")
    whole.deny(AclOperation.READ, ResourceType.TOPIC, "gone")
    assert verdicts(delete(whole, ("t", [0]), ("gone", [0]))) == [("t", 0, 29), ("gone", 0, 29)]
    assert committed(whole) == {TopicPartition("t", 0)}


def test_without_the_group(whole: WholeBroker) -> None:
    commit(whole, "g", 1)
    whole.deny(AclOperation.DELETE, ResourceType.GROUP, "g")
    answer = delete(whole, ("t", [0]))
    assert (answer.error_code, answer.topics) == (ErrorCode.GROUP_AUTHORIZATION_FAILED, [])
    assert committed(whole) == {TopicPartition("t", 0)}
