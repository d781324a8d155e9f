"""Members of the classic protocol within a consumer group, and the conversion of a whole group, one way and the other (KIP-848).

Such a member sends JoinGroup, SyncGroup and Heartbeat as ever. The broker, not a leader, assigns; the generation it is told is its member
epoch, and REBALANCE_IN_PROGRESS makes it join again whenever there is something new for it.
"""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

from oncelog.coordinator.groups.classic.join import JoinGroup
from oncelog.coordinator.groups.classic.requests import Heartbeat, SyncGroup
from oncelog.coordinator.groups.classic.state import (
    ClassicGroup,
    ClassicGroupState,
    ClassicMember,
    JoinGroupResult,
    MemberProtocol,
    SyncGroupResult,
)
from oncelog.coordinator.groups.consumer.assignors import Assignment
from oncelog.coordinator.groups.consumer.draft import FIRST_EPOCH, Draft, GroupLimits, metadata_hash
from oncelog.coordinator.groups.consumer.heartbeat import check_room, known, known_static, subscribe, take_place
from oncelog.coordinator.groups.consumer.state import ConsumerGroup, ConsumerMember, MemberState
from oncelog.protocol import messages
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.internal.consumer_groups import ClassicMemberMetadata
from oncelog.protocol.topics import Topics

CONSUMER = "consumer"
_E = ErrorCode


def join(draft: Draft, request: JoinGroup, new_member_id: str, topics: Topics, limits: GroupLimits, now_ms: int) -> JoinGroupResult:
    """Answered at once: nobody is waited for. Raises KafkaError 23, 25, 81, 82."""
    check_room(draft.group, request.member_id, limits)
    _check_protocols(draft.group, request)
    if not request.member_id and request.group_instance_id is None and request.requires_known_member_id:
        return JoinGroupResult(_E.MEMBER_ID_REQUIRED, new_member_id)
    subscription = _subscription(request.protocols[0].metadata)
    member = _joining(draft, request, request.member_id or new_member_id)
    wanted = replace(
        member,
        instance_id=request.group_instance_id or member.instance_id,
        rack_id=getattr(subscription, "rack_id", None) or member.rack_id,
        client_id=request.client_id,
        client_host=request.client_host,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        topic_names=tuple(sorted(set(subscription.topics))),
        topic_regex=None,
        classic=ClassicMemberMetadata(request.session_timeout_ms, [(each.name, each.metadata) for each in request.protocols]),
    )
    owned = _by_id(getattr(subscription, "owned_partitions", None) or (), topics)
    after = subscribe(draft, member, wanted, owned, topics, limits, now_ms)
    return JoinGroupResult(_E.NONE, after.member_id, after.epoch, CONSUMER, request.protocols[0].name)


def _check_protocols(group: ConsumerGroup, request: JoinGroup) -> None:
    names = {each.name for each in request.protocols}
    for member in group.classic_members():
        assert member.classic is not None
        if member.member_id != request.member_id:
            names &= {name for name, _metadata in member.classic.supported_protocols}
    if request.protocol_type != CONSUMER or not names:
        raise KafkaError(_E.INCONSISTENT_GROUP_PROTOCOL, "The member's protocols do not match those of the group.")


def _joining(draft: Draft, request: JoinGroup, member_id: str) -> ConsumerMember:
    group = draft.group
    if request.group_instance_id is None:
        return group.members.get(member_id, ConsumerMember(member_id))
    existing = group.static_member(request.group_instance_id)
    if request.member_id:
        return known_static(group, request.group_instance_id, request.member_id)
    return ConsumerMember(member_id) if existing is None else take_place(draft, existing, member_id)


def sync(group: ConsumerGroup, request: SyncGroup, topics: Topics) -> SyncGroupResult:
    """What the member has, in its own format. Raises KafkaError 22, 23, 25, 82."""
    member = classic_member(group, request.member_id, request.group_instance_id, request.generation_id)
    assert member.classic is not None
    name, metadata = member.classic.supported_protocols[0]
    if request.protocol_type not in (None, CONSUMER) or request.protocol_name not in (None, name):
        raise KafkaError(_E.INCONSISTENT_GROUP_PROTOCOL)
    version = min(max(int.from_bytes(metadata[:2], "big", signed=True), 0), 3)
    return SyncGroupResult(_E.NONE, _encoded(member.assigned, version, topics), CONSUMER, name)


def heartbeat(group: ConsumerGroup, request: Heartbeat) -> ErrorCode:
    """REBALANCE_IN_PROGRESS when joining again brings the member further. Raises KafkaError 22, 25, 82."""
    member = classic_member(group, request.member_id, request.group_instance_id, request.generation_id)
    if member.epoch < group.epoch or member.state is MemberState.UNREVOKED_PARTITIONS:
        return _E.REBALANCE_IN_PROGRESS
    if member.state is MemberState.UNRELEASED_PARTITIONS and not _waits(group, member):
        return _E.REBALANCE_IN_PROGRESS
    return _E.NONE


def _waits(group: ConsumerGroup, member: ConsumerMember) -> bool:
    """Somebody else still holds a partition of its target."""
    target = group.target_of(member.member_id)
    return any(holder != member.member_id and place.partition in target.get(place.topic_id, ()) for place, holder in group.owners.items())


def classic_member(group: ConsumerGroup, member_id: str, instance_id: str | None, generation_id: int) -> ConsumerMember:
    """The member of the classic protocol that asks. Raises KafkaError 22, 25, 82."""
    member = known(group, member_id) if instance_id is None else known_static(group, instance_id, member_id)
    if member.classic is None:
        raise KafkaError(_E.UNKNOWN_MEMBER_ID)
    if member.epoch != generation_id:
        raise KafkaError(_E.ILLEGAL_GENERATION)
    return member


# -- conversion


def upgrade(classic: ClassicGroup, topics: Topics, limits: GroupLimits, *, allowed: bool) -> Draft:
    """A draft of the consumer group that a classic group with members becomes: same members, same partitions, its generation as epoch.
    Raises KafkaError 69."""
    if not allowed:
        raise _cannot(classic, "the online upgrade is disabled")
    if classic.protocol_type != CONSUMER:
        raise _cannot(classic, "the group does not use the consumer embedded protocol")
    if len(classic.members) >= limits.max_size:
        raise _cannot(classic, "the group has too many members")
    draft, epoch = Draft(ConsumerGroup(classic.group_id)), max(classic.generation_id, FIRST_EPOCH)
    for member in classic.members.values():
        try:
            converted = _converted(member, epoch, topics)
        except KafkaError as error:
            raise _cannot(classic, "the embedded consumer protocol is malformed") from error
        draft.put_member(converted)
        draft.put_target(converted.member_id, converted.assigned)
    draft.put_epoch(epoch, metadata_hash(draft.group, topics))
    draft.put_assignment_epoch(epoch, 0)
    return draft


def _cannot(classic: ClassicGroup, reason: str) -> KafkaError:
    return KafkaError(_E.GROUP_ID_NOT_FOUND, f"Cannot upgrade classic group {classic.group_id} to consumer group because {reason}.")


def _converted(member: ClassicMember, epoch: int, topics: Topics) -> ConsumerMember:
    subscription = _subscription(member.protocols[0].metadata)
    assigned: Assignment = {}
    if member.assignment:
        try:
            given: Any = messages.decode_data("ConsumerProtocolAssignment", member.assignment)
        except messages.MalformedRequest as error:
            raise KafkaError(_E.INCONSISTENT_GROUP_PROTOCOL) from error
        assigned = _by_id(given.assigned_partitions, topics)
    return ConsumerMember(
        member.member_id,
        member.group_instance_id,
        getattr(subscription, "rack_id", None) or None,
        member.client_id,
        member.client_host,
        tuple(sorted(set(subscription.topics))),
        None,
        member.rebalance_timeout_ms,
        None,
        ClassicMemberMetadata(member.session_timeout_ms, [(each.name, each.metadata) for each in member.protocols]),
        epoch,
        epoch,
        MemberState.STABLE,
        assigned,
    )


def can_downgrade(group: ConsumerGroup) -> bool:
    """Nobody of the new protocol is left, but somebody of the old."""
    return bool(group.members) and all(member.classic is not None for member in group.members.values())


def downgrade(group: ConsumerGroup, topics: Topics, now_ms: int) -> ClassicGroup:
    """The classic group that a consumer group becomes when only classic members are left."""
    classic = ClassicGroup(group.group_id, state=ClassicGroupState.STABLE, state_timestamp_ms=now_ms, generation_id=group.epoch)
    for member in group.members.values():
        assert member.classic is not None
        protocols = tuple(MemberProtocol(name, metadata) for name, metadata in member.classic.supported_protocols)
        version = min(max(int.from_bytes(protocols[0].metadata[:2], "big", signed=True), 0), 3)
        classic.add(
            ClassicMember(
                member.member_id,
                member.instance_id,
                member.client_id,
                member.client_host,
                member.rebalance_timeout_ms,
                member.classic.session_timeout_ms,
                CONSUMER,
                protocols,
                assignment=_encoded(member.assigned, version, topics),
            )
        )
    classic.protocol_name = classic.select_protocol()
    return classic


def _subscription(metadata: bytes) -> Any:
    try:
        return messages.decode_data("ConsumerProtocolSubscription", metadata)
    except messages.MalformedRequest as error:
        raise KafkaError(_E.INCONSISTENT_GROUP_PROTOCOL, "The member's subscription cannot be read.") from error


def _by_id(partitions: Any, topics: Topics) -> dict[uuid.UUID, frozenset[int]]:
    found: dict[uuid.UUID, frozenset[int]] = {}
    for each in partitions:
        topic = topics.get(each.topic)
        if topic is not None and each.partitions:
            found[topic.topic_id] = found.get(topic.topic_id, frozenset()) | frozenset(each.partitions)
    return found


def _encoded(assigned: Assignment, version: int, topics: Topics) -> bytes:
    kind: Any = messages.ConsumerProtocolAssignment
    places = [
        kind.TopicPartition(topic=topic.name, partitions=sorted(partitions))
        for topic_id, partitions in assigned.items()
        if (topic := topics.by_id(topic_id)) is not None
    ]
    return messages.encode_data("ConsumerProtocolAssignment", version, kind(assigned_partitions=places, user_data=None))
