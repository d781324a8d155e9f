"""JoinGroup: who is refused, who has to ask twice, and what a static member gets when it returns."""

from __future__ import annotations

from dataclasses import replace

import pytest
from oncelog.coordinator.groups.classic.join import join, refuse
from oncelog.coordinator.groups.classic.state import ClassicGroup, ClassicGroupState, MemberProtocol
from oncelog.coordinator.groups.config import GroupConfig
from oncelog.protocol.errors import ErrorCode
from support.classic_group import CONFIG, FOLLOWER, LEADER, NOW_MS, S, group_in, request

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"group_id": ""}, ErrorCode.INVALID_GROUP_ID),
        ({"session_timeout_ms": 5_999}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"session_timeout_ms": 6_000}, ErrorCode.NONE),
        ({"session_timeout_ms": 1_800_000}, ErrorCode.NONE),
        ({"session_timeout_ms": 1_800_001}, ErrorCode.INVALID_SESSION_TIMEOUT),
    ],
)
def test_what_is_refused_without_a_look_at_the_group(changes: dict[str, object], error: ErrorCode) -> None:
    assert refuse(replace(request(""), **changes), GroupConfig()) is error  # type: ignore[arg-type]


def test_a_dynamic_member_is_given_an_id_first() -> None:
    group = ClassicGroup("g")
    asked = replace(request("", new="given"), requires_known_member_id=True)
    result = join(group, asked, CONFIG, NOW_MS)
    assert result is not None
    assert (result.error, result.member_id) == (ErrorCode.MEMBER_ID_REQUIRED, "given")
    assert (group.state, group.members, group.pending_members) == (S.EMPTY, {}, {"given": NOW_MS + 10_000})
    assert join(group, request("given"), CONFIG, NOW_MS) is None
    assert (set(group.members), group.pending_members) == ({"given"}, {})


def test_a_static_member_need_not_ask_twice() -> None:
    group = ClassicGroup("g")
    assert join(group, replace(request("", instance="i", new="given"), requires_known_member_id=True), CONFIG, NOW_MS) is None
    assert group.static_members == {"i": "given"}


@pytest.mark.parametrize("state", [S.STABLE, S.COMPLETING_REBALANCE])
def test_a_full_group(state: ClassicGroupState) -> None:
    group = group_in(state)
    config = GroupConfig(group_max_size=3)
    result = join(group, request(""), config, NOW_MS)
    assert result is not None
    assert result.error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert len(group.members) == 3
    known = join(group, request(FOLLOWER), config, NOW_MS)
    assert known is None or known.error is ErrorCode.NONE


@pytest.mark.parametrize(
    "changes", [{"protocol_type": "connect"}, {"protocols": (MemberProtocol("sticky", b""),)}, {"protocols": ()}], ids=str
)
def test_protocols_that_the_group_does_not_have(changes: dict[str, object]) -> None:
    result = join(group_in(S.STABLE), replace(request(""), **changes), CONFIG, NOW_MS)  # type: ignore[arg-type]
    assert result is not None
    assert result.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.parametrize(
    ("member", "instance", "error"),
    [
        ("nobody", None, ErrorCode.UNKNOWN_MEMBER_ID),
        (FOLLOWER, "i", ErrorCode.FENCED_INSTANCE_ID),
        ("x", "none", ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_members_that_are_not_there(member: str, instance: str | None, error: ErrorCode) -> None:
    group = group_in(S.STABLE)
    result = join(group, request(member, instance=instance), CONFIG, NOW_MS)
    assert result is not None
    assert (result.error, result.member_id, group.state) == (error, member, S.STABLE)


def test_a_dead_group_is_looked_for_elsewhere() -> None:
    result = join(group_in(S.DEAD), request(LEADER), CONFIG, NOW_MS)
    assert result is not None
    assert result.error is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_a_follower_that_lost_its_answer_is_told_again_and_a_leader_begins_anew() -> None:
    group = group_in(S.STABLE)
    again = join(group, request(FOLLOWER), CONFIG, NOW_MS)
    assert again is not None
    assert (again.error, again.generation_id, again.members, group.state) == (ErrorCode.NONE, group.generation_id, (), S.STABLE)
    assert join(group, request(LEADER), CONFIG, NOW_MS) is None
    assert group.state is S.PREPARING_REBALANCE
