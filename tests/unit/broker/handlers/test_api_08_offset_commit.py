"""OffsetCommit: what is stored and what is refused, partition by partition."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import TopicPartition
from support.group_requests import stable
from support.whole_broker import WholeBroker

pytestmark = pytest.mark.unit


def partition(index: int, offset: int = 7, metadata: str | None = "") -> dict[str, Any]:
    return {"partition_index": index, "committed_offset": offset, "committed_metadata": metadata}


def errors(answer: Any) -> dict[tuple[str, int], int]:
    return {(topic.name, each.partition_index): each.error_code for topic in answer.topics for each in topic.partitions}


def commit(whole: WholeBroker, version: int, *topics: dict[str, Any], member: str = "", epoch: int = -1, group: str = "g") -> Any:
    return whole.ask(
        ApiKey.OFFSET_COMMIT, version, group_id=group, generation_id_or_member_epoch=epoch, member_id=member, topics=list(topics)
    )


def stored(whole: WholeBroker, topic: str = "t", index: int = 0) -> Any:
    found = whole.context.groups.offsets.fetch("g", [TopicPartition(topic, index)], require_stable=False)
    assert isinstance(found, dict)
    return found[TopicPartition(topic, index)]


@pytest.mark.parametrize("version", [2, 5, 6, 9])
def test_unknown_partitions_are_refused_and_the_others_stored(whole: WholeBroker, version: int) -> None:
    asked = [{"name": "t", "partitions": [partition(0), partition(2)]}, {"name": "gone", "partitions": [partition(0)]}]
    assert errors(commit(whole, version, *asked)) == {
        ("t", 0): ErrorCode.NONE,
        ("t", 2): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ("gone", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert (stored(whole).offset, stored(whole, "gone").offset) == (7, -1)


def test_topics_go_by_id_from_version_10(whole: WholeBroker) -> None:
    topics = [
        {"topic_id": whole.topic_id("t"), "partitions": [partition(1)]},
        {"topic_id": uuid.UUID(int=5), "partitions": [partition(0), partition(1)]},
    ]
    known, unknown = commit(whole, 10, *topics).topics
    assert (known.topic_id, [p.error_code for p in known.partitions]) == (whole.topic_id("t"), [ErrorCode.NONE])
    assert (unknown.topic_id, [p.error_code for p in unknown.partitions]) == (uuid.UUID(int=5), [ErrorCode.UNKNOWN_TOPIC_ID] * 2)
    assert stored(whole, "t", 1).offset == 7


def test_without_the_group_nothing_is_looked_at(whole: WholeBroker) -> None:
    whole.deny(AclOperation.READ, ResourceType.GROUP, "g")
    asked = {"name": "t", "partitions": [partition(0)]}, {"name": "gone", "partitions": [partition(0)]}
    assert set(errors(commit(whole, 8, *asked)).values()) == {ErrorCode.GROUP_AUTHORIZATION_FAILED}
    assert stored(whole).offset == -1


def test_a_refused_topic_leaves_the_others(whole: WholeBroker) -> None:
    whole.logs.create_topic("secret", 1)
    whole.deny(AclOperation.READ, ResourceType.TOPIC, "secret")
    whole.deny(AclOperation.READ, ResourceType.TOPIC, "gone")  # whether it exists is not told either
    asked = [{"name": name, "partitions": [partition(0)]} for name in ("secret", "t", "gone")]
    assert list(errors(commit(whole, 8, *asked)).values()) == [29, 0, 29]


def test_a_name_twice_gets_its_own_verdicts(whole: WholeBroker) -> None:
    answer = commit(whole, 8, {"name": "t", "partitions": [partition(0)]}, {"name": "t", "partitions": [partition(9)]})
    assert [[p.error_code for p in topic.partitions] for topic in answer.topics] == [[ErrorCode.NONE], [3]]


def test_no_metadata_is_the_empty_text(whole: WholeBroker) -> None:
    commit(whole, 8, {"name": "t", "partitions": [partition(0, metadata=None)]})
    assert stored(whole).metadata == ""


def test_metadata_has_a_limit_for_its_own_partition(whole: WholeBroker) -> None:
    answer = commit(whole, 8, {"name": "t", "partitions": [partition(0, metadata="x" * 4097), partition(1, metadata="x" * 4096)]})
    assert errors(answer) == {("t", 0): ErrorCode.OFFSET_METADATA_TOO_LARGE, ("t", 1): ErrorCode.NONE}


def test_no_topics_are_no_error(whole: WholeBroker) -> None:
    assert commit(whole, 8).topics == []


@pytest.mark.parametrize(
    ("version", "epoch", "error"),
    [(8, 3, ErrorCode.ILLEGAL_GENERATION), (9, 3, ErrorCode.GROUP_ID_NOT_FOUND), (9, -1, ErrorCode.NONE)],
)
def test_a_generation_of_a_group_that_is_not_there(whole: WholeBroker, version: int, epoch: int, error: ErrorCode) -> None:
    answer = commit(whole, version, {"name": "t", "partitions": [partition(0)]}, member="m", epoch=epoch)
    assert errors(answer) == {("t", 0): error}


def test_only_the_present_generation_of_a_member_commits(whole: WholeBroker) -> None:
    member = stable(whole)
    asked = {"name": "t", "partitions": [partition(0)]}
    tried = [(member.id, member.generation + 1), ("stranger", member.generation), ("", -1), (member.id, member.generation)]
    got = [errors(commit(whole, 8, asked, member=name, epoch=epoch))["t", 0] for name, epoch in tried]
    assert got == [ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.NONE]
