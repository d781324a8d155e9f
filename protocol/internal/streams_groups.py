"""The records of KIP-1071 streams groups in `__consumer_offsets`: key types 17 and 19 to 23, all values flexible and of version 0.

A group: 17 its epoch, 20 the epoch of its target assignment, 23 the topology of the application. A member: 19 who it is, 21 the tasks it
shall have, 22 those it has. A task is a partition of a subtopology. Type 18 was never released.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from oncelog.protocol.internal.fields import (
    FieldReader,
    FieldWriter,
    int32_bytes,
    int64_bytes,
    record_fields,
    record_key,
    record_value,
)
from oncelog.protocol.internal.streams_topology import KeyValue, StreamsGroupTopologyValue, read_pair, write_pairs
from oncelog.protocol.primitives import Buffer

_UNVALIDATED: Final = -1


class StreamsGroupMetadataKey(NamedTuple):
    """Key type 17."""

    group: str

    def encode(self) -> bytes:
        return record_key(17, self.group)


class StreamsGroupMemberMetadataKey(NamedTuple):
    """Key type 19."""

    group: str
    member_id: str

    def encode(self) -> bytes:
        return record_key(19, self.group, self.member_id)


class StreamsGroupTargetAssignmentMetadataKey(NamedTuple):
    """Key type 20."""

    group: str

    def encode(self) -> bytes:
        return record_key(20, self.group)


class StreamsGroupTargetAssignmentMemberKey(NamedTuple):
    """Key type 21."""

    group: str
    member_id: str

    def encode(self) -> bytes:
        return record_key(21, self.group, self.member_id)


class StreamsGroupCurrentMemberAssignmentKey(NamedTuple):
    """Key type 22."""

    group: str
    member_id: str

    def encode(self) -> bytes:
        return record_key(22, self.group, self.member_id)


class StreamsGroupTopologyKey(NamedTuple):
    """Key type 23."""

    group: str

    def encode(self) -> bytes:
        return record_key(23, self.group)


@dataclass(slots=True)
class StreamsGroupMetadataValue:
    """The group epoch, a hash of the topics it needs, the topology they are fit for (-1: none), what the last target was made with."""

    epoch: int
    metadata_hash: int = 0
    validated_topology_epoch: int = _UNVALIDATED
    last_assignment_configs: list[KeyValue] | None = None

    def encode(self) -> bytes:
        out = record_value()
        out.int32(self.epoch)
        out.int64(self.metadata_hash)
        tags = {}
        if self.validated_topology_epoch != _UNVALIDATED:
            tags[0] = int32_bytes(self.validated_topology_epoch)
        if self.last_assignment_configs is not None:
            inner = FieldWriter(flexible=True)
            write_pairs(inner, self.last_assignment_configs)
            tags[1] = inner.result()
        out.tags(tags)
        return out.result()

    @classmethod
    def decode(cls, data: Buffer) -> StreamsGroupMetadataValue:
        fields = record_fields(cls.__name__, data)
        value = cls(fields.int32(), fields.int64())
        tags = fields.tags()
        if 0 in tags:
            value.validated_topology_epoch = tags[0].int32()
        if 1 in tags:
            value.last_assignment_configs = tags[1].nullable_array(lambda: read_pair(tags[1]))
        return value


class Endpoint(NamedTuple):
    """Where an instance of the application can be asked for its state (`application.server`)."""

    host: str
    port: int


@dataclass(slots=True)
class StreamsGroupMemberMetadataValue:
    """Who a member is."""

    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    topology_epoch: int
    process_id: str
    user_endpoint: Endpoint | None
    client_tags: list[KeyValue]

    def encode(self) -> bytes:
        out = record_value()
        out.string(self.instance_id)
        out.string(self.rack_id)
        out.string(self.client_id)
        out.string(self.client_host)
        out.int32(self.rebalance_timeout_ms)
        out.int32(self.topology_epoch)
        out.string(self.process_id)
        if self.user_endpoint is None:
            out.int8(-1)
        else:
            out.int8(1)
            out.string(self.user_endpoint.host)
            out.uint16(self.user_endpoint.port)
            out.tags()
        write_pairs(out, self.client_tags)
        out.tags()
        return out.result()

    @classmethod
    def decode(cls, data: Buffer) -> StreamsGroupMemberMetadataValue:
        fields = record_fields(cls.__name__, data)
        return cls(
            instance_id=fields.nullable_string(),
            rack_id=fields.nullable_string(),
            client_id=fields.string(),
            client_host=fields.string(),
            rebalance_timeout_ms=fields.int32(),
            topology_epoch=fields.int32(),
            process_id=fields.string(),
            user_endpoint=_read_endpoint(fields),
            client_tags=fields.array(lambda: read_pair(fields)),
        )


def _read_endpoint(fields: FieldReader) -> Endpoint | None:
    if fields.int8() < 0:
        return None
    endpoint = Endpoint(fields.string(), fields.uint16())
    fields.tags()
    return endpoint


@dataclass(slots=True)
class StreamsGroupTargetAssignmentMetadataValue:
    """The group epoch the target assignment was made for, and when (0 unknown)."""

    assignment_epoch: int
    assignment_timestamp: int = 0

    def encode(self) -> bytes:
        out = record_value()
        out.int32(self.assignment_epoch)
        out.tags({0: int64_bytes(self.assignment_timestamp)} if self.assignment_timestamp else {})
        return out.result()

    @classmethod
    def decode(cls, data: Buffer) -> StreamsGroupTargetAssignmentMetadataValue:
        fields = record_fields(cls.__name__, data)
        value = cls(fields.int32())
        tags = fields.tags()
        if 0 in tags:
            value.assignment_timestamp = tags[0].int64()
        return value


@dataclass(slots=True)
class TaskIds:
    """Tasks of one subtopology. `assignment_epochs`: the epoch each was given at, of active tasks in the current assignment only."""

    subtopology_id: str
    partitions: list[int]
    assignment_epochs: list[int] | None = None


@dataclass(slots=True)
class StreamsGroupTargetAssignmentMemberValue:
    """The tasks a member shall have."""

    active_tasks: list[TaskIds] = field(default_factory=list)
    standby_tasks: list[TaskIds] = field(default_factory=list)
    warmup_tasks: list[TaskIds] = field(default_factory=list)

    def encode(self) -> bytes:
        out = record_value()
        for tasks in (self.active_tasks, self.standby_tasks, self.warmup_tasks):
            _write_tasks(out, tasks)
        out.tags()
        return out.result()

    @classmethod
    def decode(cls, data: Buffer) -> StreamsGroupTargetAssignmentMemberValue:
        fields = record_fields(cls.__name__, data)
        return cls(_read_tasks(fields), _read_tasks(fields), _read_tasks(fields))


@dataclass(slots=True)
class StreamsGroupCurrentMemberAssignmentValue:
    """The tasks a member has, and those it must still give back. `state` is Kafka's `MemberState`."""

    member_epoch: int
    previous_member_epoch: int
    state: int
    active_tasks: list[TaskIds] = field(default_factory=list)
    standby_tasks: list[TaskIds] = field(default_factory=list)
    warmup_tasks: list[TaskIds] = field(default_factory=list)
    active_tasks_pending_revocation: list[TaskIds] = field(default_factory=list)
    standby_tasks_pending_revocation: list[TaskIds] = field(default_factory=list)
    warmup_tasks_pending_revocation: list[TaskIds] = field(default_factory=list)

    def encode(self) -> bytes:
        out = record_value()
        out.int32(self.member_epoch)
        out.int32(self.previous_member_epoch)
        out.int8(self.state)
        for tasks in (
            self.active_tasks,
            self.standby_tasks,
            self.warmup_tasks,
            self.active_tasks_pending_revocation,
            self.standby_tasks_pending_revocation,
            self.warmup_tasks_pending_revocation,
        ):
            _write_tasks(out, tasks)
        out.tags()
        return out.result()

    @classmethod
    def decode(cls, data: Buffer) -> StreamsGroupCurrentMemberAssignmentValue:
        fields = record_fields(cls.__name__, data)
        return cls(fields.int32(), fields.int32(), fields.int8(), *[_read_tasks(fields) for _ in range(6)])


StreamsGroupKey: TypeAlias = (
    StreamsGroupMetadataKey
    | StreamsGroupMemberMetadataKey
    | StreamsGroupTargetAssignmentMetadataKey
    | StreamsGroupTargetAssignmentMemberKey
    | StreamsGroupCurrentMemberAssignmentKey
    | StreamsGroupTopologyKey
)
StreamsGroupValue: TypeAlias = (
    StreamsGroupMetadataValue
    | StreamsGroupMemberMetadataValue
    | StreamsGroupTargetAssignmentMetadataValue
    | StreamsGroupTargetAssignmentMemberValue
    | StreamsGroupCurrentMemberAssignmentValue
    | StreamsGroupTopologyValue
)

STREAMS_GROUP_KEYS: Final[dict[int, Callable[[FieldReader], StreamsGroupKey]]] = {
    17: lambda fields: StreamsGroupMetadataKey(fields.string()),
    19: lambda fields: StreamsGroupMemberMetadataKey(fields.string(), fields.string()),
    20: lambda fields: StreamsGroupTargetAssignmentMetadataKey(fields.string()),
    21: lambda fields: StreamsGroupTargetAssignmentMemberKey(fields.string(), fields.string()),
    22: lambda fields: StreamsGroupCurrentMemberAssignmentKey(fields.string(), fields.string()),
    23: lambda fields: StreamsGroupTopologyKey(fields.string()),
}
STREAMS_GROUP_VALUES: Final[dict[type, Callable[[Buffer], StreamsGroupValue]]] = {
    StreamsGroupMetadataKey: StreamsGroupMetadataValue.decode,
    StreamsGroupMemberMetadataKey: StreamsGroupMemberMetadataValue.decode,
    StreamsGroupTargetAssignmentMetadataKey: StreamsGroupTargetAssignmentMetadataValue.decode,
    StreamsGroupTargetAssignmentMemberKey: StreamsGroupTargetAssignmentMemberValue.decode,
    StreamsGroupCurrentMemberAssignmentKey: StreamsGroupCurrentMemberAssignmentValue.decode,
    StreamsGroupTopologyKey: StreamsGroupTopologyValue.decode,
}


def _write_tasks(out: FieldWriter, tasks: list[TaskIds]) -> None:
    def subtopology(entry: TaskIds) -> None:
        out.string(entry.subtopology_id)
        out.int32_array(entry.partitions)
        tags = {}
        if entry.assignment_epochs is not None:
            inner = FieldWriter(flexible=True)
            inner.int32_array(entry.assignment_epochs)
            tags[0] = inner.result()
        out.tags(tags)

    out.array(tasks, subtopology)


def _read_tasks(fields: FieldReader) -> list[TaskIds]:
    def subtopology() -> TaskIds:
        entry = TaskIds(fields.string(), fields.int32_array())
        tags = fields.tags()
        if 0 in tags:
            entry.assignment_epochs = tags[0].nullable_array(tags[0].int32)
        return entry

    return fields.array(subtopology)
