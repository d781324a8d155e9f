"""ShareGroupDescribe: members with what they have, and groups that are not of this type."""

from __future__ import annotations

from typing import Any

import pytest
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from support.group_requests import stable
from support.share_groups import share_beat, share_member
from support.whole_broker import WholeBroker

pytestmark = pytest.mark.unit
NOT_REQUESTED = -(2**31)


def describe(whole: WholeBroker, *groups: str, **fields: Any) -> Any:
    return whole.ask(ApiKey.SHARE_GROUP_DESCRIBE, 1, group_ids=list(groups), **fields).groups


def test_case_SG09_a_group_and_its_member(whole: WholeBroker) -> None:
    epoch = share_member(whole).member_epoch
    (group,) = describe(whole, "g")
    assert (group.error_code, group.group_state, group.assignor_name) == (0, "Stable", "simple")
    assert (group.group_epoch, group.assignment_epoch, group.authorized_operations) == (epoch, epoch, NOT_REQUESTED)
    (member,) = group.members
    assert (member.member_id, member.member_epoch, member.rack_id) == ("m", epoch, None)
    assert (member.client_id, member.client_host, member.subscribed_topic_names) == ("client", "/10.0.0.1", ["t"])
    (topic,) = member.assignment.topic_partitions
    assert (topic.topic_id, topic.topic_name, topic.partitions) == (whole.topic_id("t"), "t", [0, 1])
    share_beat(whole, "m", -1)
    (group,) = describe(whole, "g", include_authorized_operations=True)
    assert (group.group_state, group.members, group.authorized_operations) == ("Empty", [], 3400)


def test_groups_of_another_type_and_none(whole: WholeBroker) -> None:
    stable(whole, "classic")
    told = [(group.error_code, group.error_message, group.group_state) for group in describe(whole, "classic", "none", "")]
    assert told == [
        (ErrorCode.GROUP_ID_NOT_FOUND, "Group classic is not a share group.", ""),
        (ErrorCode.GROUP_ID_NOT_FOUND, "Group none not found.", ""),
        (ErrorCode.INVALID_GROUP_ID, None, ""),
    ]


def test_case_SA01_without_the_group(whole: WholeBroker) -> None:
    share_member(whole)
    whole.deny(AclOperation.DESCRIBE, ResourceType.GROUP, "g")
    refused, unknown = describe(whole, "g", "none")
    assert (refused.error_code, refused.members, unknown.error_code) == (ErrorCode.GROUP_AUTHORIZATION_FAILED, [], 69)


def test_case_SA02_a_topic_that_may_not_be_described_hides_the_members(whole: WholeBroker) -> None:
    whole.logs.create_topic("u", 1)
    share_member(whole, "m", "t", "u")
    whole.deny(AclOperation.DESCRIBE, ResourceType.TOPIC, "u")
    (group,) = describe(whole, "g")
    assert (group.error_code, group.members) == (ErrorCode.TOPIC_AUTHORIZATION_FAILED, [])
    assert group.error_message == "The group has described topic(s) that the client is not authorized to describe."


def test_a_deleted_topic_is_in_nobodys_hands(whole: WholeBroker) -> None:
    whole.logs.create_topic("u", 1)
    share_member(whole, "m", "t", "u")
    whole.ask(ApiKey.DELETE_TOPICS, 6, topics=[{"name": "u", "topic_id": None}], timeout_ms=1000)
    (group,) = describe(whole, "g")
    assert [topic.topic_name for topic in group.members[0].assignment.topic_partitions] == ["t"]
