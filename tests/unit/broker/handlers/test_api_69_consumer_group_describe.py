"""ConsumerGroupDescribe: members with what they have and shall have, and groups that are not of this kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from support.group_requests import consumer_member, joining, stable
from support.whole_broker import WholeBroker

pytestmark = pytest.mark.unit
NOT_REQUESTED = -(2**31)


def describe(whole: WholeBroker, *groups: str, version: int = 1, **fields: Any) -> Any:
    return whole.ask(ApiKey.CONSUMER_GROUP_DESCRIBE, version, group_ids=list(groups), **fields).groups


def places(assignment: Any) -> list[tuple[str, list[int]]]:
    return [(each.topic_name, each.partitions) for each in assignment.topic_partitions]


@pytest.mark.parametrize("version", [0, 1])
def test_a_group_and_its_member(whole: WholeBroker, version: int) -> None:
    epoch = consumer_member(whole).member_epoch
    (group,) = describe(whole, "g", version=version)
    assert (group.error_code, group.group_state, group.assignor_name) == (ErrorCode.NONE, "Stable", "uniform")
    assert (group.group_epoch, group.assignment_epoch) == (epoch, epoch)
    assert group.authorized_operations == NOT_REQUESTED
    (member,) = group.members
    assert (member.member_id, member.member_epoch, member.instance_id) == ("m1", epoch, None)
    assert (member.client_id, member.client_host) == ("client", "/10.0.0.1")
    assert (member.subscribed_topic_names, member.subscribed_topic_regex) == (["t"], "")
    assert places(member.assignment) == places(member.target_assignment) == [("t", [0, 1])]
    assert member.member_type == (1 if version >= 1 else -1)


def test_what_must_be_given_up_is_still_the_members_own(whole: WholeBroker) -> None:
    first = consumer_member(whole)
    consumer_member(whole, member="m2")
    whole.advance(1_000)
    beat = {"group_id": "g", "member_id": "m1", "member_epoch": first.member_epoch}
    whole.ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, **beat)  # is told to give one up
    (group,) = describe(whole, "g")
    members = {member.member_id: member for member in group.members}
    assert group.group_state == "Reconciling"
    assert places(members["m1"].assignment) == [("t", [0, 1])]
    assert [len(numbers) for _, numbers in places(members["m1"].target_assignment)] == [1]
    assert places(members["m2"].assignment) == []
    assert [len(numbers) for _, numbers in places(members["m2"].target_assignment)] == [1]


def test_a_classic_member_of_a_consumer_group(whole: WholeBroker) -> None:
    consumer_member(whole)
    first = joining(whole, version=9).answer()
    assert first.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert joining(whole, member=first.member_id, version=9).answer().error_code == ErrorCode.NONE
    (group,) = describe(whole, "g")
    assert sorted(member.member_type for member in group.members) == [0, 1]


def test_groups_of_another_kind_and_none(whole: WholeBroker) -> None:
    stable(whole, "classic")
    told = [(group.group_id, group.error_code, group.error_message) for group in describe(whole, "classic", "none", "")]
    assert told[:2] == [
        ("classic", ErrorCode.GROUP_ID_NOT_FOUND, "Group classic is not a consumer group."),
        ("none", ErrorCode.GROUP_ID_NOT_FOUND, "Group none not found."),
    ]
    assert told[2][1] != ErrorCode.NONE
    assert describe(whole) == []


def test_without_the_group(whole: WholeBroker) -> None:
    consumer_member(whole)
    whole.deny(AclOperation.DESCRIBE, ResourceType.GROUP, "g")
    refused, unknown = describe(whole, "g", "none")
    assert (refused.error_code, refused.members, unknown.error_code) == (ErrorCode.GROUP_AUTHORIZATION_FAILED, [], 69)


def test_a_topic_that_may_not_be_described_hides_the_group(whole: WholeBroker) -> None:
    whole.logs.create_topic("u", 1)
    consumer_member(whole, topics=("t", "u"))
    whole.deny(AclOperation.DESCRIBE, ResourceType.TOPIC, "u")
    (group,) = describe(whole, "g")
    assert (group.error_code, group.members) == (ErrorCode.TOPIC_AUTHORIZATION_FAILED, [])
    assert group.error_message == "The group has described topic(s) that the client is not authorized to describe."


def test_operations_are_told_to_whom_asks(whole: WholeBroker) -> None:
    consumer_member(whole)
    whole.deny(AclOperation.READ, ResourceType.GROUP, "g")
    (group,) = describe(whole, "g", include_authorized_operations=True)
    deletes, describes, describe_configs, alter_configs = 1 << 6, 1 << 8, 1 << 10, 1 << 11
    assert group.authorized_operations == deletes + describes + describe_configs + alter_configs


def test_the_protocol_can_be_switched_off(wholes: Callable[..., WholeBroker]) -> None:
    whole = wholes(settings={"group.consumer.enable": "false"})
    assert [group.error_code for group in describe(whole, "g")] == [ErrorCode.UNSUPPORTED_VERSION]


def test_a_deleted_topic_is_in_nobodys_hands(whole: WholeBroker) -> None:
    whole.logs.create_topic("u", 1)
    consumer_member(whole, topics=("t", "u"))
    whole.ask(ApiKey.DELETE_TOPICS, 6, topics=[{"name": "u", "topic_id": None}], timeout_ms=1000)
    (group,) = describe(whole, "g")
    assert [places(member.assignment) for member in group.members] == [[("t", [0, 1])]]
