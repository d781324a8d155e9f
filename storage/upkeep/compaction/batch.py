"""Batches as compaction leaves them: fewer records, the same offsets, sequence and codec (Kafka's `MemoryRecords.filterTo`).

base_offset, last_offset_delta, producer and sequence survive, so that offsets stay true and duplicates stay recognisable.
With a delete horizon (bit 6) base_timestamp is the time from which tombstones or markers of the batch may go; the records'
timestamp deltas then count from it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from struct import Struct

from oncelog.protocol.compression import compress
from oncelog.protocol.primitives import Buffer, varint
from oncelog.protocol.records import (
    CODEC_MASK,
    CURRENT_MAGIC,
    DELETE_HORIZON_BIT,
    HEADER_SIZE,
    LOG_OVERHEAD,
    NO_TIMESTAMP,
    BatchHeader,
    Record,
    rewrite_crc,
)

_HEADER = Struct(">qiibIhiqqqhii")
# records that are encoded before the caller may take a breath
CHUNK_RECORDS = 500
QUICK_BYTES = 1 << 14  # packed without a worker


def empty_batch(header: BatchHeader) -> bytearray:
    """Only the header: holds a producer's last sequence, or the end of the cleaned range, once all records are gone."""
    return _assemble(header, header.attributes & ~(CODEC_MASK | DELETE_HORIZON_BIT), NO_TIMESTAMP, header.max_timestamp, 0, b"")


def rebuilt_batch(
    header: BatchHeader, records: Sequence[Record], delete_horizon_ms: int | None
) -> Generator[Callable[[], None] | None, None, bytearray]:
    """A batch with some of its records, or with a delete horizon that it did not have.

    Yields None between chunks of records, and a job for a worker when there is much to pack.
    """
    attributes = header.attributes & ~DELETE_HORIZON_BIT
    base_timestamp = records[0].timestamp
    if delete_horizon_ms is not None:
        attributes |= DELETE_HORIZON_BIT
        base_timestamp = delete_horizon_ms
    max_timestamp = header.max_timestamp if header.is_log_append_time else max(record.timestamp for record in records)
    payload = bytearray()
    for number, record in enumerate(records, 1):
        payload += _encode(record, record.timestamp - base_timestamp, record.offset - header.base_offset)
        if number % CHUNK_RECORDS == 0:
            yield None
    packed: list[Buffer] = [payload]

    def pack() -> None:
        packed[0] = compress(header.codec, payload)

    if header.codec and len(payload) > QUICK_BYTES:
        yield pack
    elif header.codec:
        pack()
    return _assemble(header, attributes, base_timestamp, max_timestamp, len(records), packed[0])


def _encode(record: Record, timestamp_delta: int, offset_delta: int) -> bytes:
    headers = b"".join(_sized(name.encode()) + _sized(value) for name, value in record.headers)
    body = b"".join(
        (
            b"\0",
            varint(timestamp_delta),
            varint(offset_delta),
            _sized(record.key),
            _sized(record.value),
            varint(len(record.headers)),
            headers,
        )
    )
    return varint(len(body)) + body


def _sized(data: bytes | None) -> bytes:
    return varint(-1) if data is None else varint(len(data)) + data


def _assemble(header: BatchHeader, attributes: int, base_timestamp: int, max_timestamp: int, count: int, body: Buffer) -> bytearray:
    batch = bytearray(
        _HEADER.pack(
            header.base_offset,
            HEADER_SIZE - LOG_OVERHEAD + len(body),
            header.partition_leader_epoch,
            CURRENT_MAGIC,
            0,
            attributes,
            header.last_offset_delta,
            base_timestamp,
            max_timestamp,
            header.producer_id,
            header.producer_epoch,
            header.base_sequence,
            count,
        )
    )
    batch += body
    rewrite_crc(batch)
    return batch
