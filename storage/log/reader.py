"""Reading a log: fetch by isolation level, the aborted transactions beside it, offsets by timestamp (`LocalLog.read`, `UnifiedLog`)."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, Protocol, TypeAlias

from oncelog.protocol.compression import CompressionError
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.names import IsolationLevel, TopicPartition
from oncelog.protocol.primitives import crc32c
from oncelog.protocol.records import HEADER_SIZE, CorruptBatch, iter_records
from oncelog.storage.env import Buffer, Env
from oncelog.storage.files.leader_epochs import LeaderEpochs
from oncelog.storage.files.txn_index import AbortedTxn, collect_aborted, encode_aborted
from oncelog.storage.log import producer_snapshots, replay, whole_batches
from oncelog.storage.log.mending import Mending
from oncelog.storage.log.segment import DamagedSegment, Doubt, Segment
from oncelog.storage.log.segments import Segments
from oncelog.storage.log.stored_records import StoredRecords

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = -1, -2, -3, -4, -5, -6
NONE = (-1, -1, -1)
EVERYTHING = 1 << 62  # bytes
QUICK_RECORDS = 500  # that a lookup by timestamp goes through at once
COMPARED_HERE_BYTES = 32 << 10  # of a log, up to a segment whose aborted transactions are compared with their markers at once
_HINTS = 32

Lookup: TypeAlias = Generator[Callable[[], Any], Any, tuple[int, int, int]]

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class FetchData:
    """`records`: whole stored batches, the first of which may begin below the asked offset; of a long answer only where they are.
    `aborted` is None for read_uncommitted, and where the first batch is longer than what may be given.
    """

    records: Buffer | StoredRecords
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    aborted: list[AbortedTxn] | None


class ReadableLog(Protocol):
    """What a reader needs of its log."""

    env: Env
    folder: Path
    topic_partition: TopicPartition
    segments: Segments
    mending: Mending
    epochs: LeaderEpochs
    leader_epoch: int
    log_start_offset: int
    log_end_offset: int
    high_watermark: int
    offline: str | None

    @property
    def last_stable_offset(self) -> int: ...

    def readable_end(self, isolation: IsolationLevel | int) -> int: ...


class Reader:
    """Remembers where the last reads ended: a consumer that follows needs no search."""

    def __init__(self, log: ReadableLog) -> None:
        self._log = log
        self._hints: OrderedDict[int, tuple[Segment, int]] = OrderedDict()
        self._end: tuple[int, Segment, int] | None = None
        self._replaced = 0
        self._vouched: dict[int, tuple[int, int]] | None = None

    def read(
        self, offset: int, max_bytes: int, isolation: IsolationLevel | int, min_one_message: bool, in_memory: int, *, patient: bool = False
    ) -> FetchData:
        """Stored batches from the one that holds `offset`, of one segment, whole; longer than `in_memory` bytes: `StoredRecords`.

        `patient`: nothing is read while the segment has to be mended, and a change is told when it is. Raises KafkaError(1, 56).
        """
        log = self._log
        if log.offline is not None:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"The log for partition {log.topic_partition} is offline: {log.offline}")
        if not log.log_start_offset <= offset <= log.log_end_offset:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"Received request for offset {offset} for partition {log.topic_partition}, "
                f"but we only have log segments from offset {log.log_start_offset} to {log.log_end_offset}.",
            )
        end = log.readable_end(isolation)
        while True:
            try:
                found = self._find(offset, end) if offset < end else None
                data, next_offset, beyond = (
                    (b"", -1, 0) if found is None else self._read(*found, end, max_bytes, min_one_message, in_memory)
                )
                aborted: list[AbortedTxn] | None = [] if isolation else None
                if isolation and found is not None:  # no list where nothing but the first batch's length stands in the way, as in Kafka
                    listed = bool(data) or max_bytes <= 0
                    aborted = self._aborted(offset, max(next_offset, self._upper_bound(found[0], beyond))) if listed else None
            except DamagedSegment as damage:
                if log.mending.begin(damage, here=not patient):
                    continue
                if not patient:
                    self._refuse(damage)
                data, aborted = b"", [] if isolation else None
            except OSError as error:
                self._refuse(error)
            return FetchData(data, log.high_watermark, log.last_stable_offset, log.log_start_offset, aborted)

    def _refuse(self, error: OSError) -> NoReturn:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"Error while reading {self._log.topic_partition}: {error}") from error

    def _read(
        self, segment: Segment, position: int, end: int, max_bytes: int, min_one_message: bool, in_memory: int
    ) -> tuple[bytes | StoredRecords, int, int]:
        """Whole batches below `end`, the offset behind them (-1: none), and the position behind everything that was asked for."""
        end_position = self._end_position(segment, end)
        data, next_offset = whole_batches.records(
            segment, position, max_bytes, end_position, min_one_message=min_one_message, in_memory=in_memory
        )
        if data and next_offset >= 0 and position + len(data) <= segment.size:
            self._remember(next_offset, segment, position + len(data))
        return data, next_offset, min(position + max(max_bytes, len(data)), end_position)

    def _find(self, offset: int, end: int) -> tuple[Segment, int] | None:
        """Where the first batch at or behind `offset` stands, if it begins below `end`."""
        segments = self._log.segments
        if segments.replaced != self._replaced:
            self._replaced = segments.replaced
            self._hints.clear()
            self._end = None
        hint = self._hints.pop(offset, None)
        if hint is not None and hint[1] + HEADER_SIZE <= hint[0].size:
            return hint
        slot = segments.floor(offset)
        while slot < len(segments) and segments[slot].base_offset < end:
            position = segments[slot].locate(offset)
            if position is not None:
                return segments[slot], position
            slot += 1
        return None

    def _remember(self, offset: int, segment: Segment, position: int) -> None:
        self._hints[offset] = segment, position
        if len(self._hints) > _HINTS:
            self._hints.popitem(last=False)

    def _end_position(self, segment: Segment, end: int) -> int:
        if end >= self._log.log_end_offset:
            return segment.size
        if self._end is not None and self._end[0] == end and self._end[1] is segment:
            return self._end[2]
        position = segment.locate(end)
        if position is None:
            return segment.size
        self._end = end, segment, position
        return position

    # -- aborted transactions

    def _upper_bound(self, segment: Segment, beyond: int) -> int:
        """Up to where aborted transactions are listed: the first indexed batch at or above position `beyond`, else the end of the segment
        (`LocalLog.addAbortedTransactions`)."""
        indexed = segment.index.upper_bound(beyond)
        if indexed is not None:
            return indexed
        slot = self._log.segments.floor(segment.base_offset) + 1
        return self._log.segments[slot].base_offset if slot < len(self._log.segments) else self._log.log_end_offset

    def _aborted(self, offset: int, upper: int) -> list[AbortedTxn]:
        """Transactions that overlap [offset, upper), by first offset; Kafka lists them by last offset, which some clients took badly."""
        segments = self._log.segments
        found: list[AbortedTxn] = []
        for slot in range(segments.floor(offset), len(segments)):
            if collect_aborted(self.checked_aborted(segments[slot]), offset, upper, found):
                break
        found.sort(key=lambda entry: entry.first_offset)
        return found

    def txn_indexes_are_checked(self) -> bool:
        """May the cleaner believe them: is no aborted transaction missing? What is not known yet is seen to. Raises OSError."""
        for segment in list(self._log.segments):
            try:
                self.checked_aborted(segment)
            except DamagedSegment as damage:
                if not self._log.mending.begins(damage):
                    return False
        return True

    def checked_aborted(self, segment: Segment) -> list[AbortedTxn]:
        """The segment's index, if it was compared with the abort markers, the voucher knows it, or it agrees with them in a short log: a
        lost entry would show aborted records. Raises DamagedSegment when none of that is so, OSError."""
        if segment.txn_index_checked:
            return segment.aborted
        if self._vouched is None:
            self._vouched = producer_snapshots.vouched(self._log.env.fs, self._log.folder)
        entries = segment.aborted
        data = encode_aborted(entries)
        if self._vouched.get(segment.base_offset, (0, -1)) == (len(data), crc32c(data)):
            segment.txn_index_checked = True
        elif self._is_quickly_compared(segment):
            right = replay.aborted_of(self._log.env.fs, list(self._log.segments), segment, self._log.log_end_offset)
            segment.txn_index_checked = encode_aborted(right) == segment.stored_aborted()
        if not segment.txn_index_checked:
            raise DamagedSegment(segment, 0, "aborted transactions not compared", Doubt.ABORTED)
        return entries

    def _is_quickly_compared(self, segment: Segment) -> bool:
        """The loop may wait for it: a client that asks once, and does not wait, is given what there is, as by Kafka."""
        size = 0
        for one in self._log.segments:
            size += one.size
            if one is segment or size > COMPARED_HERE_BYTES:
                break
        return size <= COMPARED_HERE_BYTES

    def check_aborted(self, segment: Segment, found: list[AbortedTxn] | None = None) -> None:
        """Compare the segment's index with its markers, and write it again where it is wrong. Raises OSError."""
        log = self._log
        right = replay.aborted_of(log.env.fs, list(log.segments), segment, log.log_end_offset, found)
        if encode_aborted(right) != segment.stored_aborted():
            _log.warning("txn index rebuilt segment=%s entries=%d found=%d", segment.log_path, len(right), len(segment.aborted))
            segment.replace_aborted(right)
        segment.txn_index_checked = True

    # -- offsets by timestamp

    def lookup(self, timestamp: int, isolation: IsolationLevel | int) -> Lookup:
        """(offset, timestamp, leader epoch) for ListOffsets, -1 to -6 included; (-1, -1, -1) for none. Raises KafkaError(56).

        Yields calls for another thread, so that the loop is not held up, and is sent what they give.
        """
        log = self._log
        if timestamp == LATEST:
            return log.readable_end(isolation), -1, log.leader_epoch
        if timestamp in (EARLIEST, EARLIEST_LOCAL):
            return log.log_start_offset, -1, max(log.epochs.epoch_of(log.log_start_offset), 0)
        if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
            return NONE
        while True:
            try:
                found = yield from (self._max_timestamp() if timestamp == MAX_TIMESTAMP else self._by_timestamp(timestamp))
            except DamagedSegment as damage:
                if not self._log.mending.begin(damage):
                    self._refuse(damage)  # the client asks again; requests behind this one would wait with it
            except OSError as error:
                self._refuse(error)
            except _SegmentGone:
                pass  # look again
            else:
                return found if found[0] < log.readable_end(isolation) else NONE

    def _max_timestamp(self) -> Lookup:
        best = max(self._log.segments, key=lambda segment: (segment.largest_timestamp, -segment.base_offset))
        if best.largest_timestamp < 0:
            return NONE
        return (yield from self._first_record(best, best.largest_timestamp, best.largest_timestamp_floor()))

    def _by_timestamp(self, timestamp: int) -> Lookup:
        for segment in self._log.segments:
            if segment.largest_timestamp >= timestamp:
                found = yield from self._first_record(segment, timestamp, segment.time_floor(timestamp))
                if found != NONE:
                    return found
        return NONE

    def _first_record(self, segment: Segment, timestamp: int, from_offset: int) -> Lookup:
        """The first record at or after `timestamp`, in batches from the one that holds `from_offset`."""
        start = self._log.log_start_offset
        position = segment.locate(max(from_offset, start))
        if position is None:
            return NONE
        for at, header in segment.headers(position):
            if header.max_timestamp < timestamp or header.last_offset < start:
                continue
            scan = partial(_first_in, segment.read_at(at, header.size_bytes), timestamp, start)
            try:
                found = (yield scan) if header.codec or header.records_count > QUICK_RECORDS else scan()
            except (CorruptBatch, CompressionError) as error:
                _log.warning("batch not readable segment=%s position=%d error=%s", segment.log_path, at, error)
                continue
            if segment not in self._log.segments:
                raise _SegmentGone
            if found is not None:
                return *found, header.partition_leader_epoch
        return NONE


class _SegmentGone(Exception):
    """It was deleted or replaced while another thread looked into one of its batches."""


def _first_in(batch: bytes, timestamp: int, start: int) -> tuple[int, int] | None:
    """(offset, timestamp) of the first record at or after both. Raises CorruptBatch and CompressionError."""
    for record in iter_records(batch):
        if record.timestamp >= timestamp and record.offset >= start:
            return record.offset, record.timestamp
    return None
