"""OffsetFetch: one group or several, some topics or all, by name or by id, and where an error stands."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.broker.handlers import api_09_offset_fetch
from oncelog.coordinator.groups.offsets.state import OffsetToCommit
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import TopicPartition
from support.group_requests import commit, consumer_member
from support.whole_broker import WholeBroker

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True, params=[1, 1000])
def offsets_a_turn(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many a turn takes: the answers are the same."""
    monkeypatch.setattr(api_09_offset_fetch, "OFFSETS_A_TURN", request.param)


@pytest.fixture(autouse=True)
def committed(whole: WholeBroker) -> None:
    assert [commit(whole, "g", 7, partition=0, metadata="note"), commit(whole, "g", 9, partition=1)] == [0, 0]


def flat(topics: Any) -> list[tuple[str, int, int, int]]:
    return [(topic.name, p.partition_index, p.committed_offset, p.error_code) for topic in topics for p in topic.partitions]


@pytest.mark.parametrize("version", [1, 2, 5, 7])
def test_one_group_by_name(whole: WholeBroker, version: int) -> None:
    topics = [{"name": "t", "partition_indexes": [1, 0, 5]}, {"name": "gone", "partition_indexes": [0]}]
    answer = whole.ask(ApiKey.OFFSET_FETCH, version, group_id="g", topics=topics)
    assert flat(answer.topics) == [("t", 1, 9, 0), ("t", 0, 7, 0), ("t", 5, -1, 0), ("gone", 0, -1, 0)]
    assert answer.topics[0].partitions[1].metadata == "note"


def test_null_topics_are_all_of_the_group(whole: WholeBroker) -> None:
    assert flat(whole.ask(ApiKey.OFFSET_FETCH, 2, group_id="g", topics=None).topics) == [("t", 0, 7, 0), ("t", 1, 9, 0)]
    assert whole.ask(ApiKey.OFFSET_FETCH, 2, group_id="g", topics=[]).topics == []
    assert whole.ask(ApiKey.OFFSET_FETCH, 7, group_id="unknown", topics=None).topics == []


def test_several_groups_whole_and_in_part(whole: WholeBroker) -> None:
    commit(whole, "h", 3)
    groups = [
        {"group_id": "g", "topics": None},
        {"group_id": "h", "topics": [{"name": "t", "partition_indexes": [0]}]},
        {"group_id": "i", "topics": []},
    ]
    for some in (groups, groups[1:]):
        told = {group.group_id: flat(group.topics) for group in whole.ask(ApiKey.OFFSET_FETCH, 9, groups=some).groups}
        everything = {"g": [("t", 0, 7, 0), ("t", 1, 9, 0)], "h": [("t", 0, 3, 0)], "i": []}
        assert told == {group["group_id"]: everything[group["group_id"]] for group in some}


def test_by_id_from_version_10(whole: WholeBroker) -> None:
    unknown = {"topic_id": uuid.UUID(int=3), "partition_indexes": [0, 1]}
    known = {"topic_id": whole.topic_id("t"), "partition_indexes": [1]}
    (group,) = whole.ask(ApiKey.OFFSET_FETCH, 10, groups=[{"group_id": "g", "topics": [unknown, known]}]).groups
    told = [(topic.topic_id, [(p.committed_offset, p.error_code) for p in topic.partitions]) for topic in group.topics]
    # what is refused stands behind what is answered
    assert told == [(whole.topic_id("t"), [(9, 0)]), (uuid.UUID(int=3), [(-1, ErrorCode.UNKNOWN_TOPIC_ID)] * 2)]


@pytest.mark.parametrize(("version", "told"), [(9, ["never", "t"]), (10, ["t"])])
def test_a_topic_without_an_id_is_not_told_by_id(whole: WholeBroker, version: int, told: list[str]) -> None:
    whole.context.groups.offsets.commit("g", "", -1, None, {TopicPartition("never", 0): OffsetToCommit(1, -1, "")})
    (group,) = whole.ask(ApiKey.OFFSET_FETCH, version, groups=[{"group_id": "g", "topics": None}]).groups
    names = {whole.topic_id("t"): "t", uuid.UUID(int=0): "never", None: "never"}
    assert [topic.name or names[topic.topic_id] for topic in group.topics] == told


@pytest.mark.parametrize("whole_group", [False, True])
def test_a_refused_group(whole: WholeBroker, whole_group: bool) -> None:
    whole.deny(AclOperation.DESCRIBE, ResourceType.GROUP, "g")
    topics = None if whole_group else [{"name": "t", "partition_indexes": [0, 1]}]
    newer = whole.ask(ApiKey.OFFSET_FETCH, 8, groups=[{"group_id": "g", "topics": topics}, {"group_id": "h", "topics": topics}])
    assert [(group.group_id, group.error_code) for group in newer.groups] == [("g", ErrorCode.GROUP_AUTHORIZATION_FAILED), ("h", 0)]
    assert newer.groups[0].topics == []
    older = whole.ask(ApiKey.OFFSET_FETCH, 2, group_id="g", topics=topics)
    assert (older.error_code, older.topics) == (ErrorCode.GROUP_AUTHORIZATION_FAILED, [])


def test_version_1_has_its_error_on_every_partition(whole: WholeBroker) -> None:
    whole.deny(AclOperation.DESCRIBE, ResourceType.GROUP, "g")
    answer = whole.ask(ApiKey.OFFSET_FETCH, 1, group_id="g", topics=[{"name": "t", "partition_indexes": [0, 1]}])
    assert flat(answer.topics) == [("t", 0, -1, 30), ("t", 1, -1, 30)]


def test_a_topic_that_may_not_be_described(whole: WholeBroker) -> None:
    whole.logs.create_topic("u", 1)
    commit(whole, "g", 4, topic="u")
    whole.deny(AclOperation.DESCRIBE, ResourceType.TOPIC, "t")
    named = [{"name": "t", "partition_indexes": [0]}, {"name": "u", "partition_indexes": [0]}]
    asked = whole.ask(ApiKey.OFFSET_FETCH, 7, group_id="g", topics=named)
    assert flat(asked.topics) == [("u", 0, 4, 0), ("t", 0, -1, ErrorCode.TOPIC_AUTHORIZATION_FAILED)]
    assert flat(whole.ask(ApiKey.OFFSET_FETCH, 7, group_id="g", topics=None).topics) == [("u", 0, 4, 0)]


@pytest.mark.parametrize("topics", [None, [{"name": "t", "partition_indexes": [0]}]])
def test_a_member_of_a_consumer_group_must_be_the_present_one(whole: WholeBroker, topics: Any) -> None:
    epoch = consumer_member(whole, "c").member_epoch
    for member, given, error in (("m1", epoch, 0), ("m1", epoch + 1, ErrorCode.STALE_MEMBER_EPOCH), ("x", 1, ErrorCode.UNKNOWN_MEMBER_ID)):
        asked = {"group_id": "c", "member_id": member, "member_epoch": given, "topics": topics}
        (group,) = whole.ask(ApiKey.OFFSET_FETCH, 9, groups=[asked]).groups
        assert group.error_code == error
