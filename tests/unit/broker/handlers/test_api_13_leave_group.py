"""LeaveGroup: one member in old versions, several with a verdict each in newer ones."""

from __future__ import annotations

import pytest
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from support.group_requests import joining, stable
from support.whole_broker import WholeBroker

pytestmark = pytest.mark.unit


def state(whole: WholeBroker, group: str = "g") -> str:
    return whole.context.groups.listing.describe(group).state


@pytest.mark.parametrize("version", [0, 1, 2])
def test_one_member(whole: WholeBroker, version: int) -> None:
    member = stable(whole)
    left = [whole.ask(ApiKey.LEAVE_GROUP, version, group_id="g", member_id=name).error_code for name in ("x", member.id, member.id)]
    assert left == [ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID]
    assert state(whole) == "Empty"


@pytest.mark.parametrize("version", [3, 5])
def test_several_have_a_verdict_each(whole: WholeBroker, version: int) -> None:
    member = stable(whole, instance="i")
    leaving = [
        {"member_id": "x", "group_instance_id": None},
        {"member_id": "x", "group_instance_id": "i"},
        {"member_id": "", "group_instance_id": "unknown"},
        {"member_id": "", "group_instance_id": "i"},
        {"member_id": member.id, "group_instance_id": "i"},
    ]
    answer = whole.ask(ApiKey.LEAVE_GROUP, version, group_id="g", members=leaving)
    assert answer.error_code == ErrorCode.NONE
    assert [(each.member_id, each.group_instance_id, each.error_code) for each in answer.members] == [
        ("x", None, ErrorCode.UNKNOWN_MEMBER_ID),
        ("x", "i", ErrorCode.FENCED_INSTANCE_ID),
        ("", "unknown", ErrorCode.UNKNOWN_MEMBER_ID),
        ("", "i", ErrorCode.NONE),
        (member.id, "i", ErrorCode.UNKNOWN_MEMBER_ID),
    ]


def test_nobody_leaves(whole: WholeBroker) -> None:
    stable(whole)
    answer = whole.ask(ApiKey.LEAVE_GROUP, 4, group_id="g", members=[])
    assert (answer.error_code, answer.members, state(whole)) == (ErrorCode.NONE, [], "Stable")


def test_who_was_given_an_id_only_leaves_too(whole: WholeBroker) -> None:
    given = joining(whole, version=4).answer().member_id
    answer = whole.ask(ApiKey.LEAVE_GROUP, 2, group_id="g", member_id=given)
    assert answer.error_code == ErrorCode.NONE
    assert joining(whole, member=given, version=4).answer().error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_group_without_name(whole: WholeBroker) -> None:
    newer = whole.ask(ApiKey.LEAVE_GROUP, 4, group_id="", members=[{"member_id": "m"}])
    assert (newer.error_code, newer.members) == (ErrorCode.INVALID_GROUP_ID, [])
    assert whole.ask(ApiKey.LEAVE_GROUP, 1, group_id="", member_id="m").error_code == ErrorCode.INVALID_GROUP_ID


def test_without_the_group(whole: WholeBroker) -> None:
    member = stable(whole)
    whole.deny(AclOperation.READ, ResourceType.GROUP, "g")
    answer = whole.ask(ApiKey.LEAVE_GROUP, 4, group_id="g", members=[{"member_id": member.id}])
    assert (answer.error_code, answer.members, state(whole)) == (ErrorCode.GROUP_AUTHORIZATION_FAILED, [], "Stable")


def test_the_others_share_what_is_left(whole: WholeBroker) -> None:
    member = stable(whole)
    newcomer = joining(whole, version=3)
    assert newcomer.waits
    whole.ask(ApiKey.LEAVE_GROUP, 2, group_id="g", member_id=member.id)
    assert [each.member_id for each in newcomer.answer().members] == [newcomer.answer().member_id]
