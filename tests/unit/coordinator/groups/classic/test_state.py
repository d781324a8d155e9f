"""Every (state, event) pair of a classic group does what the table says."""

from __future__ import annotations

from dataclasses import replace

import pytest
from oncelog.coordinator.groups.classic.join import JoinGroup, join
from oncelog.coordinator.groups.classic.rebalance import become_stable, complete_join, expire
from oncelog.coordinator.groups.classic.requests import Heartbeat, LeavingMember, SyncGroup, heartbeat, leave, sync, validate_offset_commit
from oncelog.coordinator.groups.classic.state import TRANSITIONS, ClassicGroup, ClassicGroupState, GroupEvent, MemberProtocol
from oncelog.coordinator.groups.config import GroupConfig
from oncelog.protocol.errors import ErrorCode

S, EV = ClassicGroupState, GroupEvent
DELAY_MS = 3_000
CONFIG = GroupConfig(group_initial_rebalance_delay_ms=0)  # the first member's rebalance is over when it is answered
PATIENT = GroupConfig(group_initial_rebalance_delay_ms=DELAY_MS)
NOW_MS = 1_000
LEADER, FOLLOWER, STATIC = "leader", "follower", "static"


def request(member_id: str, *, instance: str | None = None, metadata: bytes = b"1", new: str = "newcomer") -> JoinGroup:
    protocols = (MemberProtocol("range", metadata),)
    return JoinGroup("g", member_id, instance, "c", "/h", 10_000, 10_000, "consumer", protocols, new, False, True)


def group_in(state: ClassicGroupState) -> ClassicGroup:
    """A group with a leader, a follower and a static member, brought there by requests."""
    group = ClassicGroup("g")
    if state is S.DEAD:
        group.transition(S.DEAD, NOW_MS)
    if state in (S.DEAD, S.EMPTY):
        return group
    for name in (LEADER, FOLLOWER, STATIC):
        join(group, request("", instance="i" if name == STATIC else None, new=name), CONFIG, NOW_MS)
        for other in list(group.members):  # who had joined before joins again
            if group.state is S.PREPARING_REBALANCE and not group.members[other].awaiting_join:
                join(group, request(other, instance="i" if other == STATIC else None), CONFIG, NOW_MS)
    if state is S.STABLE:
        become_stable(group, {}, NOW_MS)
    if state is S.PREPARING_REBALANCE:
        become_stable(group, {}, NOW_MS)
        join(group, request(LEADER), CONFIG, NOW_MS)
    group.take()
    assert group.state is state
    return group


def answer(group: ClassicGroup, event: GroupEvent) -> ErrorCode | None:
    generation = group.generation_id
    match event:
        case EV.JOIN_NEW:
            result = join(group, request(""), PATIENT, NOW_MS)
        case EV.JOIN_KNOWN:
            result = join(group, request(FOLLOWER), CONFIG, NOW_MS)
        case EV.JOIN_LEADER:
            result = join(group, request(LEADER), CONFIG, NOW_MS)
        case EV.JOIN_CHANGED:
            result = join(group, request(FOLLOWER, metadata=b"2"), CONFIG, NOW_MS)
        case EV.JOIN_STATIC:
            result = join(group, request("", instance="i"), PATIENT, NOW_MS)
        case EV.SYNC_FOLLOWER | EV.SYNC_LEADER:
            return synced(group, LEADER if event is EV.SYNC_LEADER else FOLLOWER)
        case EV.HEARTBEAT:
            return heartbeat(group, Heartbeat("g", generation, FOLLOWER), NOW_MS)
        case EV.COMMIT | EV.COMMIT_TXN:
            return validate_offset_commit(group, FOLLOWER, None, generation, transactional=event is EV.COMMIT_TXN)
        case EV.COMMIT_SIMPLE:
            return validate_offset_commit(group, "", None, -1, transactional=False)
        case EV.LEAVE:
            return leave(group, [LeavingMember(FOLLOWER)], NOW_MS)[0]
        case _:
            return finish(group, event)
    return None if result is None else result.error


def synced(group: ClassicGroup, member_id: str) -> ErrorCode | None:
    result = sync(group, SyncGroup("g", group.generation_id, member_id, None, None, None), NOW_MS)
    if group.record_due:  # the caller writes the group; replay of that record answers
        become_stable(group, {}, NOW_MS)
        return ErrorCode.NONE
    return None if result is None else result.error


def finish(group: ClassicGroup, event: GroupEvent) -> None:
    if group.state is not S.PREPARING_REBALANCE:
        return
    if event is EV.ALL_LEFT:
        for member_id in list(group.members):
            group.remove(member_id)
    complete_join(group, NOW_MS)


# DeleteGroups is the coordinator's: it looks at the state only
@pytest.mark.parametrize(("state", "event"), [pair for pair in TRANSITIONS if pair[1] is not EV.DELETE])
def test_every_pair(state: ClassicGroupState, event: GroupEvent) -> None:
    group, outcome = group_in(state), TRANSITIONS[state, event]
    error = answer(group, event)
    assert error == outcome.error
    assert group.state is (outcome.next_state or state)


def test_giving_back_an_unused_member_id_disturbs_nobody() -> None:
    group = group_in(S.STABLE)
    group.pending_members["unused"] = 9_000.0
    assert leave(group, [LeavingMember("unused")], NOW_MS) == [ErrorCode.NONE]
    assert group.state is S.STABLE
    assert not group.pending_members


def hand_out(group: ClassicGroup, member_id: str, config: GroupConfig) -> None:
    """A member id for somebody who will never be heard of again."""
    result = join(group, replace(request("", new=member_id), requires_known_member_id=True), config, NOW_MS)
    assert result is not None
    assert result.error is ErrorCode.MEMBER_ID_REQUIRED


@pytest.mark.parametrize("config", [CONFIG, PATIENT])
def test_the_first_rebalance_does_not_wait_for_unused_member_ids(config: GroupConfig) -> None:
    group = ClassicGroup("g")
    hand_out(group, "silent", config)
    assert join(group, request(""), config, NOW_MS) is None
    expire(group, NOW_MS + config.group_initial_rebalance_delay_ms)
    (told,) = group.take()
    assert (told.member_id, told.result.error) == ("newcomer", ErrorCode.NONE)


def test_later_rebalances_wait_for_unused_member_ids_as_long_as_their_session() -> None:
    group = group_in(S.STABLE)
    hand_out(group, "silent", CONFIG)
    for member_id, instance in ((LEADER, None), (FOLLOWER, None), (STATIC, "i")):
        assert join(group, request(member_id, instance=instance, metadata=b"2"), CONFIG, NOW_MS) is None
    assert not group.take()
    expire(group, NOW_MS + 10_000)
    assert [told.result.error for told in group.take()] == [ErrorCode.NONE] * 3
