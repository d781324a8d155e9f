"""The records of Kafka's internal topics: `__transaction_state`, `__consumer_offsets`, `__share_group_state` (`internal/share_state`).

A key begins with an int16 that names the record type, a value with an int16 version. A null value deletes. Encoders write the version that
Apache Kafka 4.3.0 writes unless told otherwise; decoders read all that Kafka reads. Lists are kept in the order found.
Kafka's definitions: `TransactionLogValue`, `OffsetCommitValue`, `GroupMetadataValue`; for KIP-848 see `internal/consumer_groups`, for
KIP-932 `internal/share_groups` and `internal/share_state`, for KIP-1071 `internal/streams_groups`.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from struct import Struct
from typing import Final, NamedTuple, TypeAlias

from oncelog.protocol.internal.consumer_groups import (
    CONSUMER_GROUP_KEYS,
    CONSUMER_GROUP_VALUES,
    ConsumerGroupKey,
    ConsumerGroupValue,
)
from oncelog.protocol.internal.fields import CorruptRecord, FieldReader, FieldWriter, known_version
from oncelog.protocol.internal.share_groups import SHARE_GROUP_KEYS, SHARE_GROUP_VALUES, ShareGroupKey, ShareGroupValue
from oncelog.protocol.internal.share_state import SHARE_STATE_KEYS, SHARE_STATE_VALUES, ShareStateKey, ShareStateValue
from oncelog.protocol.internal.streams_groups import STREAMS_GROUP_KEYS, STREAMS_GROUP_VALUES, StreamsGroupKey, StreamsGroupValue
from oncelog.protocol.internal.transaction_log import TransactionLogKey, TransactionLogValue
from oncelog.protocol.names import SHARE_GROUP_STATE, TRANSACTION_STATE
from oncelog.protocol.primitives import Buffer

__all__ = [
    "CorruptRecord",
    "GroupMetadataKey",
    "GroupMetadataValue",
    "InternalKey",
    "InternalValue",
    "MemberMetadata",
    "OffsetCommitKey",
    "OffsetCommitValue",
    "TransactionLogKey",
    "TransactionLogValue",
    "UnknownKey",
    "decode_key",
    "decode_value",
]

FIRST_FLEXIBLE_GROUP_VALUE: Final = 4  # of OffsetCommitValue and GroupMetadataValue alike


class OffsetCommitKey(NamedTuple):
    """Key type 1 (0 is read as well)."""

    group: str
    topic: str
    partition: int

    def encode(self) -> bytes:
        out = FieldWriter()
        out.int16(1)
        out.string(self.group)
        out.string(self.topic)
        out.int32(self.partition)
        return out.result()


class GroupMetadataKey(NamedTuple):
    """Key type 2: a classic group."""

    group: str

    def encode(self) -> bytes:
        out = FieldWriter()
        out.int16(2)
        out.string(self.group)
        return out.result()


class UnknownKey(NamedTuple):
    """A record type that is not ours: kept, never interpreted."""

    version: int
    data: bytes


@dataclass(slots=True)
class OffsetCommitValue:
    """A committed offset. `expire_timestamp` exists in version 1 only: an explicit retention was asked for."""

    offset: int
    leader_epoch: int = -1
    metadata: str = ""
    commit_timestamp: int = -1
    expire_timestamp: int = -1
    topic_id: uuid.UUID | None = None

    def encode(self, version: int = 4) -> bytes:
        """Version 4 is what Kafka 4.1+ writes, 3 what it wrote before, 1 what carries an expire timestamp."""
        out = FieldWriter(flexible=version >= FIRST_FLEXIBLE_GROUP_VALUE)
        out.int16(version)
        out.int64(self.offset)
        if version >= 3:
            out.int32(self.leader_epoch)
        out.string(self.metadata)
        out.int64(self.commit_timestamp)
        if version == 1:
            out.int64(self.expire_timestamp)
        out.tags({} if self.topic_id is None or self.topic_id.int == 0 else {0: self.topic_id.bytes})
        return out.result()

    @classmethod
    def decode(cls, data: Buffer) -> OffsetCommitValue:
        version = FieldReader(data).int16()
        known_version(cls.__name__, version, 4)
        fields = FieldReader(data, 2, flexible=version >= FIRST_FLEXIBLE_GROUP_VALUE)
        value = cls(
            offset=fields.int64(),
            leader_epoch=fields.int32() if version >= 3 else -1,
            metadata=fields.string(),
            commit_timestamp=fields.int64(),
            expire_timestamp=fields.int64() if version == 1 else -1,
        )
        tags = fields.tags()
        if 0 in tags:
            value.topic_id = tags[0].uuid()
        return value


_SIZE: Final = Struct(">h")
_COUNT: Final = Struct(">i")
_TIMEOUTS: Final = Struct(">iii")  # of rebalances, of sessions; and how many bytes the subscription has


@dataclass(slots=True)
class MemberMetadata:
    """A member of a classic group. Timeouts are in ms, as everywhere in these records."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout: int
    session_timeout: int
    subscription: bytes
    assignment: bytes


@dataclass(slots=True)
class GroupMetadataValue:
    """A classic group. `protocol` and `leader` are None while it has no members."""

    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    current_state_timestamp: int
    members: list[MemberMetadata] = field(default_factory=list)

    def encode(self, version: int = 3) -> bytes:
        out = FieldWriter(flexible=version >= FIRST_FLEXIBLE_GROUP_VALUE)
        if version == 3:
            return self._encode_version_3(out)
        out.int16(version)
        out.string(self.protocol_type)
        out.int32(self.generation)
        out.string(self.protocol)
        out.string(self.leader)
        if version >= 2:
            out.int64(self.current_state_timestamp)

        def write_member(member: MemberMetadata) -> None:
            out.string(member.member_id)
            if version >= 3:
                out.string(member.group_instance_id)
            out.string(member.client_id)
            out.string(member.client_host)
            if version >= 1:
                out.int32(member.rebalance_timeout)
            out.int32(member.session_timeout)
            out.blob(member.subscription)
            out.blob(member.assignment)
            out.tags()

        out.array(self.members, write_member)
        out.tags()
        return out.result()

    def _encode_version_3(self, out: FieldWriter) -> bytes:
        """The version that is written: of a group of thousands in a third of the time that fields one by one take."""
        out.int16(3)
        out.string(self.protocol_type)
        out.int32(self.generation)
        out.string(self.protocol)
        out.string(self.leader)
        out.int64(self.current_state_timestamp)
        out.int32(len(self.members))
        pieces = [out.result()]
        for member in self.members:
            id, client, host = member.member_id.encode(), member.client_id.encode(), member.client_host.encode()
            instance = (member.group_instance_id or "").encode()
            size = -1 if member.group_instance_id is None else len(instance)
            subscription, assignment = member.subscription, member.assignment
            pieces += (
                _SIZE.pack(len(id)), id, _SIZE.pack(size), instance, _SIZE.pack(len(client)), client, _SIZE.pack(len(host)), host,
                _TIMEOUTS.pack(member.rebalance_timeout, member.session_timeout, len(subscription)), subscription,
                _COUNT.pack(len(assignment)), assignment,
            )  # fmt: skip
        return b"".join(pieces)

    @classmethod
    def decode(cls, data: Buffer) -> GroupMetadataValue:
        version = FieldReader(data).int16()
        known_version(cls.__name__, version, 4)
        fields = FieldReader(data, 2, flexible=version >= FIRST_FLEXIBLE_GROUP_VALUE)

        def read_member() -> MemberMetadata:
            member_id = fields.string()
            instance = fields.nullable_string() if version >= 3 else None
            client_id, host = fields.string(), fields.string()
            rebalance = fields.int32() if version >= 1 else -1
            session = fields.int32()
            member = MemberMetadata(
                member_id,
                instance,
                client_id,
                host,
                rebalance if version >= 1 else session,  # before v1 the session timeout served both
                session,
                fields.blob(),
                fields.blob(),
            )
            fields.tags()
            return member

        return cls(
            protocol_type=fields.string(),
            generation=fields.int32(),
            protocol=fields.nullable_string(),
            leader=fields.nullable_string(),
            current_state_timestamp=fields.int64() if version >= 2 else -1,
            members=fields.array(read_member),
        )


_GroupKey: TypeAlias = GroupMetadataKey | ConsumerGroupKey | ShareGroupKey | StreamsGroupKey
_GroupValue: TypeAlias = GroupMetadataValue | ConsumerGroupValue | ShareGroupValue | StreamsGroupValue
InternalKey: TypeAlias = TransactionLogKey | OffsetCommitKey | _GroupKey | ShareStateKey | UnknownKey
InternalValue: TypeAlias = TransactionLogValue | OffsetCommitValue | _GroupValue | ShareStateValue | bytes


def decode_key(topic: str, data: Buffer) -> InternalKey:
    """The key of a record of `topic` (each topic has a type 0 of its own). Raises CorruptRecord."""
    fields = FieldReader(data)
    version = fields.int16()
    if topic == TRANSACTION_STATE:
        return TransactionLogKey(fields.string()) if version == 0 else UnknownKey(version, bytes(data))
    if topic == SHARE_GROUP_STATE:
        share = SHARE_STATE_KEYS.get(version)
        return UnknownKey(version, bytes(data)) if share is None else share(fields)
    if version in (0, 1):
        return OffsetCommitKey(fields.string(), fields.string(), fields.int32())
    if version == 2:
        return GroupMetadataKey(fields.string())
    read = CONSUMER_GROUP_KEYS.get(version) or SHARE_GROUP_KEYS.get(version) or STREAMS_GROUP_KEYS.get(version)
    return UnknownKey(version, bytes(data)) if read is None else read(fields)


def decode_value(key: InternalKey, data: Buffer | None) -> InternalValue | None:
    """The value that belongs to `key`, None for a deletion; of an unknown key the bytes. Raises CorruptRecord."""
    if data is None:
        return None
    read = _VALUES.get(type(key))
    return bytes(data) if read is None else read(data)


_VALUES: Final[dict[type, Callable[[Buffer], InternalValue]]] = {
    TransactionLogKey: TransactionLogValue.decode,
    OffsetCommitKey: OffsetCommitValue.decode,
    GroupMetadataKey: GroupMetadataValue.decode,
    **CONSUMER_GROUP_VALUES,
    **SHARE_GROUP_VALUES,
    **STREAMS_GROUP_VALUES,
    **SHARE_STATE_VALUES,
}
