"""Answers JoinGroup in a classic group.

A result of None means that the request is parked: its answer is an effect of whatever completes the rebalance.
"""

from __future__ import annotations

from dataclasses import dataclass

from oncelog.coordinator.groups.classic.rebalance import current_generation, rebalance, touch
from oncelog.coordinator.groups.classic.state import (
    TRANSITIONS,
    ClassicGroup,
    ClassicGroupState,
    ClassicMember,
    GroupEvent,
    JoinGroupResult,
    MemberProtocol,
)
from oncelog.coordinator.groups.config import GroupConfig
from oncelog.protocol.errors import ErrorCode

_S = ClassicGroupState


@dataclass(frozen=True, slots=True)
class JoinGroup:
    """A JoinGroup request. `new_member_id`: the id to use if the member has none yet; the flags follow from the version:
    v4+ makes a dynamic member ask twice, v9+ lets a returning static leader know that it need not assign."""

    group_id: str
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: tuple[MemberProtocol, ...]
    new_member_id: str
    requires_known_member_id: bool
    supports_skipping_assignment: bool


def refuse(request: JoinGroup, config: GroupConfig) -> ErrorCode:
    """What can be said without looking at the group."""
    if not request.group_id:
        return ErrorCode.INVALID_GROUP_ID
    if not config.group_min_session_timeout_ms <= request.session_timeout_ms <= config.group_max_session_timeout_ms:
        return ErrorCode.INVALID_SESSION_TIMEOUT
    return ErrorCode.NONE


def join(group: ClassicGroup, request: JoinGroup, config: GroupConfig, now_ms: int) -> JoinGroupResult | None:
    """Answer, or park (None). A static return within a stable group sets `record_due`: its new member id must be on disk first."""
    if group.state is _S.DEAD:
        return JoinGroupResult(ErrorCode.COORDINATOR_NOT_AVAILABLE, request.member_id)
    if not _has_room(group, request.member_id, config.group_max_size):
        if request.member_id in group.members:
            group.remove(request.member_id)
        return JoinGroupResult(ErrorCode.GROUP_MAX_SIZE_REACHED)
    if not group.supports_protocols(request.protocol_type, request.protocols):
        return JoinGroupResult(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, request.member_id)
    if not request.member_id:
        return _join_new(group, request, config, now_ms)
    if request.member_id in group.pending_members:
        _add_and_rebalance(group, request, request.member_id, config, now_ms)
        return None
    return _join_known(group, request, now_ms)


def _has_room(group: ClassicGroup, member_id: str, max_size: int) -> bool:
    member = group.members.get(member_id)
    if group.state is _S.PREPARING_REBALANCE:
        return (member is not None and member.awaiting_join) or group.awaiting_join_count < max_size
    return group.state is _S.EMPTY or member is not None or len(group.members) < max_size


def _join_new(group: ClassicGroup, request: JoinGroup, config: GroupConfig, now_ms: int) -> JoinGroupResult | None:
    if request.group_instance_id is not None:
        if request.group_instance_id in group.static_members:
            return _return_static(group, request, now_ms)
    elif request.requires_known_member_id:
        group.pending_members[request.new_member_id] = now_ms + request.session_timeout_ms
        return JoinGroupResult(ErrorCode.MEMBER_ID_REQUIRED, request.new_member_id)
    _add_and_rebalance(group, request, request.new_member_id, config, now_ms)
    return None


def _add_and_rebalance(group: ClassicGroup, request: JoinGroup, member_id: str, config: GroupConfig, now_ms: int) -> None:
    if group.state is _S.PREPARING_REBALANCE and group.was_empty:
        group.new_member_added = True
    if group.state is _S.EMPTY:
        group.initial_delay_ms = config.group_initial_rebalance_delay_ms
    member = _member(request, member_id)
    member.is_new = member.awaiting_join = True
    # A client that gave up while it waited for its first answer would otherwise block the group for ever.
    member.deadline_ms = now_ms + config.new_member_join_timeout_ms
    group.add(member)
    rebalance(group, GroupEvent.JOIN_NEW, now_ms)


def _member(request: JoinGroup, member_id: str) -> ClassicMember:
    return ClassicMember(
        member_id,
        request.group_instance_id,
        request.client_id,
        request.client_host,
        request.rebalance_timeout_ms,
        request.session_timeout_ms,
        request.protocol_type,
        request.protocols,
    )


def _join_known(group: ClassicGroup, request: JoinGroup, now_ms: int) -> JoinGroupResult | None:
    error = group.validate_member(request.member_id, request.group_instance_id)
    if error is not ErrorCode.NONE:
        return JoinGroupResult(error, request.member_id)
    member = group.members[request.member_id]
    event = GroupEvent.JOIN_LEADER if group.leader == member.member_id else GroupEvent.JOIN_KNOWN
    if member.protocols != request.protocols:
        event = GroupEvent.JOIN_CHANGED
    if TRANSITIONS[group.state, event].error is ErrorCode.NONE:
        return current_generation(group, member.member_id)  # the first answer was lost
    _update(group, member, request)
    rebalance(group, event, now_ms)
    return None


def _update(group: ClassicGroup, member: ClassicMember, request: JoinGroup) -> None:
    """Take over what the request says; the member waits from now on."""
    if member.awaiting_join:  # sent twice: the older one must not stay unanswered on its connection
        group.refuse(member, ErrorCode.REBALANCE_IN_PROGRESS)
    member.protocols = request.protocols
    member.rebalance_timeout_ms = request.rebalance_timeout_ms
    member.session_timeout_ms = request.session_timeout_ms
    member.awaiting_join = True
    member.deadline_ms = None


def _return_static(group: ClassicGroup, request: JoinGroup, now_ms: int) -> JoinGroupResult | None:
    """A static member came back under a new member id. It is compared by the protocol that would be chosen, not by its metadata."""
    assert request.group_instance_id is not None
    old_leader = group.leader
    replaced = _replace_static(group, request)
    event = GroupEvent.JOIN_STATIC if group.select_protocol() == group.protocol_name else GroupEvent.JOIN_CHANGED
    if TRANSITIONS[group.state, event].error is ErrorCode.NONE:
        group.record_due = True
        touch(replaced, now_ms)
        return _skip_rebalance(group, request, old_leader)
    replaced.awaiting_join = True
    replaced.deadline_ms = None
    rebalance(group, event, now_ms)
    return None


def _replace_static(group: ClassicGroup, request: JoinGroup) -> ClassicMember:
    """Put the new member in the place of the old one, whose requests are refused from now on."""
    assert request.group_instance_id is not None
    old = group.members[group.static_members[request.group_instance_id]]
    group.refuse(old, ErrorCode.FENCED_INSTANCE_ID)
    replaced = _member(request, request.new_member_id)
    replaced.assignment = old.assignment
    group.members = {
        replaced.member_id if member_id == old.member_id else member_id: replaced if member is old else member
        for member_id, member in group.members.items()
    }
    group.static_members[request.group_instance_id] = replaced.member_id
    if old.member_id in group.pending_sync:
        group.pending_sync.remove(old.member_id)
        group.pending_sync.add(replaced.member_id)
    if group.leader == old.member_id:
        group.leader = replaced.member_id
    return replaced


def _skip_rebalance(group: ClassicGroup, request: JoinGroup, old_leader: str | None) -> JoinGroupResult:
    """The generation goes on. Up to v8 the answer cannot say "do not assign", so it names the displaced id as leader."""
    leads = group.leader == request.new_member_id and request.supports_skipping_assignment
    return JoinGroupResult(
        ErrorCode.NONE,
        request.new_member_id,
        group.generation_id,
        group.protocol_type,
        group.protocol_name,
        (group.leader if request.supports_skipping_assignment else old_leader) or "",
        group.joined_members() if leads else (),
        skip_assignment=leads,
    )
