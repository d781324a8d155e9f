"""AlterShareGroupOffsets: one verdict a partition, or one for all."""

from __future__ import annotations

from typing import Any

import pytest
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode as E
from support.share_groups import share_beat, share_member
from support.whole_broker import WholeBroker

pytestmark = pytest.mark.unit
NOT_HERE = "This server does not host this topic-partition."


def alter(whole: WholeBroker, wanted: dict[str, dict[int, int]], group: str = "g") -> Any:
    topics = [
        {"topic_name": name, "partitions": [{"partition_index": p, "start_offset": offset} for p, offset in partitions.items()]}
        for name, partitions in wanted.items()
    ]
    return whole.ask(ApiKey.ALTER_SHARE_GROUP_OFFSETS, 0, group_id=group, topics=topics)


def told(answer: Any) -> dict[str, list[tuple[int, int, str | None]]]:
    return {topic.topic_name: [(p.partition_index, p.error_code, p.error_message) for p in topic.partitions] for topic in answer.responses}


def test_case_SO02_one_verdict_a_partition(whole: WholeBroker) -> None:
    answer = alter(whole, {"t": {0: 3, 4: 3}, "none": {0: 3}})
    assert (answer.error_code, answer.error_message) == (E.NONE, None)
    unknown = E.UNKNOWN_TOPIC_OR_PARTITION
    assert told(answer) == {"t": [(0, 0, None), (4, unknown, NOT_HERE)], "none": [(0, unknown, NOT_HERE)]}
    assert [topic.topic_id for topic in answer.responses] == [whole.topic_id("t"), None]


def test_refusals_of_the_whole_request(whole: WholeBroker) -> None:
    share_member(whole)
    answer = alter(whole, {"t": {0: 3}})
    assert (answer.error_code, answer.error_message, answer.responses) == (E.NON_EMPTY_GROUP, "The group is not empty.", [])
    answer = alter(whole, {"t": {0: 3}}, group="")
    assert (answer.error_code, answer.error_message) == (E.INVALID_GROUP_ID, "The group id is invalid.")
    share_beat(whole, "m", -1)
    assert alter(whole, {"t": {0: 3}}).error_code == E.NONE


def test_case_SA01_without_the_group(whole: WholeBroker) -> None:
    whole.deny(AclOperation.READ, ResourceType.GROUP, "g")
    answer = alter(whole, {"t": {0: 3}})
    assert (answer.error_code, answer.error_message) == (E.GROUP_AUTHORIZATION_FAILED, "Group authorization failed.")
    assert answer.responses == []


def test_case_SA02_without_a_topic(whole: WholeBroker) -> None:
    whole.logs.create_topic("u", 1)
    whole.deny(AclOperation.READ, ResourceType.TOPIC, "u")
    answer = alter(whole, {"t": {0: 3}, "u": {0: 3, 1: 3}})
    denied = (E.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed.")
    assert told(answer) == {"t": [(0, 0, None)], "u": [(0, *denied), (1, *denied)]}
    assert [topic.topic_id for topic in answer.responses] == [whole.topic_id("t"), None]
