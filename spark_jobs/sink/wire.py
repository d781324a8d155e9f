"""Just enough of Kafka's protocol for one transaction: nine requests, in the standard library alone.

Executors get these modules by `addPyFile`, on clusters where nobody can install anything, so they may import nothing that is not there
already.

Every version here is served by each Kafka from 2.5 to 4.x. Versions that end a transaction without an epoch bump (EndTxn v1) are meant: the
tasks of a batch share one epoch that the driver got for exactly this batch.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

PRODUCE, METADATA, OFFSET_FETCH, FIND_COORDINATOR = (0, 7), (3, 4), (9, 7), (10, 1)
INIT_PRODUCER_ID, ADD_PARTITIONS, ADD_OFFSETS, END_TXN, TXN_OFFSET_COMMIT = (22, 4), (24, 1), (25, 1), (26, 1), (28, 2)
SASL_HANDSHAKE, SASL_AUTHENTICATE = (17, 1), (36, 0)
FLEXIBLE = frozenset({OFFSET_FETCH, INIT_PRODUCER_ID})
"""Calls whose headers and bodies carry tagged fields (KIP-482)."""

GROUP, TRANSACTION = 0, 1
"""Key types of FindCoordinator."""

Api = tuple[int, int]


# ------------------------------------------------------------------------------------------------------------------- primitives


class Writer:
    """A request body under construction."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def pack(self, layout: str, *values: object) -> Writer:
        self.parts.append(struct.pack(">" + layout, *values))
        return self

    def string(self, text: str | None) -> Writer:
        encoded = None if text is None else text.encode()
        self.pack("h", -1 if encoded is None else len(encoded))
        self.parts.append(encoded or b"")
        return self

    def compact_string(self, text: str) -> Writer:
        encoded = text.encode()
        self.parts += [unsigned_varint(len(encoded) + 1), encoded]
        return self

    def raw(self, data: bytes) -> Writer:
        self.parts.append(data)
        return self


class Reader:
    """An answer being taken apart. Raises struct.error or IndexError when it is too short."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def unpack(self, layout: str) -> tuple[int, ...]:
        values = struct.unpack_from(">" + layout, self.data, self.at)
        self.at += struct.calcsize(">" + layout)
        return values

    def number(self, layout: str) -> int:
        return self.unpack(layout)[0]

    def take(self, size: int) -> bytes:
        self.at += size
        return self.data[self.at - size : self.at]

    def string(self) -> str | None:
        size = self.number("h")
        return None if size < 0 else self.take(size).decode()

    def compact_string(self) -> str | None:
        size = self.varint() - 1
        return None if size < 0 else self.take(size).decode()

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def tags(self) -> None:
        for _ in range(self.varint()):
            self.varint()
            self.take(self.varint())


def unsigned_varint(value: int) -> bytes:
    """Seven bits a byte, low bits first."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def frame(api: Api, correlation_id: int, client_id: str, body: Iterable[bytes]) -> bytes:
    """A whole request: size, header, body."""
    head = Writer().pack("hhi", *api, correlation_id).string(client_id)
    if api in FLEXIBLE:
        head.raw(b"\0")
    request = b"".join([*head.parts, *body])
    return struct.pack(">i", len(request)) + request


# --------------------------------------------------------------------------------------------------------------------- requests


class Partition(NamedTuple):
    """A partition as Metadata describes it; `leader` is -1 while there is none."""

    number: int
    error: int
    leader: int


class ClusterView(NamedTuple):
    """An answer to Metadata."""

    brokers: dict[int, tuple[str, int]]
    topics: dict[str, tuple[int, list[Partition]]]
    """name → (error, partitions)"""


def metadata_request(topics: Sequence[str]) -> list[bytes]:
    """Metadata of `topics`; never creates one."""
    body = Writer().pack("i", len(topics))
    for topic in topics:
        body.string(topic)
    return body.pack("?", False).parts


def metadata_answer(data: bytes) -> ClusterView:
    reader = Reader(data)
    reader.number("i")
    brokers = {}
    for _ in range(reader.number("i")):
        node = reader.number("i")
        brokers[node] = (reader.string() or "", reader.number("i"))
        reader.string()
    reader.string()
    reader.number("i")
    topics = {}
    for _ in range(reader.number("i")):
        error, name, _internal = reader.number("h"), reader.string() or "", reader.number("?")
        topics[name] = (error, [_partition(reader) for _ in range(reader.number("i"))])
    return ClusterView(brokers, topics)


def _partition(reader: Reader) -> Partition:
    error, number, leader = reader.unpack("hii")
    for _replicas_then_isr in range(2):
        reader.take(4 * reader.number("i"))
    return Partition(number, error, leader)


def find_coordinator_request(key: str, kind: int) -> list[bytes]:
    return Writer().string(key).pack("b", kind).parts


def find_coordinator_answer(data: bytes) -> tuple[int, tuple[str, int]]:
    """(error, (host, port))"""
    reader = Reader(data)
    _throttle, error = reader.unpack("ih")
    reader.string()
    reader.number("i")
    return error, (reader.string() or "", reader.number("i"))


def init_producer_id_request(transactional_id: str, timeout_ms: int, producer_id: int, epoch: int) -> list[bytes]:
    return Writer().compact_string(transactional_id).pack("iqh", timeout_ms, producer_id, epoch).raw(b"\0").parts


def init_producer_id_answer(data: bytes) -> tuple[int, int, int]:
    """(error, producer id, epoch)"""
    _throttle, error, producer_id, epoch = Reader(data).unpack("ihqh")
    return error, producer_id, epoch


def add_partitions_request(transactional_id: str, producer_id: int, epoch: int, partitions: dict[str, Sequence[int]]) -> list[bytes]:
    body = Writer().string(transactional_id).pack("qhi", producer_id, epoch, len(partitions))
    for topic, indexes in partitions.items():
        body.string(topic).pack(f"i{len(indexes)}i", len(indexes), *indexes)
    return body.parts


def topics_answer(data: bytes) -> dict[tuple[str, int], int]:
    """AddPartitionsToTxn and TxnOffsetCommit answer alike: (topic, partition) → error."""
    reader = Reader(data)
    reader.number("i")
    errors = {}
    for _ in range(reader.number("i")):
        topic = reader.string() or ""
        for _ in range(reader.number("i")):
            partition, error = reader.unpack("ih")
            errors[topic, partition] = error
    return errors


def add_offsets_request(transactional_id: str, producer_id: int, epoch: int, group: str) -> list[bytes]:
    return Writer().string(transactional_id).pack("qh", producer_id, epoch).string(group).parts


def end_txn_request(transactional_id: str, producer_id: int, epoch: int, commit: bool) -> list[bytes]:
    return Writer().string(transactional_id).pack("qh?", producer_id, epoch, commit).parts


def error_answer(data: bytes) -> int:
    """AddOffsetsToTxn and EndTxn answer with one error."""
    return Reader(data).unpack("ih")[1]


def txn_offset_commit_request(
    transactional_id: str, group: str, producer_id: int, epoch: int, topic: str, offset: int, metadata: str
) -> list[bytes]:
    """Commit `offset` for partition 0 of `topic`."""
    body = Writer().string(transactional_id).string(group).pack("qhi", producer_id, epoch, 1)
    return body.string(topic).pack("iiqi", 1, 0, offset, -1).string(metadata).parts


def offset_fetch_request(group: str) -> list[bytes]:
    """All committed offsets of `group`; waits (88) for transactions that could change them."""
    return Writer().compact_string(group).raw(b"\0").pack("?", True).raw(b"\0").parts


class Committed(NamedTuple):
    """One committed offset."""

    error: int
    offset: int
    metadata: str


def offset_fetch_answer(data: bytes) -> tuple[int, list[Committed]]:
    """(error, every committed offset of the group)"""
    reader = Reader(data)
    reader.number("i")
    found = []
    for _ in range(reader.varint() - 1):
        reader.compact_string()
        for _ in range(reader.varint() - 1):
            _index, offset, _leader_epoch = reader.unpack("iqi")
            metadata = reader.compact_string() or ""
            found.append(Committed(reader.number("h"), offset, metadata))
            reader.tags()
        reader.tags()
    return reader.number("h"), found


def produce_request(transactional_id: str, timeout_ms: int, topic: str, partition: int, batch: bytes) -> list[bytes]:
    """One batch for one partition, acknowledged by all replicas."""
    return [
        *Writer().string(transactional_id).pack("hii", -1, timeout_ms, 1).string(topic).pack("iii", 1, partition, len(batch)).parts,
        batch,
    ]


def produce_answer(data: bytes) -> tuple[int, int]:
    """(error, base offset)"""
    reader = Reader(data)
    reader.number("i")
    reader.string()
    _count, _partition_index, error, base_offset = reader.unpack("iihq")
    return error, base_offset
