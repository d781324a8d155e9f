"""The records of `__share_group_state`, where the share coordinator keeps how far share groups are (KIP-932): key types 0 and 1, values of
version 0.

A share partition is a group's view of one partition. Type 0 is all that is known of it, or, with a null value, its end; type 1 adds to it.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from struct import Struct
from typing import Final, NamedTuple, TypeAlias

from oncelog.protocol.internal.fields import CorruptRecord, FieldReader, FieldWriter
from oncelog.protocol.primitives import Buffer, unsigned_varint

NO_COUNT: Final = -1  # of `delivery_complete_count`: nobody has told it

_BATCH: Final = Struct(">qqbh")  # first, last, state, count
_TAGGED_BATCH: Final = Struct(">qqbhB")  # and how many tagged fields
_SNAPSHOT: Final = Struct(">hiiiqqq")  # version, the three epochs, start offset, when made, when written
_UPDATE: Final = Struct(">hiiq")  # version, snapshot epoch, leader epoch, start offset


class StateBatch(NamedTuple):
    """Records from `first_offset` to `last_offset`, both included, of one state and delivery count.

    `delivery_state`: 0 available, 2 acknowledged, 4 archived.
    """

    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int


class ShareSnapshotKey(NamedTuple):
    """Key type 0."""

    group_id: str
    topic_id: uuid.UUID
    partition: int

    def encode(self) -> bytes:
        return _encoded_key(0, self)


class ShareUpdateKey(NamedTuple):
    """Key type 1."""

    group_id: str
    topic_id: uuid.UUID
    partition: int

    def encode(self) -> bytes:
        return _encoded_key(1, self)


@dataclass(slots=True)
class ShareSnapshotValue:
    """All of a share partition. `start_offset` -1: not known yet. `create_timestamp` is kept by snapshots that nothing had changed for."""

    snapshot_epoch: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    create_timestamp: int
    write_timestamp: int
    state_batches: tuple[StateBatch, ...]
    delivery_complete_count: int = NO_COUNT

    def encode(self) -> bytes:
        head = _SNAPSHOT.pack(
            0, self.snapshot_epoch, self.state_epoch, self.leader_epoch, self.start_offset, self.create_timestamp, self.write_timestamp
        )
        return head + _encoded_batches(self.state_batches) + _encoded_count(self.delivery_complete_count)

    @classmethod
    def decode(cls, data: Buffer) -> ShareSnapshotValue:
        fields = FieldReader(data, flexible=True)
        version, snapshot_epoch, state_epoch, leader_epoch, start_offset, made_ms, written_ms = fields.fixed(_SNAPSHOT)
        _known(cls.__name__, version)
        batches, count = _batches_and_count(fields)
        return cls(snapshot_epoch, state_epoch, leader_epoch, start_offset, made_ms, written_ms, batches, count)


@dataclass(slots=True)
class ShareUpdateValue:
    """What changed since the snapshot of that epoch. `start_offset` -1: unchanged."""

    snapshot_epoch: int
    leader_epoch: int
    start_offset: int
    state_batches: tuple[StateBatch, ...]
    delivery_complete_count: int = NO_COUNT

    def encode(self) -> bytes:
        head = _UPDATE.pack(0, self.snapshot_epoch, self.leader_epoch, self.start_offset)
        return head + _encoded_batches(self.state_batches) + _encoded_count(self.delivery_complete_count)

    @classmethod
    def decode(cls, data: Buffer) -> ShareUpdateValue:
        fields = FieldReader(data, flexible=True)
        version, snapshot_epoch, leader_epoch, start_offset = fields.fixed(_UPDATE)
        _known(cls.__name__, version)
        batches, count = _batches_and_count(fields)
        return cls(snapshot_epoch, leader_epoch, start_offset, batches, count)


ShareStateKey: TypeAlias = ShareSnapshotKey | ShareUpdateKey
ShareStateValue: TypeAlias = ShareSnapshotValue | ShareUpdateValue


@lru_cache(maxsize=4096)
def _encoded_key(version: int, key: ShareStateKey) -> bytes:
    out = FieldWriter()
    out.int16(version)
    out.string(key.group_id)
    out.uuid(key.topic_id)
    out.int32(key.partition)
    return out.result()


def _encoded_batches(batches: tuple[StateBatch, ...]) -> bytes:
    pack = _TAGGED_BATCH.pack
    return unsigned_varint(len(batches) + 1) + b"".join([pack(*batch, 0) for batch in batches])


def _encoded_count(count: int) -> bytes:
    return b"\x00" if count == NO_COUNT else b"\x01\x00\x04" + count.to_bytes(4, "big", signed=True)


def _batches_and_count(fields: FieldReader) -> tuple[tuple[StateBatch, ...], int]:
    def batch() -> StateBatch:
        read = StateBatch(*fields.fixed(_BATCH))
        fields.raw_tags()
        return read

    return tuple(fields.array(batch)), fields.int_tags().get(0, NO_COUNT)


def _known(name: str, version: int) -> None:
    if version != 0:
        raise CorruptRecord(f"{name} of version {version}; version 0 is known")


SHARE_STATE_KEYS: Final[dict[int, Callable[[FieldReader], ShareStateKey]]] = {
    0: lambda fields: ShareSnapshotKey(fields.string(), fields.uuid(), fields.int32()),
    1: lambda fields: ShareUpdateKey(fields.string(), fields.uuid(), fields.int32()),
}
SHARE_STATE_VALUES: Final[dict[type, Callable[[Buffer], ShareStateValue]]] = {
    ShareSnapshotKey: ShareSnapshotValue.decode,
    ShareUpdateKey: ShareUpdateValue.decode,
}
