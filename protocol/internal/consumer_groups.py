"""The records of KIP-848 consumer groups in `__consumer_offsets`: key types 3 to 8 and 16, all values flexible and of version 0.

A group: 3 its epoch, 6 the epoch of its target assignment, 16 what a regular expression matched. A member: 5 what it asked for,
7 what it shall have, 8 what it has. Type 4 (partitions of the subscribed topics) was replaced in Kafka 4.1 by the hash in type 3;
its key is read, its value stays bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from oncelog.protocol.internal.fields import FieldReader, FieldWriter, int64_bytes, record_fields, record_key, record_value
from oncelog.protocol.internal.group_fields import AssignedTopic, TargetAssignmentMetadata, read_topics, write_topics
from oncelog.protocol.primitives import Buffer


class ConsumerGroupMetadataKey(NamedTuple):
    """Key type 3."""

    group: str

    def encode(self) -> bytes:
        return record_key(3, self.group)


class ConsumerGroupPartitionMetadataKey(NamedTuple):
    """Key type 4, written by Kafka up to 4.0."""

    group: str

    def encode(self) -> bytes:
        return record_key(4, self.group)


class ConsumerGroupMemberMetadataKey(NamedTuple):
    """Key type 5."""

    group: str
    member_id: str

    def encode(self) -> bytes:
        return record_key(5, self.group, self.member_id)


class ConsumerGroupTargetAssignmentMetadataKey(NamedTuple):
    """Key type 6."""

    group: str

    def encode(self) -> bytes:
        return record_key(6, self.group)


class ConsumerGroupTargetAssignmentMemberKey(NamedTuple):
    """Key type 7."""

    group: str
    member_id: str

    def encode(self) -> bytes:
        return record_key(7, self.group, self.member_id)


class ConsumerGroupCurrentMemberAssignmentKey(NamedTuple):
    """Key type 8."""

    group: str
    member_id: str

    def encode(self) -> bytes:
        return record_key(8, self.group, self.member_id)


class ConsumerGroupRegularExpressionKey(NamedTuple):
    """Key type 16."""

    group: str
    regular_expression: str

    def encode(self) -> bytes:
        return record_key(16, self.group, self.regular_expression)


@dataclass(slots=True)
class ConsumerGroupMetadataValue:
    """The group epoch, and a hash of the subscribed topics: when it changes the group is assigned anew."""

    epoch: int
    metadata_hash: int = 0

    def encode(self) -> bytes:
        out = record_value()
        out.int32(self.epoch)
        out.tags({0: int64_bytes(self.metadata_hash)} if self.metadata_hash else {})
        return out.result()

    @classmethod
    def decode(cls, data: Buffer) -> ConsumerGroupMetadataValue:
        fields = record_fields(cls.__name__, data)
        value = cls(fields.int32())
        tags = fields.tags()
        if 0 in tags:
            value.metadata_hash = tags[0].int64()
        return value


class ClassicMemberMetadata(NamedTuple):
    """What a member of the classic protocol in a consumer group brought along. `supported_protocols`: (name, metadata)."""

    session_timeout_ms: int
    supported_protocols: list[tuple[str, bytes]]


@dataclass(slots=True)
class ConsumerGroupMemberMetadataValue:
    """What a member asked for."""

    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    subscribed_topic_names: list[str]
    subscribed_topic_regex: str | None
    rebalance_timeout_ms: int
    server_assignor: str | None
    classic_member_metadata: ClassicMemberMetadata | None = None

    def encode(self) -> bytes:
        out = record_value()
        out.string(self.instance_id)
        out.string(self.rack_id)
        out.string(self.client_id)
        out.string(self.client_host)
        out.array(self.subscribed_topic_names, out.string)
        out.string(self.subscribed_topic_regex)
        out.int32(self.rebalance_timeout_ms)
        out.string(self.server_assignor)
        # Kafka writes the null of a member of the new protocol as well: left out, it would read as an empty classic member.
        out.tags({0: _classic_member(self.classic_member_metadata)})
        return out.result()

    @classmethod
    def decode(cls, data: Buffer) -> ConsumerGroupMemberMetadataValue:
        fields = record_fields(cls.__name__, data)
        value = cls(
            instance_id=fields.nullable_string(),
            rack_id=fields.nullable_string(),
            client_id=fields.string(),
            client_host=fields.string(),
            subscribed_topic_names=fields.array(fields.string),
            subscribed_topic_regex=fields.nullable_string(),
            rebalance_timeout_ms=fields.int32(),
            server_assignor=fields.nullable_string(),
        )
        tags = fields.tags()
        if 0 in tags:
            value.classic_member_metadata = _read_classic_member(tags[0])
        return value


def _classic_member(member: ClassicMemberMetadata | None) -> bytes:
    if member is None:
        return b"\x00"
    out = FieldWriter(flexible=True)
    out.int8(1)  # a nullable struct: present

    def protocol(entry: tuple[str, bytes]) -> None:
        out.string(entry[0])
        out.blob(entry[1])
        out.tags()

    out.int32(member.session_timeout_ms)
    out.array(member.supported_protocols, protocol)
    out.tags()
    return out.result()


def _read_classic_member(fields: FieldReader) -> ClassicMemberMetadata | None:
    if fields.int8() <= 0:
        return None

    def protocol() -> tuple[str, bytes]:
        entry = fields.string(), fields.blob()
        fields.tags()
        return entry

    return ClassicMemberMetadata(fields.int32(), fields.array(protocol))


@dataclass(slots=True)
class ConsumerGroupTargetAssignmentMetadataValue(TargetAssignmentMetadata):
    """The group epoch the target assignment was made for, and when."""


@dataclass(slots=True)
class ConsumerGroupTargetAssignmentMemberValue:
    """What a member shall have."""

    topic_partitions: list[AssignedTopic] = field(default_factory=list)

    def encode(self) -> bytes:
        out = record_value()
        write_topics(out, self.topic_partitions)
        out.tags()
        return out.result()

    @classmethod
    def decode(cls, data: Buffer) -> ConsumerGroupTargetAssignmentMemberValue:
        return cls(read_topics(record_fields(cls.__name__, data)))


@dataclass(slots=True)
class ConsumerGroupCurrentMemberAssignmentValue:
    """What a member has, and must still give back. `state` is Kafka's `MemberState`."""

    member_epoch: int
    previous_member_epoch: int
    state: int
    assigned_partitions: list[AssignedTopic] = field(default_factory=list)
    partitions_pending_revocation: list[AssignedTopic] = field(default_factory=list)

    def encode(self) -> bytes:
        out = record_value()
        out.int32(self.member_epoch)
        out.int32(self.previous_member_epoch)
        out.int8(self.state)
        write_topics(out, self.assigned_partitions)
        write_topics(out, self.partitions_pending_revocation)
        out.tags()
        return out.result()

    @classmethod
    def decode(cls, data: Buffer) -> ConsumerGroupCurrentMemberAssignmentValue:
        fields = record_fields(cls.__name__, data)
        return cls(fields.int32(), fields.int32(), fields.int8(), read_topics(fields), read_topics(fields))


@dataclass(slots=True)
class ConsumerGroupRegularExpressionValue:
    """The topics a regular expression matched when the metadata had `version`."""

    topics: list[str]
    version: int
    timestamp: int

    def encode(self) -> bytes:
        out = record_value()
        out.array(self.topics, out.string)
        out.int64(self.version)
        out.int64(self.timestamp)
        out.tags()
        return out.result()

    @classmethod
    def decode(cls, data: Buffer) -> ConsumerGroupRegularExpressionValue:
        fields = record_fields(cls.__name__, data)
        return cls(fields.array(fields.string), fields.int64(), fields.int64())


ConsumerGroupKey: TypeAlias = (
    ConsumerGroupMetadataKey
    | ConsumerGroupPartitionMetadataKey
    | ConsumerGroupMemberMetadataKey
    | ConsumerGroupTargetAssignmentMetadataKey
    | ConsumerGroupTargetAssignmentMemberKey
    | ConsumerGroupCurrentMemberAssignmentKey
    | ConsumerGroupRegularExpressionKey
)
ConsumerGroupValue: TypeAlias = (
    ConsumerGroupMetadataValue
    | ConsumerGroupMemberMetadataValue
    | ConsumerGroupTargetAssignmentMetadataValue
    | ConsumerGroupTargetAssignmentMemberValue
    | ConsumerGroupCurrentMemberAssignmentValue
    | ConsumerGroupRegularExpressionValue
)

CONSUMER_GROUP_KEYS: Final[dict[int, Callable[[FieldReader], ConsumerGroupKey]]] = {
    3: lambda fields: ConsumerGroupMetadataKey(fields.string()),
    4: lambda fields: ConsumerGroupPartitionMetadataKey(fields.string()),
    5: lambda fields: ConsumerGroupMemberMetadataKey(fields.string(), fields.string()),
    6: lambda fields: ConsumerGroupTargetAssignmentMetadataKey(fields.string()),
    7: lambda fields: ConsumerGroupTargetAssignmentMemberKey(fields.string(), fields.string()),
    8: lambda fields: ConsumerGroupCurrentMemberAssignmentKey(fields.string(), fields.string()),
    16: lambda fields: ConsumerGroupRegularExpressionKey(fields.string(), fields.string()),
}
CONSUMER_GROUP_VALUES: Final[dict[type, Callable[[Buffer], ConsumerGroupValue]]] = {
    ConsumerGroupMetadataKey: ConsumerGroupMetadataValue.decode,
    ConsumerGroupMemberMetadataKey: ConsumerGroupMemberMetadataValue.decode,
    ConsumerGroupTargetAssignmentMetadataKey: ConsumerGroupTargetAssignmentMetadataValue.decode,
    ConsumerGroupTargetAssignmentMemberKey: ConsumerGroupTargetAssignmentMemberValue.decode,
    ConsumerGroupCurrentMemberAssignmentKey: ConsumerGroupCurrentMemberAssignmentValue.decode,
    ConsumerGroupRegularExpressionKey: ConsumerGroupRegularExpressionValue.decode,
}
