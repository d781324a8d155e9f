"""Every (state, event) pair of a classic group does what the table says."""

from __future__ import annotations

import pytest
from oncelog.coordinator.groups.classic.join import join
from oncelog.coordinator.groups.classic.rebalance import become_stable, complete_join
from oncelog.coordinator.groups.classic.requests import Heartbeat, LeavingMember, SyncGroup, heartbeat, leave, sync, validate_offset_commit
from oncelog.coordinator.groups.classic.state import TRANSITIONS, ClassicGroup, ClassicGroupState, GroupEvent
from oncelog.protocol.errors import ErrorCode
from support.classic_group import CONFIG, EV, FOLLOWER, LEADER, NOW_MS, PATIENT, S, group_in, request


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
