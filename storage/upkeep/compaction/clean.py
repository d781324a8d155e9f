"""Log compaction (Kafka's `LogCleaner`): of every key the latest value stays, offsets never change.

A pass over one log: `offset_map` reads the dirty range and remembers the last offset of each key; `clean` copies all segments up
to the end of that range without what is superseded, and swaps each group of them in (`log/swap.py`).

Both are generators, so that no turn of the event loop is long: they yield after every few hundred records, and yield a function
where a worker thread must take over (fdatasync). `LogCleaner` (compaction/driver.py) drives them within a time budget. A pass that is
dropped in the middle leaves `.cleaned` files only, which the next start removes; what was swapped in stays valid.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from typing import TypeVar

from oncelog.protocol.compression import CompressionError, UnpacksTooLarge, decompress
from oncelog.protocol.primitives import Buffer
from oncelog.protocol.records import (
    HEADER_SIZE,
    BatchHeader,
    CorruptBatch,
    Record,
    check_crc,
    iter_records,
    iter_unpacked,
    parse_header,
)
from oncelog.storage.config import LogConfig
from oncelog.storage.env import FileSystem
from oncelog.storage.files.offset_index import ENTRY_BYTES as OFFSET_ENTRY_BYTES
from oncelog.storage.files.time_index import ENTRY_BYTES as TIME_ENTRY_BYTES
from oncelog.storage.log.segment import MAX_RELATIVE_OFFSET, Segment
from oncelog.storage.log.swap import CleanedSegment
from oncelog.storage.upkeep.compaction.batch import CHUNK_RECORDS, empty_batch, rebuilt_batch
from oncelog.storage.upkeep.compaction.choice import CleanableLog, closed_segments
from oncelog.storage.upkeep.compaction.transactions import CleanedTransactions

Job = Callable[[], None]
T = TypeVar("T")
# None: take a breath; a job: run it off the event loop, go on when it is done
Steps = Generator[Job | None, None, T]

DEFAULT_MAX_KEYS = 1_000_000
LONGEST_PLAIN_KEY = 16
QUICK_UNPACKED_BYTES = 1 << 18  # more is a worker's


class CleaningAborted(Exception):
    """The log changed under the pass (retention, deletion, truncation) or is damaged; it may be tried again."""


@dataclass(slots=True)
class CleanResult:
    """`first_dirty_offset` belongs into the cleaner checkpoint: everything below it is clean."""

    first_dirty_offset: int
    bytes_before: int = 0
    bytes_after: int = 0
    records_dropped: int = 0
    records_without_key: int = 0


@dataclass(slots=True)
class OffsetMap:
    """Last offset of each key below `end`. Long keys are kept as a digest one byte longer than any plain one."""

    end: int
    offsets: dict[bytes, int] = field(default_factory=dict)

    def put(self, key: bytes, offset: int) -> None:
        self.offsets[_short(key)] = offset

    def get(self, key: bytes) -> int:
        return self.offsets.get(_short(key), -1)

    def __len__(self) -> int:
        return len(self.offsets)


def _short(key: bytes) -> bytes:
    return key if len(key) <= LONGEST_PLAIN_KEY else blake2b(key, digest_size=LONGEST_PLAIN_KEY + 1).digest()


def offset_map(log: CleanableLog, start: int, end: int, max_keys: int = DEFAULT_MAX_KEYS) -> Steps[OffsetMap]:
    """Keys of the committed records in [start, end). A map that gets full ends early, at a batch: the next pass goes on there."""
    found = OffsetMap(start)
    # the marker may stand behind `end`, even in the active segment: its records must not supersede committed ones all the same
    aborted = [entry for segment in log.segments for entry in segment.aborted if entry.first_offset < end]
    transactions = CleanedTransactions(aborted)
    for segment in closed_segments(log):
        if segment.base_offset >= end:
            break
        for header, batch in _batches(segment):
            if header.base_offset >= end:
                return found
            dropped = transactions.can_drop(header, batch)
            if header.last_offset < start:
                continue
            if not header.is_control and not dropped:
                if len(found) and len(found) + header.records_count > max_keys:
                    return found
                for number, record in enumerate((yield from _records(header, batch)), 1):
                    if record.key is not None and record.offset >= start:
                        found.put(record.key, record.offset)
                    if number % CHUNK_RECORDS == 0:
                        yield None
            found.end = header.next_offset
            yield None
    found.end = max(found.end, end)
    return found


def _records(header: BatchHeader, batch: bytes) -> Steps[Iterator[Record]]:
    """The records of a batch; what becomes large is unpacked by a worker. Raises CorruptBatch."""
    packed = memoryview(batch)[HEADER_SIZE:]
    if not header.codec:
        return iter_unpacked(header, packed)
    try:
        return iter_unpacked(header, decompress(header.codec, packed, QUICK_UNPACKED_BYTES))
    except UnpacksTooLarge:
        pass
    except CompressionError as error:
        raise CorruptBatch(f"batch at offset {header.base_offset}: {error}") from error
    unpacked: list[Buffer | CompressionError] = []

    def unpack() -> None:
        try:
            unpacked.append(decompress(header.codec, packed))
        except CompressionError as error:
            unpacked.append(error)

    yield unpack
    (result,) = unpacked
    if isinstance(result, CompressionError):
        raise CorruptBatch(f"batch at offset {header.base_offset}: {result}")
    return iter_unpacked(header, result)


def _batches(segment: Segment) -> Iterator[tuple[BatchHeader, bytes]]:
    """Batches of a segment with their bytes. Raises CleaningAborted at a damaged one: it must not spread or vanish."""
    for position, header in segment.headers():
        batch = segment.read_at(position, header.size_bytes)
        if not check_crc(batch):
            raise CleaningAborted(f"wrong CRC at offset {header.base_offset} of {segment.log_path}")
        yield header, batch


def clean(log: CleanableLog, fs: FileSystem, start: int, end: int, now_ms: int, max_keys: int = DEFAULT_MAX_KEYS) -> Steps[CleanResult]:
    """One pass over [start, end) of `log`. Raises CleaningAborted, OSError."""
    keys = yield from offset_map(log, start, end, max_keys)
    result = CleanResult(keys.end)
    sources = [segment for segment in closed_segments(log) if segment.base_offset < keys.end]
    aborted = [entry for segment in sources for entry in segment.aborted if entry.last_offset < keys.end]
    copy = _Copy(log, fs, keys, CleanedTransactions(aborted), now_ms, result)
    for group in group_segments(sources, log.config):
        yield from copy.group(group)
    return result


def group_segments(segments: Sequence[Segment], config: LogConfig) -> list[list[Segment]]:
    """Neighbours that fit into one segment together: log, both indexes and offset span (`LogCleaner.groupSegmentsBySize`)."""
    groups: list[list[Segment]] = []
    size = index = times = 0
    for segment in segments:
        index_bytes, time_bytes = len(segment.index) * OFFSET_ENTRY_BYTES, len(segment.time_index) * TIME_ENTRY_BYTES
        fits = (
            groups
            and size + segment.size <= config.max_segment_bytes
            and index + index_bytes <= config.segment_index_bytes
            and times + time_bytes <= config.segment_index_bytes
            and _last_offset(segment) - groups[-1][0].base_offset <= MAX_RELATIVE_OFFSET
        )
        if fits:
            groups[-1].append(segment)
            size, index, times = size + segment.size, index + index_bytes, times + time_bytes
        else:
            groups.append([segment])
            size, index, times = segment.size, index_bytes, time_bytes
    return groups


def _last_offset(segment: Segment) -> int:
    """Last offset that the index knows: a bound for grouping needs no exact one."""
    return segment.base_offset + (segment.index.offsets[-1] if len(segment.index) else 0)


class _Copy:
    """Copies groups of segments; transactions may span them, so their state is shared."""

    def __init__(
        self, log: CleanableLog, fs: FileSystem, keys: OffsetMap, transactions: CleanedTransactions, now_ms: int, result: CleanResult
    ) -> None:
        self.log, self.fs, self.keys, self.transactions, self.now_ms, self.result = log, fs, keys, transactions, now_ms, result
        self.last_of_producer = {entry.producer_id: entry for entry in log.producers()}

    def group(self, sources: list[Segment]) -> Steps[None]:
        """One new segment for `sources`, swapped in."""
        target = CleanedSegment(self.fs, self.log.folder, sources[0].base_offset, self.log.config.index_interval_bytes)
        swapped = False
        try:
            for segment in sources:
                for header, batch in _batches(segment):
                    yield from self._batch(header, batch, target)
                    yield None
                self.result.bytes_before += segment.size
            beyond = [entry for segment in sources for entry in segment.aborted if entry.last_offset >= self.keys.end]
            kept, self.transactions.kept = self.transactions.kept + beyond, []
            yield partial(target.finish, kept)
            present = {id(segment) for segment in closed_segments(self.log)}
            if self.log.offline is not None or any(id(segment) not in present for segment in sources):
                raise CleaningAborted("the segments changed while they were cleaned")
            swapped = True
            self.log.segments.replace(sources, target, self.now_ms, self.log.config.file_delete_delay_ms)
            self.result.bytes_after += target.size
        finally:
            if not swapped:
                target.close()
                target.discard()

    def _batch(self, header: BatchHeader, batch: bytes, target: CleanedSegment) -> Steps[None]:
        if header.base_offset >= self.keys.end:
            target.append(header, batch, header.max_timestamp)
            return
        droppable = self.transactions.can_drop(header, batch)
        horizon = header.base_timestamp if header.has_delete_horizon else None
        if header.is_control:
            # a marker outlives its data by delete.retention.ms, so that a reader who saw the data sees its end
            kept = [] if droppable and horizon is not None and horizon <= self.now_ms else list(iter_records(batch))
            begins_to_age = droppable
        else:
            kept = [] if droppable else (yield from self._retained(header, batch, horizon))
            begins_to_age = any(record.key is not None and record.value is None for record in kept)
        self.result.records_dropped += header.records_count - len(kept)
        if not kept:
            if self._must_stay_empty(header):
                target.append(header, empty_batch(header), header.max_timestamp)
        elif len(kept) == header.records_count and not (begins_to_age and horizon is None):
            target.append(header, batch, header.max_timestamp)
        else:
            if begins_to_age and horizon is None:
                horizon = self.now_ms + self.log.config.delete_retention_ms
            rebuilt = yield from rebuilt_batch(header, kept, horizon)
            target.append(header, rebuilt, parse_header(rebuilt).max_timestamp)

    def _retained(self, header: BatchHeader, batch: bytes, horizon: int | None) -> Steps[list[Record]]:
        kept = []
        tombstones_stay = horizon is None or self.now_ms < horizon
        for number, record in enumerate((yield from _records(header, batch)), 1):
            if record.key is None:
                self.result.records_without_key += 1
            elif record.offset >= self.keys.get(record.key) and (record.value is not None or tombstones_stay):
                kept.append(record)
            if number % CHUNK_RECORDS == 0:
                yield None
        return kept

    def _must_stay_empty(self, header: BatchHeader) -> bool:
        """The last trace of a producer's sequence, or of the end of the range, is kept as a bare header (RETAIN_EMPTY)."""
        if header.next_offset == self.keys.end:
            return True
        entry = self.last_of_producer.get(header.producer_id)
        if entry is None:
            return False
        if entry.last_data_offset >= 0:
            return header.last_offset == entry.last_data_offset
        return header.is_control and header.producer_epoch == entry.producer_epoch
