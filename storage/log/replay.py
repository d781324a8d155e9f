"""Producer state and aborted transactions out of the batches themselves: headers are enough, markers are read."""

from __future__ import annotations

import contextlib
import logging
from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path
from struct import Struct

from oncelog.protocol.compression import CompressionError
from oncelog.protocol.control_records import parse_end_transaction_marker
from oncelog.protocol.records import BatchHeader, CorruptBatch, parse_header
from oncelog.storage.env import FileSystem
from oncelog.storage.files.txn_index import AbortedTxn
from oncelog.storage.log import producer_snapshots
from oncelog.storage.log.producer_state import MAX_CACHED_BATCHES, CachedBatch, ProducerState, ProducerStateEntry
from oncelog.storage.log.segment import DamagedSegment, Segment

_QUICK = Struct(">q13xhi16xqh8x")  # base offset, attributes, last offset delta, producer id, epoch
_TRANSACTIONAL, _CONTROL = 0x10, 0x20

_log = logging.getLogger(__name__)


def replay_batch(state: ProducerState, header: BatchHeader, batch: bytes | memoryview | None, arrival_ms: int) -> AbortedTxn | None:
    """Apply one stored batch; `batch` (whole) is needed for control batches. What it aborted, if it did."""
    if header.producer_id < 0:
        return None
    if not header.is_control:
        if header.is_transactional:
            _end_if_marker_is_lost(state, header, arrival_ms)
        state.append_batch(header, arrival_ms)
        return None
    assert batch is not None
    try:
        marker = parse_end_transaction_marker(batch)
    except (CorruptBatch, CompressionError) as error:
        _log.warning("marker not readable offset=%d error=%s", header.base_offset, error)
        return None
    if marker is None:
        return None
    timestamp = header.max_timestamp
    completed = state.end_transaction(
        header.producer_id, header.producer_epoch, marker.coordinator_epoch, header.last_offset, timestamp, arrival_ms, marker.commit
    )
    if completed is None:
        return None
    aborted = state.aborted_txn(completed) if completed.aborted else None
    state.complete(completed)
    return aborted


def _end_if_marker_is_lost(state: ProducerState, header: BatchHeader, arrival_ms: int) -> None:
    """A producer with an open transaction gets a higher epoch by a marker only: damage took that marker, another transaction begins here.
    How the earlier one ended the `.txnindex` still knows (`aborted_of`)."""
    entry = state.get(header.producer_id)
    if entry is None or entry.current_txn_first_offset is None or header.producer_epoch <= entry.epoch:
        return
    _log.warning(
        "marker missing producer_id=%d first_offset=%d before=%d", entry.producer_id, entry.current_txn_first_offset, header.base_offset
    )
    completed = state.end_transaction(
        entry.producer_id, header.producer_epoch, entry.coordinator_epoch, header.base_offset - 1, header.max_timestamp, arrival_ms, True
    )
    assert completed is not None
    state.complete(completed)


def replay_segment(state: ProducerState, segment: Segment, from_offset: int, to_offset: int) -> list[AbortedTxn]:
    """Apply the batches of `segment` in [from, to); what they aborted. Raises OSError."""
    position: int | None = 0
    if from_offset > segment.base_offset:
        with contextlib.suppress(DamagedSegment):  # then all of its headers are gone through
            position = segment.locate(from_offset)
    if position is None or segment.size == 0:
        return []
    replay = _Replay(state, segment)
    for at, head in segment.heads(position):
        base, attributes, delta, producer_id, epoch = _QUICK.unpack(head)
        if producer_id < 0 or base + delta < from_offset:
            continue
        if base >= to_offset:
            break
        replay.apply(at, head, producer_id, (epoch, attributes & _TRANSACTIONAL), control=attributes & _CONTROL != 0)
    replay.finish()
    return replay.aborted


class _Replay:
    """Of a producer's batches that go on as they began only the newest five leave a trace, so only those are applied."""

    def __init__(self, state: ProducerState, segment: Segment) -> None:
        self.aborted: list[AbortedTxn] = []
        self._state = state
        self._segment = segment
        self._arrival_ms = segment.mtime_ms()
        self._going_on: dict[int, tuple[tuple[int, int], deque[bytes]]] = {}

    def apply(self, position: int, head: bytes, producer_id: int, manner: tuple[int, int], *, control: bool) -> None:
        """`manner`: epoch, and whether in a transaction. The first batch of a manner may begin a transaction, so it is applied itself."""
        before = self._going_on.get(producer_id)
        if before is not None and before[0] == manner and not control:
            before[1].append(head)
            return
        self._catch_up(producer_id)
        if not control:
            self._going_on[producer_id] = manner, deque(maxlen=MAX_CACHED_BATCHES)
        header = parse_header(head)
        batch = self._segment.read_at(position, header.size_bytes) if control else None
        entry = replay_batch(self._state, header, batch, max(self._arrival_ms, header.max_timestamp))
        if entry is not None:
            self.aborted.append(entry)

    def _catch_up(self, producer_id: int) -> None:
        _, heads = self._going_on.pop(producer_id, (None, ()))
        for head in heads:
            header = parse_header(head)
            self._state.append_batch(header, max(self._arrival_ms, header.max_timestamp))

    def finish(self) -> None:
        for producer_id in list(self._going_on):
            self._catch_up(producer_id)


def state_at(
    fs: FileSystem,
    folder: Path,
    segments: Iterable[Segment],
    log_start: int,
    offset: int,
    aborted: dict[int, list[AbortedTxn]] | None = None,
) -> ProducerState:
    """What was known of the producers when the log ended at `offset`. Raises OSError.

    `aborted` gets what the markers of each segment aborted, by base offset, of the segments that had to be read from their beginning.
    """
    state = ProducerState()
    begin = log_start
    loaded = producer_snapshots.load_newest(fs, folder, offset, log_start - 1)
    if loaded is not None:
        begin = loaded.offset
        state.load(loaded.entries, begin)
        state.thin = loaded.thin
    ordered = list(segments)
    for slot, segment in enumerate(ordered):
        next_base = ordered[slot + 1].base_offset if slot + 1 < len(ordered) else offset
        if next_base > begin and segment.base_offset < offset:
            found = replay_segment(state, segment, begin, offset)
            if aborted is not None and segment.base_offset >= begin:
                aborted[segment.base_offset] = found
    state.map_end_offset = offset
    return state


def read_back(state: ProducerState, segments: Sequence[Segment]) -> None:
    """Give each producer of a `thin` state its five newest batches: from the newest segment back to where all have five, or the first of
    their epoch. Raises OSError."""
    wanted = {entry.producer_id: entry for entry in state if _may_have_more(entry)}
    for segment in reversed(segments):
        if not wanted:
            return
        found: dict[int, deque[CachedBatch]] = {}
        for _, head in segment.heads():
            base, attributes, _, producer_id, epoch = _QUICK.unpack(head)
            entry = wanted.get(producer_id)
            if entry is None or attributes & _CONTROL or epoch != entry.epoch or base >= entry.batches[0].first_offset:
                continue
            header = parse_header(head)
            batch = CachedBatch(header.last_sequence, header.last_offset, header.last_offset_delta, header.max_timestamp)
            found.setdefault(producer_id, deque(maxlen=MAX_CACHED_BATCHES)).append(batch)
        for producer_id, earlier in found.items():
            entry = wanted.pop(producer_id)
            entry = entry._replace(batches=(*earlier, *entry.batches)[-MAX_CACHED_BATCHES:])
            state.replace(entry)
            if _may_have_more(entry):
                wanted[producer_id] = entry


def _may_have_more(entry: ProducerStateEntry) -> bool:
    return 0 < len(entry.batches) < MAX_CACHED_BATCHES and entry.batches[0].first_sequence != 0


def aborted_of(
    fs: FileSystem, segments: Sequence[Segment], segment: Segment, log_end: int, found: list[AbortedTxn] | None = None
) -> list[AbortedTxn]:
    """The entries that the markers of `segment` call for; `found` by a replay of it, if there was one. Raises OSError.

    `segments` are all of the log, which ends at `log_end`.

    Where compaction removed the records of an aborted transaction, or damage its marker, an entry of the file is believed.
    """
    if found is None:
        state = state_at(fs, segment.folder, segments, segments[0].base_offset, segment.base_offset)
        found = replay_segment(state, segment, segment.base_offset, log_end)
    right = {entry.last_offset: entry for entry in found}
    if len(right) == len(segment.aborted) and all(right.get(entry.last_offset) == entry for entry in segment.aborted):
        return segment.aborted
    for entry in segment.aborted:
        if entry.last_offset not in right and _is_believed(segment, entry, log_end, active=segment is segments[-1]):
            right[entry.last_offset] = entry
    return [right[offset] for offset in sorted(right)]


def _is_believed(segment: Segment, entry: AbortedTxn, log_end: int, *, active: bool) -> bool:
    """Its marker stands there without the records, or damage took the marker or made it unreadable."""
    if not segment.base_offset <= entry.last_offset < log_end:
        return False
    position = segment.locate(entry.last_offset)
    if position is None:
        return not active
    _, header = next(segment.headers(position))
    if header.base_offset > entry.last_offset:
        return True
    if not header.is_control or header.producer_id != entry.producer_id:
        return False
    try:
        marker = parse_end_transaction_marker(segment.read_at(position, header.size_bytes))
    except (CorruptBatch, CompressionError):
        return True
    return marker is not None and not marker.commit
