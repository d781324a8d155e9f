"""`.snapshot`, as Kafka reads it, and `oncelog.window`, which Kafka ignores and which remembers five batches per producer.

.snapshot       int16 version 1 | uint32 CRC-32C of the rest | int32 count | count x 46 bytes:
                producer id int64, epoch int16, last sequence int32, last offset int64, offset delta int32, timestamp int64,
                coordinator epoch int32, open transaction's first offset int64
oncelog.window  int16 version 1 | uint32 CRC-32C of the rest | int64 offset it covers | int32 count | count x
                (producer id int64, length int16, packed entry as in producer_state.py)
"""

from __future__ import annotations

from struct import Struct, error

from oncelog.protocol.primitives import crc32c
from oncelog.storage.log.producer_state import CachedBatch, ProducerStateEntry, unpack_entry

WINDOW_NAME = "oncelog.window"
_VERSION = 1
_CRC_START = 6
_HEAD = Struct(">hI")
_COUNT = Struct(">i")
_ENTRY = Struct(">qhiqiqiq")
_WINDOW_HEAD = Struct(">qi")
_WINDOW_ENTRY = Struct(">qh")


def encode_snapshot(entries: dict[int, bytes]) -> bytes:
    """Kafka's snapshot: the newest batch of each producer."""
    parts = [_COUNT.pack(len(entries))]
    for producer_id, packed in entries.items():
        entry = unpack_entry(producer_id, packed)
        first = -1 if entry.current_txn_first_offset is None else entry.current_txn_first_offset
        parts.append(
            _ENTRY.pack(
                producer_id,
                entry.epoch,
                entry.last_sequence,
                entry.last_data_offset,
                entry.last_offset_delta,
                entry.last_timestamp,
                entry.coordinator_epoch,
                first,
            )
        )
    return _framed(b"".join(parts))


def decode_snapshot(data: bytes, arrival_ms: int) -> dict[int, bytes] | None:
    """Packed entries of a snapshot; None when it is damaged. `arrival_ms` stands in for what Kafka does not keep."""
    body = _unframed(data)
    if body is None or len(body) < _COUNT.size:
        return None
    (count,) = _COUNT.unpack_from(body)
    if len(body) != _COUNT.size + count * _ENTRY.size:
        return None
    entries = {}
    for producer_id, epoch, sequence, offset, delta, timestamp, coordinator_epoch, first in _ENTRY.iter_unpack(body[_COUNT.size :]):
        batches = (CachedBatch(sequence, offset, delta, timestamp),) if offset >= 0 else ()
        opened = first if first >= 0 else None
        entries[producer_id] = ProducerStateEntry(producer_id, epoch, coordinator_epoch, timestamp, arrival_ms, opened, batches).pack()
    return entries


def encode_window(entries: dict[int, bytes], offset: int) -> bytes:
    """All five batches of each producer, at the log end `offset`."""
    parts = [_WINDOW_HEAD.pack(offset, len(entries))]
    for producer_id, packed in entries.items():
        parts.append(_WINDOW_ENTRY.pack(producer_id, len(packed)))
        parts.append(packed)
    return _framed(b"".join(parts))


def decode_window(data: bytes) -> tuple[int, dict[int, bytes]] | None:
    """(offset, packed entries); None when it is damaged."""
    body = _unframed(data)
    if body is None:
        return None
    entries = {}
    try:
        offset, count = _WINDOW_HEAD.unpack_from(body)
        position = _WINDOW_HEAD.size
        for _ in range(count):
            producer_id, length = _WINDOW_ENTRY.unpack_from(body, position)
            position += _WINDOW_ENTRY.size
            entries[producer_id] = body[position : position + length]
            unpack_entry(producer_id, entries[producer_id])
            position += length
    except error:
        return None
    return (offset, entries) if position == len(body) else None


def _framed(body: bytes) -> bytes:
    return _HEAD.pack(_VERSION, crc32c(body)) + body


def _unframed(data: bytes) -> bytes | None:
    if len(data) < _CRC_START:
        return None
    version, crc = _HEAD.unpack_from(data)
    body = data[_CRC_START:]
    return body if version == _VERSION and crc == crc32c(body) else None
