"""Moves a classic group through its rebalances: prepare, complete the join, time out (Kafka's `GroupMetadataManager`, classic part).

Functions take the group and the time; what parked requests are to be told collects in `group.answers`, and `group.record_due` says that the
group's record has to be written because it became empty.
"""

from __future__ import annotations

from collections.abc import Callable

from oncelog.coordinator.groups.classic.state import (
    TRANSITIONS,
    ClassicGroup,
    ClassicGroupState,
    ClassicMember,
    GroupEvent,
    JoinGroupResult,
    SyncGroupResult,
)
from oncelog.protocol.errors import ErrorCode

_S = ClassicGroupState


def touch(member: ClassicMember, now_ms: int) -> None:
    """The member gave a sign of life."""
    member.deadline_ms = now_ms + member.session_timeout_ms


def rebalance(group: ClassicGroup, event: GroupEvent, now_ms: int) -> None:
    """After `event`: start a rebalance where it leads to one, or go on with the one that is under way."""
    if TRANSITIONS[group.state, event].next_state is _S.PREPARING_REBALANCE:
        prepare(group, now_ms)
    elif group.state is _S.PREPARING_REBALANCE:
        complete_join_if_all_joined(group, now_ms)


def prepare(group: ClassicGroup, now_ms: int) -> None:
    """Every member has to join again. From Empty the group may wait for more members first (group.initial.rebalance.delay.ms), but not
    for those that were given a member id and are silent: nobody else is to suffer from a client that went away at once."""
    if group.state is _S.COMPLETING_REBALANCE:
        _reset_assignments(group, ErrorCode.REBALANCE_IN_PROGRESS)
    group.pending_sync.clear()
    group.sync_deadline_ms = None
    initial = group.state is _S.EMPTY
    group.transition(_S.PREPARING_REBALANCE, now_ms)
    group.new_member_added = False
    if initial and group.initial_delay_ms > 0:
        group.initial_delay_left_ms = max(group.rebalance_timeout_ms - group.initial_delay_ms, 0)
        group.join_deadline_ms = now_ms + group.initial_delay_ms
        return
    group.was_empty = False
    if initial:
        complete_join(group, now_ms)
        return
    group.join_deadline_ms = now_ms + group.rebalance_timeout_ms
    complete_join_if_all_joined(group, now_ms)


def complete_join_if_all_joined(group: ClassicGroup, now_ms: int) -> None:
    """Complete the join when nobody is missing; an initial delay is always sat out while there are members."""
    if group.state is not _S.PREPARING_REBALANCE or (group.was_empty and group.members):
        return
    if group.has_all_joined():
        complete_join(group, now_ms)


def complete_join(group: ClassicGroup, now_ms: int) -> None:
    """All joined, or the time is up: who did not join is out, the others get the next generation."""
    for member in list(group.members.values()):
        if not member.awaiting_join and member.group_instance_id is None:
            group.remove(member.member_id)
    if group.members and not _elect_joined_leader(group):
        # Only static members that have not returned: give them another rebalance timeout.
        group.join_deadline_ms = now_ms + group.rebalance_timeout_ms
        return
    group.join_deadline_ms = None
    group.generation_id += 1
    if group.members:
        _start_generation(group, now_ms)
    else:
        group.protocol_name = None
        group.pending_sync.clear()
        group.follow(GroupEvent.ALL_LEFT, now_ms)
        group.record_due = True


def _elect_joined_leader(group: ClassicGroup) -> bool:
    """A leader that did not join cannot assign."""
    leader = group.members.get(group.leader or "")
    if leader is not None and leader.awaiting_join:
        return True
    joined = next((member.member_id for member in group.members.values() if member.awaiting_join), None)
    if joined is not None:
        group.leader = joined
    return joined is not None


def _start_generation(group: ClassicGroup, now_ms: int) -> None:
    group.protocol_name = group.select_protocol()
    group.follow(GroupEvent.ALL_JOINED, now_ms)
    for member in group.members.values():
        group.answer_join(member, current_generation(group, member.member_id))
        member.is_new = False
        touch(member, now_ms)
    group.pending_sync = set(group.members)
    group.sync_deadline_ms = now_ms + group.rebalance_timeout_ms


def current_generation(group: ClassicGroup, member_id: str) -> JoinGroupResult:
    """The successful answer to a JoinGroup; the leader's lists the members."""
    return JoinGroupResult(
        ErrorCode.NONE,
        member_id,
        group.generation_id,
        group.protocol_type,
        group.protocol_name,
        group.leader or "",
        group.joined_members() if member_id == group.leader else (),
    )


def synced(group: ClassicGroup, member: ClassicMember) -> SyncGroupResult:
    """The successful answer to a SyncGroup."""
    return SyncGroupResult(ErrorCode.NONE, member.assignment, group.protocol_type, group.protocol_name)


def become_stable(group: ClassicGroup, assignments: dict[str, bytes], now_ms: int) -> None:
    """The leader's assignment is written: everybody who waits for it gets it."""
    for member in group.members.values():
        member.assignment = assignments.get(member.member_id, b"")
    group.follow(GroupEvent.SYNC_LEADER, now_ms)
    for member in group.members.values():
        if member.awaiting_sync:
            group.answer_sync(member, synced(group, member))
            touch(member, now_ms)


def fail_assignment(group: ClassicGroup, error: ErrorCode, now_ms: int) -> None:
    """The leader's assignment could not be written: everybody who waits is told, and the group starts over."""
    if group.state is _S.COMPLETING_REBALANCE:
        _reset_assignments(group, error)
        prepare(group, now_ms)


def _reset_assignments(group: ClassicGroup, error: ErrorCode) -> None:
    for member in group.members.values():
        member.assignment = b""
        group.answer_sync(member, SyncGroupResult(error))


def remove_member(group: ClassicGroup, member_id: str, now_ms: int) -> None:
    """A member left or was silent too long."""
    group.remove(member_id)
    rebalance(group, GroupEvent.LEAVE, now_ms)


def remove_pending(group: ClassicGroup, member_id: str, now_ms: int) -> None:
    """A member id that was handed out and never used."""
    group.pending_members.pop(member_id, None)
    complete_join_if_all_joined(group, now_ms)


def expire(group: ClassicGroup, now_ms: int) -> None:
    """Carry out what is due: rebalance and sync timeouts, silent members, unused member ids."""
    for due, action in _TIMEOUTS:
        if due(group, now_ms):
            action(group, now_ms)
    for member_id, deadline in list(group.pending_members.items()):
        if deadline <= now_ms:
            remove_pending(group, member_id, now_ms)
    for member in list(group.members.values()):
        if member.deadline_ms is not None and member.deadline_ms <= now_ms and member.member_id in group.members:
            remove_member(group, member.member_id, now_ms)


def _join_timeout(group: ClassicGroup, now_ms: int) -> None:
    if group.was_empty and group.new_member_added and group.initial_delay_left_ms > 0:
        # Somebody joined during the initial delay: wait once more, the rebalance timeout in all.
        delay = min(group.initial_delay_ms, group.initial_delay_left_ms)
        group.new_member_added = False
        group.initial_delay_left_ms -= delay
        group.join_deadline_ms = now_ms + delay
        return
    group.was_empty = False
    complete_join(group, now_ms)


def _sync_timeout(group: ClassicGroup, now_ms: int) -> None:
    """Members that did not ask for their assignment are out."""
    group.sync_deadline_ms = None
    if group.state not in (_S.COMPLETING_REBALANCE, _S.STABLE) or not group.pending_sync:
        return
    for member_id in list(group.pending_sync):
        group.remove(member_id)
    prepare(group, now_ms)


def _due(deadline: float | None, now_ms: int) -> bool:
    return deadline is not None and deadline <= now_ms


_TIMEOUTS: tuple[tuple[Callable[[ClassicGroup, int], bool], Callable[[ClassicGroup, int], None]], ...] = (
    (lambda group, now_ms: _due(group.join_deadline_ms, now_ms), _join_timeout),
    (lambda group, now_ms: _due(group.sync_deadline_ms, now_ms), _sync_timeout),
)
