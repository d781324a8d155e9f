"""The records of share groups (KIP-932) in `__consumer_offsets`: key types 10 to 15, all values flexible and of version 0.

A group: 11 its epoch, 12 the epoch of its target assignment, 15 which share partitions have a state or are about to have one. A member:
10 what it asked for, 13 what it shall have, 14 what it has. The states themselves are in `__share_group_state`.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from oncelog.protocol.internal.fields import FieldReader, FieldWriter, record_fields, record_key, record_value
from oncelog.protocol.internal.group_fields import AssignedTopic, TargetAssignmentMetadata, read_topics, write_topics
from oncelog.protocol.primitives import Buffer


class ShareGroupMemberMetadataKey(NamedTuple):
    """Key type 10."""

    group: str
    member_id: str

    def encode(self) -> bytes:
        return record_key(10, self.group, self.member_id)


class ShareGroupMetadataKey(NamedTuple):
    """Key type 11."""

    group: str

    def encode(self) -> bytes:
        return record_key(11, self.group)


class ShareGroupTargetAssignmentMetadataKey(NamedTuple):
    """Key type 12."""

    group: str

    def encode(self) -> bytes:
        return record_key(12, self.group)


class ShareGroupTargetAssignmentMemberKey(NamedTuple):
    """Key type 13."""

    group: str
    member_id: str

    def encode(self) -> bytes:
        return record_key(13, self.group, self.member_id)


class ShareGroupCurrentMemberAssignmentKey(NamedTuple):
    """Key type 14."""

    group: str
    member_id: str

    def encode(self) -> bytes:
        return record_key(14, self.group, self.member_id)


class ShareGroupStatePartitionMetadataKey(NamedTuple):
    """Key type 15."""

    group: str

    def encode(self) -> bytes:
        return record_key(15, self.group)


@dataclass(slots=True)
class ShareGroupMemberMetadataValue:
    """What a member asked for."""

    rack_id: str | None
    client_id: str
    client_host: str
    subscribed_topic_names: list[str]

    def encode(self) -> bytes:
        out = record_value()
        out.string(self.rack_id)
        out.string(self.client_id)
        out.string(self.client_host)
        out.array(self.subscribed_topic_names, out.string)
        out.tags()
        return out.result()

    @classmethod
    def decode(cls, data: Buffer) -> ShareGroupMemberMetadataValue:
        fields = record_fields(cls.__name__, data)
        return cls(fields.nullable_string(), fields.string(), fields.string(), fields.array(fields.string))


@dataclass(slots=True)
class ShareGroupMetadataValue:
    """The group epoch, and a hash of the subscribed topics: when it changes the group is assigned anew."""

    epoch: int
    metadata_hash: int

    def encode(self) -> bytes:
        out = record_value()
        out.int32(self.epoch)
        out.int64(self.metadata_hash)
        out.tags()
        return out.result()

    @classmethod
    def decode(cls, data: Buffer) -> ShareGroupMetadataValue:
        fields = record_fields(cls.__name__, data)
        return cls(fields.int32(), fields.int64())


@dataclass(slots=True)
class ShareGroupTargetAssignmentMetadataValue(TargetAssignmentMetadata):
    """The group epoch the target assignment was made for, and when."""


@dataclass(slots=True)
class ShareGroupTargetAssignmentMemberValue:
    """What a member shall have."""

    topic_partitions: list[AssignedTopic] = field(default_factory=list)

    def encode(self) -> bytes:
        out = record_value()
        write_topics(out, self.topic_partitions)
        out.tags()
        return out.result()

    @classmethod
    def decode(cls, data: Buffer) -> ShareGroupTargetAssignmentMemberValue:
        return cls(read_topics(record_fields(cls.__name__, data)))


@dataclass(slots=True)
class ShareGroupCurrentMemberAssignmentValue:
    """What a member has. `state` is 0: a member of a share group is never on the way to something."""

    member_epoch: int
    previous_member_epoch: int
    state: int
    assigned_partitions: list[AssignedTopic] = field(default_factory=list)

    def encode(self) -> bytes:
        out = record_value()
        out.int32(self.member_epoch)
        out.int32(self.previous_member_epoch)
        out.int8(self.state)
        write_topics(out, self.assigned_partitions)
        out.tags()
        return out.result()

    @classmethod
    def decode(cls, data: Buffer) -> ShareGroupCurrentMemberAssignmentValue:
        fields = record_fields(cls.__name__, data)
        return cls(fields.int32(), fields.int32(), fields.int8(), read_topics(fields))


class NamedTopic(NamedTuple):
    """Share partitions of one topic; of one that is being deleted no partitions are kept."""

    topic_id: uuid.UUID
    name: str
    partitions: list[int]


@dataclass(slots=True)
class ShareGroupStatePartitionMetadataValue:
    """Share partitions whose state is asked for, those that have one, and topics whose states are being deleted."""

    initializing: list[NamedTopic] = field(default_factory=list)
    initialized: list[NamedTopic] = field(default_factory=list)
    deleting: list[NamedTopic] = field(default_factory=list)

    def encode(self) -> bytes:
        out = record_value()
        _write_named(out, self.initializing, with_partitions=True)
        _write_named(out, self.initialized, with_partitions=True)
        _write_named(out, self.deleting, with_partitions=False)
        out.tags()
        return out.result()

    @classmethod
    def decode(cls, data: Buffer) -> ShareGroupStatePartitionMetadataValue:
        fields = record_fields(cls.__name__, data)
        return cls(
            _read_named(fields, with_partitions=True), _read_named(fields, with_partitions=True), _read_named(fields, with_partitions=False)
        )


def _write_named(out: FieldWriter, topics: list[NamedTopic], *, with_partitions: bool) -> None:
    def topic(entry: NamedTopic) -> None:
        out.uuid(entry.topic_id)
        out.string(entry.name)
        if with_partitions:
            out.array(entry.partitions, out.int32)
        out.tags()

    out.array(topics, topic)


def _read_named(fields: FieldReader, *, with_partitions: bool) -> list[NamedTopic]:
    def topic() -> NamedTopic:
        entry = NamedTopic(fields.uuid(), fields.string(), fields.array(fields.int32) if with_partitions else [])
        fields.tags()
        return entry

    return fields.array(topic)


ShareGroupKey: TypeAlias = (
    ShareGroupMemberMetadataKey
    | ShareGroupMetadataKey
    | ShareGroupTargetAssignmentMetadataKey
    | ShareGroupTargetAssignmentMemberKey
    | ShareGroupCurrentMemberAssignmentKey
    | ShareGroupStatePartitionMetadataKey
)
ShareGroupValue: TypeAlias = (
    ShareGroupMemberMetadataValue
    | ShareGroupMetadataValue
    | ShareGroupTargetAssignmentMetadataValue
    | ShareGroupTargetAssignmentMemberValue
    | ShareGroupCurrentMemberAssignmentValue
    | ShareGroupStatePartitionMetadataValue
)

SHARE_GROUP_KEYS: Final[dict[int, Callable[[FieldReader], ShareGroupKey]]] = {
    10: lambda fields: ShareGroupMemberMetadataKey(fields.string(), fields.string()),
    11: lambda fields: ShareGroupMetadataKey(fields.string()),
    12: lambda fields: ShareGroupTargetAssignmentMetadataKey(fields.string()),
    13: lambda fields: ShareGroupTargetAssignmentMemberKey(fields.string(), fields.string()),
    14: lambda fields: ShareGroupCurrentMemberAssignmentKey(fields.string(), fields.string()),
    15: lambda fields: ShareGroupStatePartitionMetadataKey(fields.string()),
}
SHARE_GROUP_VALUES: Final[dict[type, Callable[[Buffer], ShareGroupValue]]] = {
    ShareGroupMemberMetadataKey: ShareGroupMemberMetadataValue.decode,
    ShareGroupMetadataKey: ShareGroupMetadataValue.decode,
    ShareGroupTargetAssignmentMetadataKey: ShareGroupTargetAssignmentMetadataValue.decode,
    ShareGroupTargetAssignmentMemberKey: ShareGroupTargetAssignmentMemberValue.decode,
    ShareGroupCurrentMemberAssignmentKey: ShareGroupCurrentMemberAssignmentValue.decode,
    ShareGroupStatePartitionMetadataKey: ShareGroupStatePartitionMetadataValue.decode,
}
