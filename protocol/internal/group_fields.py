"""What the records of consumer and share groups have in common: assigned partitions, and for when they are."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Self

from oncelog.protocol.internal.fields import FieldReader, FieldWriter, int64_bytes, record_fields, record_value
from oncelog.protocol.primitives import Buffer


@dataclass(slots=True)
class AssignedTopic:
    """Partitions of one topic. `assignment_epochs`: the epoch each was given at (KIP-1251, in the current assignment only)."""

    topic_id: uuid.UUID
    partitions: list[int]
    assignment_epochs: list[int] | None = None


def write_topics(out: FieldWriter, topics: list[AssignedTopic]) -> None:
    def topic(entry: AssignedTopic) -> None:
        out.uuid(entry.topic_id)
        out.array(entry.partitions, out.int32)
        out.tags({} if entry.assignment_epochs is None else {0: _epochs(entry.assignment_epochs)})

    out.array(topics, topic)


def _epochs(values: list[int]) -> bytes:
    out = FieldWriter(flexible=True)
    out.array(values, out.int32)
    return out.result()


def read_topics(fields: FieldReader) -> list[AssignedTopic]:
    def topic() -> AssignedTopic:
        entry = AssignedTopic(fields.uuid(), fields.array(fields.int32))
        tags = fields.tags()
        if 0 in tags:
            entry.assignment_epochs = tags[0].nullable_array(tags[0].int32)
        return entry

    return fields.array(topic)


@dataclass(slots=True)
class TargetAssignmentMetadata:
    """The group epoch the target assignment was made for, and when (Kafka 4.3, KIP-1263; 0 unknown)."""

    assignment_epoch: int
    assignment_timestamp: int = 0

    def encode(self) -> bytes:
        out = record_value()
        out.int32(self.assignment_epoch)
        out.tags({0: int64_bytes(self.assignment_timestamp)} if self.assignment_timestamp else {})
        return out.result()

    @classmethod
    def decode(cls, data: Buffer) -> Self:
        fields = record_fields(cls.__name__, data)
        value = cls(fields.int32())
        tags = fields.tags()
        if 0 in tags:
            value.assignment_timestamp = tags[0].int64()
        return value
