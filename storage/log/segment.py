"""One segment of a log: the `.log` file (`segment_file.py`) with its indexes, read by offset and by timestamp (Kafka's `LogSegment`).

Indexes are loaded when first needed and never trusted: an offset entry must lead to the batch it names, and the last of them near the
end of the file. What contradicts itself is told by DamagedSegment, and mended elsewhere (`mending.py`), as that takes long. New entries
stay in memory until the segment is sealed or closed; after a crash the segment is read again anyway.
"""

from __future__ import annotations

import logging
from enum import Enum
from pathlib import Path
from struct import Struct
from typing import NoReturn

from oncelog.protocol.primitives import crc32c
from oncelog.protocol.records import CRC_START, CURRENT_MAGIC, HEADER_SIZE, LOG_OVERHEAD, parse_header
from oncelog.storage.env import Buffer
from oncelog.storage.files.descriptors import Descriptors
from oncelog.storage.files.leader_epochs import LeaderEpochs
from oncelog.storage.files.offset_index import ENTRY_BYTES as OFFSET_ENTRY_BYTES
from oncelog.storage.files.offset_index import OffsetIndex
from oncelog.storage.files.time_index import ENTRY_BYTES as TIME_ENTRY_BYTES
from oncelog.storage.files.time_index import TimeIndex
from oncelog.storage.files.txn_index import ENTRY_BYTES as TXN_ENTRY_BYTES
from oncelog.storage.files.txn_index import AbortedTxn, encode_aborted, parse_aborted
from oncelog.storage.log.index_draft import IndexDraft
from oncelog.storage.log.segment_file import SCAN_BYTES, SegmentFile

MAX_RELATIVE_OFFSET = 2**31 - 1
_WINDOW_BYTES = 8192
_WALK = Struct(">qi11xi")  # base offset, batch length, last offset delta

_log = logging.getLogger(__name__)


class Doubt(Enum):
    """What of a segment has to be looked at again."""

    BATCHES = "batches"
    INDEXES = "indexes"  # offset and time index: the batch headers tell
    ABORTED = "aborted"  # the .txnindex, which was not compared with the markers yet


class DamagedSegment(OSError):
    """Bytes that were once whole are no batches any more, or an index and the batches contradict each other."""

    def __init__(self, segment: Segment, position: int, why: str = "no whole batch", doubt: Doubt = Doubt.BATCHES) -> None:
        super().__init__(f"{why} at position {position} of {segment.log_path}")
        self.segment = segment
        self.doubt = doubt


class Segment(SegmentFile):
    """The file by offset and by timestamp."""

    __slots__ = (
        "_aborted",
        "_first_timestamp",
        "_index",
        "_time_index",
        "bytes_since_index",
        "created_ms",
        "damaged_at",
        "epochs",
        "index_interval_bytes",
        "indexes_made",
        "lost_tail",
        "max_timestamp",
        "max_timestamp_offset",
        "trusted_from",
        "txn_index_checked",
        "walked_to",
        "was_cut",
    )

    def __init__(self, descriptors: Descriptors, folder: Path, base_offset: int, size: int, index_interval_bytes: int) -> None:
        super().__init__(descriptors, folder, base_offset, size)
        self.index_interval_bytes = index_interval_bytes
        self.bytes_since_index = 0
        self.created_ms = 0
        self.max_timestamp: int | None = None  # None: ask the time index
        self.max_timestamp_offset = base_offset
        self.txn_index_checked = False
        self.was_cut = False
        self.lost_tail: list[tuple[int, int]] = []  # offsets [first, end) that were behind the cut and did not come back
        self.damaged_at: int | None = None  # the last of the offsets from which on batches had to be taken out
        self.epochs: LeaderEpochs | None = None  # what an earlier process wrote has these
        self.indexes_made = False  # from the batches, by this process
        self.trusted_from = size  # bytes from here on were written or checked by this process
        self.walked_to = 0  # and those below here were looked at when they were first read
        self._first_timestamp: int | None = None
        self._index: OffsetIndex | None = None
        self._time_index: TimeIndex | None = None
        self._aborted: list[AbortedTxn] | None = None

    @classmethod
    def create(cls, descriptors: Descriptors, folder: Path, base_offset: int, index_interval_bytes: int, now_ms: int) -> Segment:
        """An empty segment; its `.log` exists afterwards, leftovers of that name are gone. Raises OSError."""
        segment = cls.new(descriptors, folder, base_offset, index_interval_bytes, now_ms)
        segment.remove()
        descriptors.get(segment.log_path, create=True)
        return segment

    @classmethod
    def new(cls, descriptors: Descriptors, folder: Path, base_offset: int, index_interval_bytes: int, now_ms: int) -> Segment:
        """An empty segment; its `.log` is to be made before the first `append`."""
        segment = cls(descriptors, folder, base_offset, 0, index_interval_bytes)
        segment.created_ms = now_ms
        segment.max_timestamp = -1
        segment._first_timestamp = -1
        segment._index, segment._time_index, segment._aborted = OffsetIndex(base_offset), TimeIndex(base_offset), []
        segment.txn_index_checked = True
        return segment

    def __repr__(self) -> str:
        return f"Segment(base_offset={self.base_offset}, size={self.size})"

    # -- indexes

    @property
    def index(self) -> OffsetIndex:
        """Raises OSError, DamagedSegment."""
        if self._index is None:
            index = OffsetIndex.parse(self._read_or_empty(".index"), self.base_offset, self.size)
            if index is None or not self._reaches_end(index):
                raise DamagedSegment(self, 0, "offset index is missing or damaged", Doubt.INDEXES)
            self._index = index
        return self._index

    @property
    def time_index(self) -> TimeIndex:
        """Raises OSError, DamagedSegment."""
        if self._time_index is None:
            index = TimeIndex.parse(self._read_or_empty(".timeindex"), self.base_offset)
            if index is None or (self.size > 0 and not (len(index) and self._seems_to_hold(*index.last))):
                raise DamagedSegment(self, 0, "time index is missing or damaged", Doubt.INDEXES)
            self._time_index = index
        return self._time_index

    def _reaches_end(self, index: OffsetIndex) -> bool:
        """The last entry leads to its batch, and no batch behind that should have had another."""
        entry = self._last_entry(index)
        return self.size == 0 or (
            self.leads_to(*entry) and all(at - entry[0] <= self.index_interval_bytes for at, _ in self.headers(entry[0]))
        )

    @property
    def aborted(self) -> list[AbortedTxn]:
        """Aborted transactions whose marker is here. The log checks the index against the markers before it is first used."""
        if self._aborted is None:
            self._aborted = parse_aborted(self.stored_aborted(), self.base_offset) or []
        return self._aborted

    def stored_aborted(self) -> bytes:
        """The `.txnindex` as it is on disk, empty without one. Raises OSError."""
        return self._read_or_empty(".txnindex")

    def replace_aborted(self, entries: list[AbortedTxn]) -> None:
        """The entries that the log says are right; written out. Raises OSError."""
        self._aborted = entries
        self.txn_index_checked = True
        path = self.path(".txnindex")
        if entries:
            self.descriptors.fs.write_atomic(path, encode_aborted(entries))
        elif self.descriptors.fs.exists(path):
            self.descriptors.fs.unlink(path)

    def append_aborted(self, entry: AbortedTxn) -> None:
        """Add one; in memory even when the file cannot be written. Raises OSError."""
        entries = self.aborted
        entries.append(entry)
        file = self.descriptors.fs.open(self.path(".txnindex"), create=True)
        try:
            file.pwrite([entry.encode()], (len(entries) - 1) * TXN_ENTRY_BYTES)
        finally:
            file.close()

    def rebuild_indexes(self, reason: str) -> None:
        """Offset and time index again from the batch headers, by the rule they were written by. Raises OSError, DamagedSegment."""
        _log.warning("indexes rebuilt segment=%s reason=%s", self.log_path, reason)
        self.index_headers()
        self.save_indexes(final=True)

    def index_headers(self) -> None:
        """Offset and time index from the batch headers, which must follow each other up to the end. Raises OSError, DamagedSegment."""
        draft = IndexDraft(self.base_offset, self.index_interval_bytes)
        expected, position = self.base_offset, 0
        for at, head in self.heads():
            header = parse_header(head)
            if header.magic != CURRENT_MAGIC or not expected <= header.base_offset <= header.last_offset:
                raise DamagedSegment(self, at)
            draft.add(at, header.size_bytes, header.last_offset, header.max_timestamp)
            expected, position = header.next_offset, at + header.size_bytes
        if position < self.size:
            raise DamagedSegment(self, position)
        self.take_indexes(draft)

    def led_astray(self, position: int, why: str) -> NoReturn:
        """Whether the index lies or the batch does only a look at all batches tells, unless this process wrote or checked them."""
        raise DamagedSegment(self, position, why, Doubt.BATCHES if position < self.trusted_from else Doubt.INDEXES)

    def take_indexes(self, draft: IndexDraft) -> None:
        """In place of what there is: `draft` was given all batches of the segment."""
        self._index, self._time_index, self.indexes_made = draft.index, draft.time_index, True
        self.bytes_since_index, self.max_timestamp, self.max_timestamp_offset = draft.since, draft.newest, draft.newest_offset

    def save_indexes(self, *, final: bool, sync: bool = False) -> None:
        """Write what the files lack; `final` adds the last time entry and trims both to their entries. Raises OSError."""
        if final and self._time_index is not None and self.max_timestamp is not None:
            self._time_index.maybe_append(self.max_timestamp, self.max_timestamp_offset)
        for suffix, index, entry_bytes in (
            (".index", self._index, OFFSET_ENTRY_BYTES),
            (".timeindex", self._time_index, TIME_ENTRY_BYTES),
        ):
            if index is None:
                continue
            file = self.descriptors.fs.open(self.written_to(suffix), create=True)
            try:
                data = index.encode(index.saved)
                if data:
                    file.pwrite([data], index.saved * entry_bytes)
                if file.size() != len(index) * entry_bytes:
                    file.truncate(len(index) * entry_bytes)
                if sync:
                    file.datasync()
                index.saved = len(index)
            finally:
                file.close()

    def written_to(self, suffix: str) -> Path:
        """Where `save_indexes` writes."""
        return self.path(suffix)

    @property
    def indexes_loaded(self) -> bool:
        return self._index is not None or self._time_index is not None

    def seal_files(self, *, trim: bool) -> None:
        """Indexes and txn index to disk, reserved space given back; on any thread, nobody appends. Raises OSError."""
        if trim:
            self.trim_sealed()
        self.sync_indexes()
        self.descriptors.fs.sync_dir(self.folder)

    def sync_indexes(self) -> None:
        """All three indexes, complete and durable. Raises OSError."""
        self.save_indexes(final=True, sync=True)
        if not self.aborted:
            return
        if not self.descriptors.fs.exists(self.path(".txnindex")):
            self.replace_aborted(self.aborted)
            return
        file = self.descriptors.fs.open(self.path(".txnindex"))
        try:
            file.datasync()
        finally:
            file.close()

    def index_is_full(self, max_bytes: int) -> bool:
        """The last slot of the time index is reserved for sealing."""
        if self.size < self.indexable_bytes(max_bytes):
            return False
        return len(self.index) >= max_bytes // OFFSET_ENTRY_BYTES or len(self.time_index) >= max_bytes // TIME_ENTRY_BYTES - 1

    def indexable_bytes(self, max_bytes: int) -> int:
        """Up to which size no index is full: one entry an interval, and the larger ones, of the time index, fill their file first."""
        return (max_bytes // TIME_ENTRY_BYTES - 1) * self.index_interval_bytes

    def _read_or_empty(self, suffix: str) -> bytes:
        try:
            return self.descriptors.fs.read(self.path(suffix))
        except FileNotFoundError:
            return b""

    def _last_entry(self, index: OffsetIndex) -> tuple[int, int]:
        """(position, last offset)"""
        return (index.positions[-1], self.base_offset + index.offsets[-1]) if len(index) else (0, -1)

    def leads_to(self, position: int, last_offset: int) -> bool:
        """True when the batch at `position` ends at `last_offset` (-1: the first batch of the file)."""
        if last_offset < 0:
            return True
        head = self.read_at(position, HEADER_SIZE)
        header = parse_header(head) if len(head) == HEADER_SIZE else None
        return header is not None and header.last_offset == last_offset and header.magic == CURRENT_MAGIC

    def _seems_to_hold(self, timestamp: int, offset: int) -> bool:
        """As `_holds`, of the largest timestamp; where the way to the batch is damaged a reader will come upon that, and whoever appends is
        not to be stopped."""
        try:
            tail = self.headers(self._last_entry(self.index)[0])
            return self._holds(timestamp, offset) and all(header.max_timestamp <= timestamp for _, header in tail)
        except DamagedSegment:
            return True

    def _holds(self, timestamp: int, offset: int) -> bool:
        """True when the largest timestamp of the batch that holds `offset` is `timestamp`. Raises OSError, DamagedSegment."""
        position = self.locate(offset)
        head = self.read_at(position, HEADER_SIZE) if position is not None else b""
        return len(head) == HEADER_SIZE and parse_header(head).max_timestamp == timestamp

    # -- writing

    def append(self, batch: Buffer, last_offset: int, max_timestamp: int, limit_bytes: int) -> int:
        """Write one batch at the end; its position. Raises OSError, then the file is as long as before.

        The indexes, which are in memory by then, get their entries by the rule of `LogSegment.append`.
        """
        if self.max_timestamp is None:
            self.max_timestamp, self.max_timestamp_offset = self.time_index.last
        due = self.bytes_since_index > self.index_interval_bytes
        indexes = (self.index, self.time_index) if due else None  # which may have to be read, before anything has changed
        position = self.put(batch, last_offset, limit_bytes)
        if max_timestamp > self.max_timestamp:
            self.max_timestamp, self.max_timestamp_offset = max_timestamp, last_offset
        if indexes is not None:
            indexes[0].append(last_offset, position)
            indexes[1].maybe_append(self.max_timestamp, self.max_timestamp_offset)
            self.bytes_since_index = 0
        self.bytes_since_index += self.size - position
        return position

    def resume(self, tail: IndexDraft) -> None:
        """Go on behind the batches that `tail` was given, from the one of the last index entry on. Raises OSError, DamagedSegment."""
        if tail.newest > self.largest_timestamp:
            self.max_timestamp, self.max_timestamp_offset = tail.newest, tail.newest_offset
        self.bytes_since_index = tail.since

    # -- reading

    def locate(self, offset: int) -> int | None:
        """Position of the first batch whose last offset is >= `offset`; None when all are below. Raises OSError, DamagedSegment."""
        indexed, position = self.index.floor(offset)
        entry, first, before = position, True, -1
        window_bytes = _WINDOW_BYTES
        while position + HEADER_SIZE <= self.size:
            window = self.read_at(position, window_bytes)
            start = 0
            while start + HEADER_SIZE <= len(window):
                base, length, delta = _WALK.unpack_from(window, start)
                if first:
                    if indexed >= 0 and (base + delta != indexed or window[start + 16] != CURRENT_MAGIC):
                        self.led_astray(position, "an offset entry leads to another batch")
                    first = False
                if base + delta >= offset:
                    if base > offset:
                        self._check_before_gap(before)
                    return position + start
                if length < HEADER_SIZE - LOG_OVERHEAD or delta < 0:
                    raise DamagedSegment(self, position + start)
                before = position + start
                start += length + LOG_OVERHEAD
            if start == 0:
                raise DamagedSegment(self, position, "the file ends")
            if before - entry > self.index_interval_bytes:
                self.led_astray(before, "an offset entry is missing")
            position += start
            window_bytes = _WINDOW_BYTES if start > window_bytes else SCAN_BYTES
        self._check_before_gap(before)
        return None

    def _check_before_gap(self, position: int) -> None:
        """What follows the batch at `position` does not begin where that ends: it may have had more records. Raises OSError,
        DamagedSegment."""
        if not self.walked_to <= position < self.trusted_from:
            return
        header = parse_header(self.read_at(position, HEADER_SIZE))
        batch = self.read_at(position, header.size_bytes)
        if len(batch) < header.size_bytes or crc32c(memoryview(batch)[CRC_START:]) != header.crc:
            raise DamagedSegment(self, position)

    # -- timestamps

    def time_floor(self, timestamp: int) -> int:
        """The offset from which on to look for the first record at or after `timestamp`. Raises OSError, DamagedSegment."""
        found, offset = self.time_index.floor(timestamp)
        if found >= 0 and not self._holds(found, offset):
            self.led_astray(0, "a time entry leads to another batch")
        return offset

    @property
    def largest_timestamp(self) -> int:
        """Largest record timestamp, -1 without records; markers count."""
        if self.max_timestamp is None:
            self.max_timestamp, self.max_timestamp_offset = self.time_index.last
        return self.max_timestamp

    def largest_timestamp_floor(self) -> int:
        """An offset at or below the first record with the largest timestamp."""
        return self.time_floor(self.largest_timestamp - 1)

    @property
    def first_timestamp(self) -> int:
        """Largest timestamp of the first batch, from which segment.ms counts; -1 for an empty segment."""
        if (self._first_timestamp is None or self._first_timestamp < 0) and self.size >= HEADER_SIZE:
            self._first_timestamp = parse_header(self.read_at(0, HEADER_SIZE)).max_timestamp
        return -1 if self._first_timestamp is None else self._first_timestamp
