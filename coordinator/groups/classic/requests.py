"""Answers SyncGroup, Heartbeat and LeaveGroup in a classic group, and says who may commit offsets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from oncelog.coordinator.groups.classic.rebalance import rebalance, remove_pending, synced, touch
from oncelog.coordinator.groups.classic.state import TRANSITIONS, ClassicGroup, ClassicGroupState, GroupEvent, SyncGroupResult
from oncelog.protocol.errors import ErrorCode

_S = ClassicGroupState
_E = ErrorCode


@dataclass(frozen=True, slots=True)
class SyncGroup:
    """A SyncGroup request; `protocol_type` and `protocol_name` are None before v5."""

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None
    protocol_type: str | None
    protocol_name: str | None
    assignments: dict[str, bytes] = field(default_factory=dict)


class LeavingMember(NamedTuple):
    """One member of a LeaveGroup request, by member id or by instance id."""

    member_id: str
    group_instance_id: str | None = None


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A Heartbeat request."""

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = None


def _refuse_sync(group: ClassicGroup, request: SyncGroup) -> ErrorCode:
    """Errors of SyncGroup that depend on who asks."""
    if group.state is _S.DEAD:
        return _E.COORDINATOR_NOT_AVAILABLE
    error = group.validate_member(request.member_id, request.group_instance_id)
    if error is not _E.NONE:
        return error
    if request.generation_id != group.generation_id:
        return _E.ILLEGAL_GENERATION
    if request.protocol_type is not None and request.protocol_type != group.protocol_type:
        return _E.INCONSISTENT_GROUP_PROTOCOL
    if request.protocol_name is not None and request.protocol_name != group.protocol_name:
        return _E.INCONSISTENT_GROUP_PROTOCOL
    return _E.NONE


def sync(group: ClassicGroup, request: SyncGroup, now_ms: int) -> SyncGroupResult | None:
    """Answer, or park (None). When the leader of a completing rebalance asks, `record_due` is set: the caller writes the group with the
    assignments of the request; replaying that record answers everybody."""
    error = _refuse_sync(group, request)
    if error is not _E.NONE:
        return SyncGroupResult(error)
    member = group.members[request.member_id]
    leads = member.member_id == group.leader
    outcome = TRANSITIONS[group.state, GroupEvent.SYNC_LEADER if leads else GroupEvent.SYNC_FOLLOWER]
    if outcome.error:
        return SyncGroupResult(outcome.error)
    group.pending_sync.discard(member.member_id)
    if outcome.error is _E.NONE and outcome.next_state is None:
        if not member.awaiting_join:
            touch(member, now_ms)
        return synced(group, member)
    if member.awaiting_sync:  # sent twice: the older one must not stay unanswered on its connection
        group.answer_sync(member, SyncGroupResult(_E.REBALANCE_IN_PROGRESS))
    member.awaiting_sync = True
    member.deadline_ms = None
    if outcome.next_state is not None:
        group.record_due = True
    return None


def heartbeat(group: ClassicGroup, request: Heartbeat, now_ms: int) -> ErrorCode:
    """Prolong the session; REBALANCE_IN_PROGRESS asks the member to join again."""
    if group.state is _S.DEAD:
        return _E.COORDINATOR_NOT_AVAILABLE
    error = group.validate_member(request.member_id, request.group_instance_id)
    if error is not _E.NONE:
        return error
    if request.generation_id != group.generation_id:
        return _E.ILLEGAL_GENERATION
    member = group.members[request.member_id]
    if not (member.awaiting_join or member.awaiting_sync):
        touch(member, now_ms)
    return group.answer_to(GroupEvent.HEARTBEAT)


def leave(group: ClassicGroup, members: list[LeavingMember], now_ms: int) -> list[ErrorCode]:
    """Remove members, one verdict each; one rebalance for all of them."""
    before = len(group.members)
    verdicts = [_leave(group, each, now_ms) for each in members]
    if len(group.members) < before:  # a member id that was never used goes without a rebalance
        rebalance(group, GroupEvent.LEAVE, now_ms)
    return verdicts


def _leave(group: ClassicGroup, leaving: LeavingMember, now_ms: int) -> ErrorCode:
    if group.state is _S.DEAD:
        return _E.UNKNOWN_MEMBER_ID
    if leaving.group_instance_id is None and leaving.member_id in group.pending_members:
        remove_pending(group, leaving.member_id, now_ms)
        return _E.NONE
    member_id: str | None = leaving.member_id
    if leaving.group_instance_id is not None:
        holder = group.static_members.get(leaving.group_instance_id)
        if holder is not None and leaving.member_id not in ("", holder):
            return _E.FENCED_INSTANCE_ID
        member_id = holder
    if member_id is None or member_id not in group.members:
        return _E.UNKNOWN_MEMBER_ID
    group.remove(member_id)
    return _E.NONE


def validate_offset_commit(
    group: ClassicGroup, member_id: str, group_instance_id: str | None, generation_id: int, *, transactional: bool
) -> ErrorCode:
    """Who may commit (Kafka's ClassicGroup.validateOffsetCommit). Without a generation only to an empty group; a transactional commit
    is fenced by its producer and may come from a client that names no member."""
    if group.state is _S.DEAD:
        return _E.COORDINATOR_NOT_AVAILABLE
    if generation_id < 0 and group.answer_to(GroupEvent.COMMIT_SIMPLE) is _E.NONE:
        return _E.NONE
    if generation_id >= 0 or member_id or group_instance_id is not None:
        error = group.validate_member(member_id, group_instance_id)
        if error is not _E.NONE:
            return error
        if generation_id != group.generation_id:
            return _E.ILLEGAL_GENERATION
    elif not transactional:
        return group.answer_to(GroupEvent.COMMIT_SIMPLE)
    return group.answer_to(GroupEvent.COMMIT_TXN if transactional else GroupEvent.COMMIT)
