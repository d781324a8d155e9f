"""DescribeShareGroupOffsets: start, lag, and what is not there."""

from __future__ import annotations

from typing import Any

import pytest
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.broker.handlers import api_90_describe_share_group_offsets as module
from oncelog.coordinator.share.persister import SharePartitionKey, StateBatch
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError
from support.share_groups import share_member
from support.whole_broker import WholeBroker

pytestmark = pytest.mark.unit
ALL: Any = None


def describe(whole: WholeBroker, *groups: tuple[str, dict[str, list[int]] | None], version: int = 1) -> Any:
    asked = [
        {"group_id": group, "topics": None if topics is None else [{"topic_name": t, "partitions": p} for t, p in topics.items()]}
        for group, topics in groups
    ]
    return whole.ask(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, version, groups=asked).groups


def told(group: Any) -> dict[str, list[tuple[int, int, int, int, int]]]:
    return {
        topic.topic_name: [(p.partition_index, p.start_offset, p.leader_epoch, p.lag, p.error_code) for p in topic.partitions]
        for topic in group.topics
    }


def begin(whole: WholeBroker, start: int, complete: int, partition: int = 0) -> None:
    persister, key = whole.context.persister, SharePartitionKey("g", whole.topic_id("t"), partition)
    persister.initialize(key, 9, start)
    persister.read(key, 4)
    persister.write(key, 9, 4, start, complete, [StateBatch(start, start + complete, 2, 1)])
    whole.settle()


def test_case_SO01_start_and_lag(whole: WholeBroker) -> None:
    share_member(whole)
    for _ in range(5):
        whole.append("t", b"x")
    begin(whole, 1, 2)
    (group,) = describe(whole, ("g", {"t": [0, 1, 9], "none": [0]}))
    assert (group.error_code, group.error_message) == (0, None)
    assert told(group) == {"t": [(0, 1, 4, 2, 0), (1, -1, 0, -1, 0), (9, -1, 0, -1, 0)], "none": [(0, -1, 0, -1, 0)]}
    assert [topic.topic_id for topic in group.topics] == [whole.topic_id("t"), None]
    (everything,) = describe(whole, ("g", ALL))
    assert told(everything) == {"t": [(0, 1, 4, 2, 0), (1, -1, 0, -1, 0)]}
    (nothing,) = describe(whole, ("g", {}))
    assert told(nothing) == {}
    old = describe(whole, ("g", {"t": [0]}), version=0)[0]
    assert old.topics[0].partitions[0].start_offset == 1


def test_unknown_groups_are_no_error(whole: WholeBroker) -> None:
    groups = describe(whole, ("none", {"t": [0]}), ("none", ALL), ("", ALL))
    assert [(group.error_code, told(group)) for group in groups] == [(0, {"t": [(0, -1, 0, -1, 0)]}), (0, {}), (0, {})]


def test_many_partitions_take_several_turns(whole: WholeBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PARTITIONS_A_TURN", 2)
    whole.logs.create_topic("many", 5)
    share_member(whole, "m", "many")
    (group,) = describe(whole, ("g", ALL))
    assert [p.partition_index for p in group.topics[0].partitions] == [0, 1, 2, 3, 4]


def test_what_the_share_coordinator_refuses_stands_at_the_partition(whole: WholeBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    share_member(whole)
    monkeypatch.setattr(whole.context.persister, "summary", lambda keys: [ErrorCode.NOT_COORDINATOR for _ in keys])
    (group,) = describe(whole, ("g", {"t": [0]}))
    assert told(group) == {"t": [(0, -1, 0, -1, ErrorCode.NOT_COORDINATOR)]}


def test_until_all_is_loaded(whole: WholeBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    def loading(_group_id: str) -> Any:
        raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)

    monkeypatch.setattr(whole.context.groups.share.offsets, "known", loading)
    assert describe(whole, ("g", ALL))[0].error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def test_case_SA01_without_the_group(whole: WholeBroker) -> None:
    share_member(whole)
    whole.deny(AclOperation.DESCRIBE, ResourceType.GROUP, "g")
    (group,) = describe(whole, ("g", ALL))
    assert (group.error_code, group.error_message) == (ErrorCode.GROUP_AUTHORIZATION_FAILED, None)
    assert group.topics == []


def test_case_SA02_without_the_topic(whole: WholeBroker) -> None:
    share_member(whole)
    whole.deny(AclOperation.DESCRIBE, ResourceType.TOPIC, "t")
    named, everything = describe(whole, ("g", {"t": [0]}), ("g", ALL))
    assert told(named) == {"t": [(0, -1, 0, -1, ErrorCode.TOPIC_AUTHORIZATION_FAILED)]}
    assert named.topics[0].topic_id is None
    assert told(everything) == {}, "and left out where it was not asked for"
