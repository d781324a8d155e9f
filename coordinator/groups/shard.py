"""The groups and offsets of one partition of `__consumer_offsets`, as its records add up to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, get_args

from oncelog.coordinator.groups.classic.rebalance import become_stable
from oncelog.coordinator.groups.classic.state import ClassicGroup, ClassicGroupState, ClassicMember, MemberProtocol
from oncelog.coordinator.groups.group_type import GroupType, HeartbeatGroup, is_not_a, not_found
from oncelog.coordinator.groups.offsets.state import Offsets
from oncelog.coordinator.result import CoordinatorRecord
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.internal.consumer_groups import ConsumerGroupKey, ConsumerGroupMetadataKey, ConsumerGroupPartitionMetadataKey
from oncelog.protocol.internal.records import (
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
    decode_key,
    decode_value,
)
from oncelog.protocol.internal.share_groups import ShareGroupKey, ShareGroupMetadataKey
from oncelog.protocol.internal.streams_groups import StreamsGroupKey, StreamsGroupMetadataKey
from oncelog.protocol.names import CONSUMER_OFFSETS

_S = ClassicGroupState
if TYPE_CHECKING:
    from oncelog.coordinator.groups.consumer.state import ConsumerGroup
    from oncelog.coordinator.groups.share.state import ShareGroup
    from oncelog.coordinator.groups.streams.state import StreamsGroup
    from oncelog.coordinator.runtime import CoordinatorRuntime

_CONSUMER_KEYS, _SHARE_KEYS, _STREAMS_KEYS = get_args(ConsumerGroupKey), get_args(ShareGroupKey), get_args(StreamsGroupKey)
_WHOLE_GROUPS = (
    ConsumerGroupMetadataKey,
    ShareGroupMetadataKey,
    StreamsGroupMetadataKey,
)  # a tombstone of one of them is the end of its group


class GroupShard:
    """Hard state is changed by `replay` and `replay_marker` only; who waits for what is the group's own business."""

    newest_record_wins = False  # an offset may be part of a transaction, whose marker comes later

    def __init__(self, partition: int) -> None:
        self.partition = partition
        self.groups: dict[str, ClassicGroup] = {}
        self.consumer_groups: dict[str, ConsumerGroup] = {}
        self.share_groups: dict[str, ShareGroup] = {}
        self.streams_groups: dict[str, StreamsGroup] = {}
        self._typed: tuple[Mapping[str, HeartbeatGroup], ...] = (self.consumer_groups, self.share_groups, self.streams_groups)
        self.offsets = Offsets()

    # -- which type a group is

    def heartbeat_group(self, group_id: str) -> HeartbeatGroup | None:
        """The group, unless it is classic or there is none."""
        for groups in self._typed:
            if group_id in groups:
                return groups[group_id]
        return None

    def heartbeat_groups(self) -> Iterator[HeartbeatGroup]:
        return chain.from_iterable(groups.values() for groups in self._typed)

    def type_of(self, group_id: str) -> GroupType | None:
        """None: there is no such group, nor offsets of one."""
        group = self.heartbeat_group(group_id)
        if group is not None:
            return group.type
        return GroupType.CLASSIC if group_id in self.groups or self.offsets.places_of(group_id) else None

    def refusal(self, group_id: str, wanted: GroupType, noun: str = "Group") -> KafkaError:
        """Why there is no group of type `wanted`. `noun`: what one that does not exist is called."""
        return not_found(group_id, noun) if self.type_of(group_id) is None else is_not_a(group_id, wanted)

    # -- replay

    def replay(
        self, key: bytes, value: bytes | None, *, offset: int, producer_id: int, producer_epoch: int, timestamp_ms: int, content: Any = None
    ) -> None:
        """`content`: of a record just made the key and value that it was encoded from."""
        if content is None:
            decoded = decode_key(CONSUMER_OFFSETS, key)
            content = decode_value(decoded, value)
        else:
            decoded, content = content
        if isinstance(decoded, OffsetCommitKey):
            assert content is None or isinstance(content, OffsetCommitValue)
            self.offsets.replay(decoded, content, position=offset, producer_id=producer_id)
            if content is not None:
                self._known_by_offsets(decoded.group)
        elif isinstance(decoded, GroupMetadataKey):
            assert content is None or isinstance(content, GroupMetadataValue)
            self._replay_group(decoded.group, content, timestamp_ms)
        elif isinstance(decoded, _CONSUMER_KEYS):
            if not isinstance(decoded, ConsumerGroupPartitionMetadataKey):  # replaced by the hash in the group's record
                self._replay_typed(self.consumer_groups, decoded, content, _new_consumer_group)
        elif isinstance(decoded, _SHARE_KEYS):
            self._replay_typed(self.share_groups, decoded, content, _new_share_group)
        elif isinstance(decoded, _STREAMS_KEYS):
            self._replay_typed(self.streams_groups, decoded, content, _new_streams_group)

    def replay_marker(self, producer_id: int, producer_epoch: int, commit: bool, offset: int) -> None:
        self.offsets.end_transaction(producer_id, commit)

    def _known_by_offsets(self, group_id: str) -> None:
        """Offsets make a group, empty and without a protocol, where there is none (Kafka's simple group)."""
        if group_id not in self.groups and self.heartbeat_group(group_id) is None:
            self.groups[group_id] = ClassicGroup(group_id)

    def _replay_typed(self, groups: dict[str, Any], key: Any, value: Any, make: Callable[[str], Any]) -> None:
        """Any record that says something makes the group: after compaction its members may come before its epoch."""
        if value is None and isinstance(key, _WHOLE_GROUPS):
            groups.pop(key.group, None)
            if self.offsets.places_of(key.group):
                self._known_by_offsets(key.group)
            return
        group = groups.get(key.group)
        if group is None:
            if value is None:
                return
            self.groups.pop(key.group, None)
            group = groups[key.group] = make(key.group)
        group.replay(key, value)

    def _replay_group(self, group_id: str, value: GroupMetadataValue | None, timestamp_ms: int) -> None:
        if value is None:
            self.groups.pop(group_id, None)
            return
        group = self.groups.get(group_id)
        if group is not None and _same_members(group, value):
            # live: the record says what the group has just become
            if group.state is _S.COMPLETING_REBALANCE and group.generation_id == value.generation:
                become_stable(group, {member.member_id: member.assignment for member in value.members}, timestamp_ms)
            return
        self.groups[group_id] = _restored(group_id, value)


def _new_consumer_group(group_id: str) -> ConsumerGroup:
    from oncelog.coordinator.groups.consumer.state import ConsumerGroup

    return ConsumerGroup(group_id)


def _new_share_group(group_id: str) -> ShareGroup:
    from oncelog.coordinator.groups.share.state import ShareGroup

    return ShareGroup(group_id)


def _new_streams_group(group_id: str) -> StreamsGroup:
    from oncelog.coordinator.groups.streams.state import StreamsGroup

    return StreamsGroup(group_id)


def _same_members(group: ClassicGroup, value: GroupMetadataValue) -> bool:
    return group.generation_id == value.generation and set(group.members) == {member.member_id for member in value.members}


def _restored(group_id: str, value: GroupMetadataValue) -> ClassicGroup:
    """The group as its record describes it; members get their sessions when loading is done."""
    group = ClassicGroup(
        group_id,
        state=_S.STABLE if value.members else _S.EMPTY,
        state_timestamp_ms=value.current_state_timestamp,
        generation_id=value.generation,
    )
    for stored in value.members:
        protocols = (MemberProtocol(value.protocol or "", stored.subscription),)
        member = ClassicMember(
            stored.member_id,
            stored.group_instance_id,
            stored.client_id,
            stored.client_host,
            stored.rebalance_timeout,
            stored.session_timeout,
            value.protocol_type,
            protocols,
            assignment=stored.assignment,
        )
        group.add(member)
    group.protocol_type = value.protocol_type or None
    group.protocol_name = value.protocol
    group.leader = value.leader
    return group


def group_record(group: ClassicGroup, assignments: dict[str, bytes] | None = None) -> CoordinatorRecord:
    """The record of a group; `assignments` replace those that its members have."""
    name = group.protocol_name or ""
    value = GroupMetadataValue(
        protocol_type=group.protocol_type or "",
        generation=group.generation_id,
        protocol=group.protocol_name if group.members else None,
        leader=group.leader if group.members else None,
        current_state_timestamp=group.state_timestamp_ms,
        members=[
            MemberMetadata(
                member.member_id,
                member.group_instance_id,
                member.client_id,
                member.client_host,
                member.rebalance_timeout_ms,
                member.session_timeout_ms,
                member.metadata(name),
                member.assignment if assignments is None else assignments.get(member.member_id, b""),
            )
            for member in group.members.values()
        ],
    )
    key = GroupMetadataKey(group.group_id)
    return CoordinatorRecord(key.encode(), value.encode(), (key, value))


def group_tombstone(group_id: str) -> CoordinatorRecord:
    """The record that removes a group."""
    return CoordinatorRecord(GroupMetadataKey(group_id).encode(), None)


def loaded_shard(runtime: CoordinatorRuntime[GroupShard], group_id: str) -> GroupShard:
    """The shard of a group. Raises KafkaError 14, 24."""
    if not group_id:
        raise KafkaError(ErrorCode.INVALID_GROUP_ID)
    if runtime.loading:
        raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    return runtime.shard_of(group_id)
