"""Answers ConsumerGroupHeartbeat (KIP-848): join, stay, leave (Kafka's `GroupMetadataManager.consumerGroupHeartbeat`).

Refusals are raised as KafkaError, with Kafka's words; then nothing is written.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from oncelog.coordinator.groups.consumer.assignors import Assignment
from oncelog.coordinator.groups.consumer.draft import Draft, GroupLimits, update_epoch, update_target
from oncelog.coordinator.groups.consumer.reconcile import reconcile
from oncelog.coordinator.groups.consumer.regex import compile_regex
from oncelog.coordinator.groups.consumer.state import LEAVE_EPOCH, STATIC_LEAVE_EPOCH, ConsumerGroup, ConsumerMember
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.topics import Topics

_E = ErrorCode
_CLIENT_MAKES_ID = 1  # the member id, from this version on


@dataclass(frozen=True, slots=True)
class ConsumerHeartbeat:
    """A ConsumerGroupHeartbeat request; None and -1 stand for "as before". `owned`: the partitions the member says it has."""

    group_id: str
    member_id: str
    member_epoch: int
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    topic_names: tuple[str, ...] | None = None
    topic_regex: str | None = None
    server_assignor: str | None = None
    owned: Assignment | None = None
    client_id: str = ""
    client_host: str = ""
    api_version: int = 1

    @property
    def is_full(self) -> bool:
        """It says everything, so it wants to be told everything."""
        subscribed = self.topic_names is not None or self.topic_regex is not None
        return self.rebalance_timeout_ms != -1 and subscribed and self.owned is not None


@dataclass(frozen=True, slots=True)
class HeartbeatAnswer:
    """`assignment` None: as before."""

    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: Assignment | None = None
    error: ErrorCode = ErrorCode.NONE
    error_message: str | None = None


def check(request: ConsumerHeartbeat, assignors: Collection[str]) -> None:
    """What can be said without looking at the group. Raises KafkaError 42, 112."""
    if request.api_version >= _CLIENT_MAKES_ID or request.member_epoch > 0 or request.member_epoch == LEAVE_EPOCH:
        _need(not _is_blank(request.member_id), "MemberId can't be empty.")
    _need(not _is_blank(request.group_id), "GroupId can't be empty.")
    _need(not _is_blank(request.instance_id), "InstanceId can't be empty.")
    _need(not _is_blank(request.rack_id), "RackId can't be empty.")
    if request.member_epoch == 0:
        _need(request.rebalance_timeout_ms != -1, "RebalanceTimeoutMs must be provided in first request.")
        _need(request.owned is not None and not request.owned, "TopicPartitions must be empty when (re-)joining.")
        subscribed = request.topic_names is not None or request.topic_regex is not None  # perhaps to nothing, for now
        _need(subscribed, "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.")
    elif request.member_epoch == STATIC_LEAVE_EPOCH:
        _need(request.instance_id is not None, "InstanceId can't be null.")
    _need(request.member_epoch >= STATIC_LEAVE_EPOCH, "MemberEpoch is invalid.")
    if request.server_assignor is not None and request.server_assignor not in assignors:
        supported = ", ".join(assignors)
        raise KafkaError(
            _E.UNSUPPORTED_ASSIGNOR, f"ServerAssignor {request.server_assignor} is not supported. Supported assignors: {supported}."
        )


def _is_blank(text: str | None) -> bool:
    """Nothing but spaces, as Java's trim() has it."""
    return text is not None and all(char <= " " for char in text)


def _need(condition: bool, message: str) -> None:
    if not condition:
        raise KafkaError(_E.INVALID_REQUEST, message)


def heartbeat(draft: Draft, request: ConsumerHeartbeat, topics: Topics, limits: GroupLimits, now_ms: int) -> HeartbeatAnswer:
    """Everything but leaving; what has to be written collects in the draft. Raises KafkaError 25, 81, 82, 110, 111, 128."""
    check_room(draft.group, request.member_id, limits)
    member = _member(draft, request)
    if request.topic_regex and request.topic_regex != member.topic_regex:
        compile_regex(request.topic_regex)
    wanted = replace(
        member,
        instance_id=request.instance_id if request.instance_id is not None else member.instance_id,
        rack_id=request.rack_id if request.rack_id is not None else member.rack_id,
        client_id=request.client_id,
        client_host=request.client_host,
        rebalance_timeout_ms=request.rebalance_timeout_ms if request.rebalance_timeout_ms != -1 else member.rebalance_timeout_ms,
        topic_names=tuple(sorted(set(request.topic_names))) if request.topic_names is not None else member.topic_names,
        topic_regex=request.topic_regex if request.topic_regex is not None else member.topic_regex,
        server_assignor=request.server_assignor if request.server_assignor is not None else member.server_assignor,
        classic=None,
    )
    after = subscribe(draft, member, wanted, request.owned, topics, limits, now_ms)
    changed = after.assigned != member.assigned
    assignment = after.assigned if request.member_epoch == 0 or request.is_full or changed else None
    return HeartbeatAnswer(after.member_id, after.epoch, limits.heartbeat_interval_ms, assignment)


def check_room(group: ConsumerGroup, member_id: str, limits: GroupLimits) -> None:
    if member_id not in group.members and len(group.members) >= limits.max_size:
        raise KafkaError(_E.GROUP_MAX_SIZE_REACHED, f"The consumer group has reached its maximum capacity of {limits.max_size} members.")


def subscribe(
    draft: Draft,
    before: ConsumerMember,
    wanted: ConsumerMember,
    owned: Assignment | None,
    topics: Topics,
    limits: GroupLimits,
    now_ms: int,
) -> ConsumerMember:
    """Take over what a member wants, see to epoch and target, and bring it one step nearer to its target."""
    is_new = before.member_id not in draft.group.members
    if is_new or wanted.wants() != before.wants():
        draft.put_member(wanted)
    update_epoch(draft, topics, changed=_asks_for_more(draft.group, before, wanted))
    update_target(draft, topics, limits, now_ms)
    after = reconcile(draft.group, draft.group.members[wanted.member_id], owned, subscription(draft.group, wanted, topics))
    draft.put_member(after)
    return after


def _asks_for_more(group: ConsumerGroup, before: ConsumerMember, wanted: ConsumerMember) -> bool:
    """Does the change ask for a new target? A regular expression that nobody used so far does when it is resolved."""
    if wanted.topic_names != before.topic_names:
        return True
    if (wanted.topic_regex or "") == (before.topic_regex or ""):
        return False
    return bool(before.topic_regex) or wanted.topic_regex in group.regexes


def subscription(group: ConsumerGroup, member: ConsumerMember, topics: Topics) -> Callable[[uuid.UUID], bool]:
    """Is the member subscribed to this topic, now?"""
    names = group.subscribed_names(member)

    def subscribed(topic_id: uuid.UUID) -> bool:
        topic = topics.by_id(topic_id)
        return topic is not None and topic.name in names

    return subscribed


def _member(draft: Draft, request: ConsumerHeartbeat) -> ConsumerMember:
    """Who asks, as it was. A static member that returns has taken the place of its former self."""
    group, joins = draft.group, request.member_epoch == 0
    if request.instance_id is not None:
        existing = group.static_member(request.instance_id)
        if not joins:
            existing = known_static(group, request.instance_id, request.member_id)
            check_epoch(existing, request.member_epoch, request.owned)
            return existing
        if existing is not None and existing.member_id != request.member_id:
            return _replace_static(draft, existing, request)
        return existing if existing is not None else ConsumerMember(request.member_id)
    member = group.members.get(request.member_id)
    if joins:
        return member if member is not None else ConsumerMember(request.member_id)
    member = known(group, request.member_id)
    check_epoch(member, request.member_epoch, request.owned)
    return member


def known(group: ConsumerGroup, member_id: str) -> ConsumerMember:
    """Raises KafkaError 25."""
    member = group.members.get(member_id)
    if member is None:
        raise KafkaError(_E.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {group.group_id}.")
    return member


def known_static(group: ConsumerGroup, instance_id: str, member_id: str) -> ConsumerMember:
    """Raises KafkaError 25, 82."""
    existing = group.static_member(instance_id)
    if existing is None:
        raise KafkaError(_E.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    if existing.member_id != member_id:
        raise KafkaError(
            _E.FENCED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} was fenced by member {existing.member_id}.",
        )
    return existing


def check_epoch(member: ConsumerMember, epoch: int, owned: Assignment | None) -> None:
    """The member's epoch, or the one before when its last answer may have been lost. Raises KafkaError 110."""
    if epoch > member.epoch:
        raise KafkaError(
            _E.FENCED_MEMBER_EPOCH,
            f"The consumer group member has a greater member epoch ({epoch}) than the one known by the group coordinator "
            f"({member.epoch}). The member must abandon all its partitions and rejoin.",
        )
    if epoch == member.epoch:
        return
    within = owned is not None and all(partitions <= member.assigned.get(topic_id, frozenset()) for topic_id, partitions in owned.items())
    if epoch != member.previous_epoch or not within:
        raise KafkaError(
            _E.FENCED_MEMBER_EPOCH,
            f"The consumer group member has a smaller member epoch ({epoch}) than the one known by the group coordinator "
            f"({member.epoch}). The member must abandon all its partitions and rejoin.",
        )


def _replace_static(draft: Draft, existing: ConsumerMember, request: ConsumerHeartbeat) -> ConsumerMember:
    if existing.epoch != STATIC_LEAVE_EPOCH and existing.classic is None:
        raise KafkaError(
            _E.UNRELEASED_INSTANCE_ID,
            f"Static member {request.member_id} with instance id {request.instance_id} cannot join the group because the instance id is "
            f"owned by {existing.member_id} member.",
        )
    return take_place(draft, existing, request.member_id)


def take_place(draft: Draft, existing: ConsumerMember, member_id: str) -> ConsumerMember:
    """`member_id` inherits the subscription, the target and the partitions of `existing`."""
    target = draft.group.target_of(existing.member_id)
    had_target = existing.member_id in draft.group.targets
    heir = replace(existing, member_id=member_id, epoch=0 if existing.epoch < 0 else existing.epoch, previous_epoch=0)
    draft.remove_member(existing.member_id)
    draft.put_member(heir)
    if had_target:
        draft.put_target(member_id, target)
    return heir


def leave(draft: Draft, request: ConsumerHeartbeat, topics: Topics) -> HeartbeatAnswer:
    """Epoch -1: for good. Epoch -2: a static member that will return keeps what it has until its session ends."""
    if request.instance_id is not None:
        member = known_static(draft.group, request.instance_id, request.member_id)
    else:
        member = known(draft.group, request.member_id)
    if request.member_epoch == STATIC_LEAVE_EPOCH:
        draft.put_member(replace(member, epoch=STATIC_LEAVE_EPOCH, previous_epoch=member.epoch, revoking={}))
    else:
        remove(draft, [member.member_id], topics)
    return HeartbeatAnswer(request.member_id, request.member_epoch)


def remove(draft: Draft, member_ids: Collection[str], topics: Topics) -> None:
    """Members go; the others are assigned anew at a later heartbeat."""
    for member_id in member_ids:
        draft.remove_member(member_id)
    update_epoch(draft, topics, changed=True)


__all__ = ["LEAVE_EPOCH", "ConsumerHeartbeat", "HeartbeatAnswer", "check", "heartbeat", "leave", "remove"]
