"""JoinGroup: what each version carries, who may join, and who waits for whom."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.coordinator.groups.classic.requests import Heartbeat
from oncelog.protocol.errors import ErrorCode
from support.group_requests import SUBSCRIPTION, Member, joining, stable, syncing
from support.whole_broker import WholeBroker

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("version", [0, 3])
def test_before_version_4_a_member_joins_at_once(whole: WholeBroker, version: int) -> None:
    answer = joining(whole, version=version).answer()
    assert (answer.error_code, answer.generation_id, answer.protocol_name) == (ErrorCode.NONE, 1, "range")
    assert answer.leader == answer.member_id
    assert answer.member_id.startswith("client-")
    assert [(member.member_id, member.metadata) for member in answer.members] == [(answer.member_id, SUBSCRIPTION)]


@pytest.mark.parametrize("version", [4, 9])
def test_a_member_without_id_gets_one_and_joins_again(whole: WholeBroker, version: int) -> None:
    first = joining(whole, version=version).answer()
    assert (first.error_code, first.generation_id, first.members) == (ErrorCode.MEMBER_ID_REQUIRED, -1, [])
    again = joining(whole, member=first.member_id, version=version).answer()
    assert (again.error_code, again.member_id) == (ErrorCode.NONE, first.member_id)


def test_a_static_member_is_named_after_its_instance(whole: WholeBroker) -> None:
    answer = joining(whole, version=5, group_instance_id="i").answer()
    assert answer.error_code == ErrorCode.NONE
    assert answer.member_id.startswith("i-")
    assert [member.group_instance_id for member in answer.members] == ["i"]


def test_without_the_group(whole: WholeBroker) -> None:
    whole.deny(AclOperation.READ, ResourceType.GROUP, "g")
    answer = joining(whole, member="m").answer()
    assert (answer.error_code, answer.member_id) == (ErrorCode.GROUP_AUTHORIZATION_FAILED, "m")
    assert joining(whole, "h", version=3).answer().error_code == ErrorCode.NONE


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"group": ""}, ErrorCode.INVALID_GROUP_ID),
        ({"session_timeout_ms": 5_999}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"session_timeout_ms": 1_800_001}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"member": "stranger"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"protocols": []}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": ""}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ],
    ids=str,
)
@pytest.mark.parametrize(("version", "no_protocol"), [(6, ""), (7, None)])
def test_refusals_have_no_protocol(
    whole: WholeBroker, fields: dict[str, object], error: ErrorCode, version: int, no_protocol: object
) -> None:
    answer = joining(whole, version=version, **fields).answer()  # type: ignore[arg-type]
    assert (answer.error_code, answer.generation_id, answer.protocol_name, answer.leader) == (error, -1, no_protocol, "")


@pytest.mark.parametrize(("version", "waits_ms"), [(0, 10_000), (1, 20_000)])
def test_how_long_others_are_waited_for(whole: WholeBroker, version: int, waits_ms: int) -> None:
    """Version 0 knows no rebalance timeout: its session timeout counts."""
    old = joining(whole, version=version).answer()
    assert syncing(whole, Member("g", old.member_id, old.generation_id), version=0).answer().error_code == ErrorCode.NONE
    newcomer = joining(whole, version=version)
    for _ in range(waits_ms // 5_000):
        assert newcomer.waits
        beat = Heartbeat("g", old.generation_id, old.member_id)  # it lives, and does not join
        assert whole.context.groups.heartbeat(beat) is ErrorCode.REBALANCE_IN_PROGRESS
        whole.advance(5_000)
    assert [member.member_id for member in newcomer.answer().members] == [newcomer.answer().member_id]


def test_a_static_leader_that_returns_need_not_assign_from_version_9(whole: WholeBroker) -> None:
    stable(whole, instance="i")
    returned = joining(whole, version=9, group_instance_id="i").answer()
    assert (returned.error_code, returned.skip_assignment, returned.leader) == (ErrorCode.NONE, True, returned.member_id)
    older = joining(whole, version=8, group_instance_id="i").answer()  # is not told to lead, or it would assign again
    assert (older.error_code, older.leader == older.member_id) == (ErrorCode.NONE, False)


def test_two_that_join_within_the_delay_are_one_generation(wholes: Callable[..., WholeBroker]) -> None:
    whole = wholes(settings={"group.initial.rebalance.delay.ms": "200"})
    first, second = joining(whole, version=3), joining(whole, version=3)
    assert first.waits
    assert second.waits
    whole.advance(401)
    answers = [first.answer(), second.answer()]
    assert [answer.generation_id for answer in answers] == [1, 1]
    assert sorted(len(answer.members) for answer in answers) == [0, 2]  # only the leader is told who is there
