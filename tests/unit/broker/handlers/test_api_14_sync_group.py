"""SyncGroup: the leader gives the assignments, the others wait for theirs."""

from __future__ import annotations

import pytest
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.protocol.errors import ErrorCode
from support.group_requests import Member, joined, joining, stable, syncing
from support.whole_broker import WholeBroker

pytestmark = pytest.mark.unit
NAMED = {"protocol_type": "consumer", "protocol_name": "range"}


@pytest.mark.parametrize("version", [0, 3, 4, 5])
def test_the_leader_gets_its_own(whole: WholeBroker, version: int) -> None:
    answer = syncing(whole, joined(whole), version=version, **(NAMED if version >= 5 else {})).answer()
    assert (answer.error_code, answer.assignment) == (ErrorCode.NONE, b"mine")
    if version >= 5:
        assert (answer.protocol_type, answer.protocol_name) == ("consumer", "range")


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (NAMED, ErrorCode.NONE),
        ({}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({**NAMED, "protocol_type": None}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({**NAMED, "protocol_name": None}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({**NAMED, "protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({**NAMED, "protocol_name": "roundrobin"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ],
    ids=str,
)
def test_version_5_names_both_protocol_type_and_name(whole: WholeBroker, given: dict[str, str], error: ErrorCode) -> None:
    answer = syncing(whole, joined(whole), version=5, **given).answer()
    assert (answer.error_code, answer.assignment) == (error, b"mine" if error is ErrorCode.NONE else b"")


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"group_id": ""}, ErrorCode.INVALID_GROUP_ID),
        ({"group_id": "other"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "stranger"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"generation_id": 0}, ErrorCode.ILLEGAL_GENERATION),
        ({"group_instance_id": "unknown"}, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
    ids=str,
)
def test_refusals(whole: WholeBroker, fields: dict[str, object], error: ErrorCode) -> None:
    assert syncing(whole, joined(whole), **fields).answer().error_code == error


def test_a_follower_waits_for_its_leader(whole: WholeBroker) -> None:
    leader = stable(whole)
    newcomer = joining(whole, version=3)
    again = joining(whole, member=leader.id, version=3).answer()
    generation = again.generation_id
    follower = Member("g", newcomer.answer().member_id, generation)
    waiting = syncing(whole, follower, assignments=[])
    assert waiting.waits
    given = [{"member_id": follower.id, "assignment": b"yours"}]
    assert syncing(whole, Member("g", leader.id, generation), assignments=given).answer().assignment == b""  # it left itself out
    assert (waiting.answer().error_code, waiting.answer().assignment) == (ErrorCode.NONE, b"yours")


def test_an_assignment_is_told_again(whole: WholeBroker) -> None:
    member = stable(whole)
    assert syncing(whole, member, assignments=[]).answer().assignment == b"mine"


def test_without_the_group(whole: WholeBroker) -> None:
    member = joined(whole)
    whole.deny(AclOperation.READ, ResourceType.GROUP, "g")
    assert syncing(whole, member).answer().error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert whole.context.groups.listing.describe("g").state == "CompletingRebalance"
