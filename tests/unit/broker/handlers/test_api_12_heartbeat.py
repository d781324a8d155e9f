"""Heartbeat: who is still there, and what a member is told to do."""

from __future__ import annotations

import pytest
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from support.group_requests import Member, joining, stable
from support.whole_broker import WholeBroker

pytestmark = pytest.mark.unit


def beat(whole: WholeBroker, member: Member, version: int = 4, **fields: object) -> int:
    asked = {"group_id": member.group, "generation_id": member.generation, "member_id": member.id}
    return int(whole.ask(ApiKey.HEARTBEAT, version, **{**asked, **fields}).error_code)


@pytest.mark.parametrize("version", [0, 2, 3, 4])
def test_a_member_of_a_stable_group(whole: WholeBroker, version: int) -> None:
    assert beat(whole, stable(whole), version) == ErrorCode.NONE


def test_it_prolongs_the_session(whole: WholeBroker) -> None:
    member = stable(whole)
    for _ in range(3):
        whole.advance(9_000)
        assert beat(whole, member) == ErrorCode.NONE
    whole.advance(10_001)
    assert beat(whole, member) == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"group_id": ""}, ErrorCode.INVALID_GROUP_ID),
        ({"group_id": "other"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "stranger"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": ""}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"generation_id": 2}, ErrorCode.ILLEGAL_GENERATION),
        ({"generation_id": -1}, ErrorCode.ILLEGAL_GENERATION),
        ({"group_instance_id": "unknown"}, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
    ids=str,
)
def test_refusals(whole: WholeBroker, fields: dict[str, object], error: ErrorCode) -> None:
    assert beat(whole, stable(whole), **fields) == error


def test_a_static_member_has_one_life(whole: WholeBroker) -> None:
    former = stable(whole, instance="i")
    returned = joining(whole, version=9, group_instance_id="i").answer()
    assert beat(whole, former, group_instance_id="i") == ErrorCode.FENCED_INSTANCE_ID
    assert beat(whole, Member("g", returned.member_id, returned.generation_id), group_instance_id="i") == ErrorCode.NONE


def test_a_rebalance_asks_it_to_join_again(whole: WholeBroker) -> None:
    member = stable(whole)
    newcomer = joining(whole, version=3)
    assert newcomer.waits
    assert beat(whole, member) == ErrorCode.REBALANCE_IN_PROGRESS


def test_without_the_group(whole: WholeBroker) -> None:
    member = stable(whole)
    whole.deny(AclOperation.READ, ResourceType.GROUP, "g")
    assert beat(whole, member) == ErrorCode.GROUP_AUTHORIZATION_FAILED
