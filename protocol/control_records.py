"""Transaction markers: the control batch that ends a transaction on one partition.

One record: key = version int16 0, type int16 (0 ABORT, 1 COMMIT); value = version int16 0, coordinator_epoch int32.
The batch is transactional, control, CreateTime, uncompressed, without a sequence, and exactly 78 bytes long
(`EndTransactionMarker`, `ControlRecordType`).
"""

from __future__ import annotations

from enum import IntEnum
from functools import lru_cache
from struct import Struct
from typing import Final, NamedTuple

from oncelog.protocol.primitives import Buffer
from oncelog.protocol.records import (
    CONTROL_BIT,
    HEADER_SIZE,
    TRANSACTIONAL_BIT,
    CorruptBatch,
    batch_at,
    iter_records,
    parse_header,
    record_of,
)

MARKER_SIZE_BYTES: Final = 78

_KEY = Struct(">hh")
_VALUE = Struct(">hi")


class ControlRecordType(IntEnum):
    """The second half of a control record's key; the rest belongs to KRaft's own log."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


_ABORT = _KEY.pack(0, ControlRecordType.ABORT)
_COMMIT = _KEY.pack(0, ControlRecordType.COMMIT)


class EndTransactionMarker(NamedTuple):
    """What a marker says."""

    commit: bool
    coordinator_epoch: int


def end_transaction_marker(
    producer_id: int,
    producer_epoch: int,
    commit: bool,
    coordinator_epoch: int,
    timestamp_ms: int,
    base_offset: int = 0,
    leader_epoch: int = 0,
) -> bytes:
    """The 78 bytes of a marker batch, as they are stored."""
    attributes = TRANSACTIONAL_BIT | CONTROL_BIT
    record = marker_record(commit, coordinator_epoch)
    return batch_at(base_offset, leader_epoch, timestamp_ms, 1, record, attributes, producer_id, producer_epoch)


@lru_cache(maxsize=64)
def marker_record(commit: bool, coordinator_epoch: int) -> bytes:
    """The record of a marker, as it stands in its batch."""
    return record_of(0, _COMMIT if commit else _ABORT, _VALUE.pack(0, coordinator_epoch))


def parse_end_transaction_marker(batch: Buffer) -> EndTransactionMarker | None:
    """The marker in `batch`; None for a data batch, an empty control batch (compaction leaves them) and other control records.

    Longer values and higher versions are read as far as they are known, as Kafka does. Raises CorruptBatch.
    """
    header = parse_header(batch)
    if not header.attributes & CONTROL_BIT or header.records_count == 0 or header.size_bytes == HEADER_SIZE:
        return None
    record = next(iter_records(batch))
    if record.key is None or len(record.key) < _KEY.size:
        raise CorruptBatch("control record without a type")
    _version, kind = _KEY.unpack_from(record.key)
    if kind not in (ControlRecordType.ABORT, ControlRecordType.COMMIT):
        return None
    if record.value is None or len(record.value) < _VALUE.size:
        raise CorruptBatch("end transaction marker without a coordinator epoch")
    _version, coordinator_epoch = _VALUE.unpack_from(record.value)
    return EndTransactionMarker(kind == ControlRecordType.COMMIT, coordinator_epoch)
