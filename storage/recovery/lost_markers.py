"""Markers that stood in damaged bytes, made again.

A stock client that reads committed records drops a producer named in the list of aborted transactions until an ABORT marker comes, so
without the marker it also drops what the producer committed afterwards. Where a COMMIT marker is gone, the next ABORT would take the
committed records along. What the `.txnindex` names was aborted; a transaction that ended and is not named there was committed.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from struct import Struct
from typing import NamedTuple

from oncelog.protocol.control_records import MARKER_SIZE_BYTES, end_transaction_marker
from oncelog.protocol.records import CONTROL_BIT, LOG_OVERHEAD, TRANSACTIONAL_BIT, BatchHeader, parse_header
from oncelog.storage.env import FileSystem
from oncelog.storage.files.txn_index import AbortedTxn
from oncelog.storage.log import producer_snapshots
from oncelog.storage.log.producer_state import unpack_entry
from oncelog.storage.log.replay import replay_batch, state_at
from oncelog.storage.log.segment import Segment
from oncelog.storage.log.segment_file import SCAN_BYTES

_PRODUCER_AT = 43
_MARKER = Struct(">qi9xh20xqh")  # base offset, length, attributes, producer id, epoch
_MARKER_BITS = TRANSACTIONAL_BIT | CONTROL_BIT
_FAR = 1 << 62

_log = logging.getLogger(__name__)


class Hole(NamedTuple):
    """Bytes [position, end) of a segment that are no batches any more; offsets [first, resumed) stood there, -1 for all that followed."""

    position: int
    end: int
    first: int
    resumed: int


class _Seen(NamedTuple):
    offset: int
    epoch: int
    control: bool


class _Lost(NamedTuple):
    """A marker to be made again."""

    offset: int
    producer_id: int
    epoch: int
    commit: bool


class LostMarkers:
    """Of one segment among `segments`, before `holes` are taken out of it. `log_end`: where the log ended, -1: not known. `durable`: what
    a power cut took from there on was never acknowledged, and a marker does not come back without the records in front of it."""

    def __init__(
        self,
        fs: FileSystem,
        segments: Sequence[Segment],
        segment: Segment,
        holes: Sequence[Hole],
        log_end: int,
        durable: int,
        others: Sequence[AbortedTxn],
    ) -> None:
        self._fs = fs
        self._aborted = [*segment.aborted, *others]
        self._others = others
        self._bases = {one.base_offset for one in segments}
        self._of_others = list[AbortedTxn]()  # entries of segments that are gone, whose markers this one gets
        self._segment = segment
        self._holes = holes
        slot = next(number for number, one in enumerate(segments) if one is segment)
        self._next_base = segments[slot + 1].base_offset if slot + 1 < len(segments) else log_end if log_end >= 0 else _FAR
        self._sealed = slot + 1 < len(segments) and self._next_base <= durable
        self._durable = durable
        self._state = state_at(fs, segment.folder, segments[:slot], segments[0].base_offset, segment.base_offset)
        self._timestamp, self._leader_epoch = 0, 0

    def made_again(self) -> list[list[bytes]]:
        """Marker batches for each hole, by offset. Raises OSError."""
        found = []
        at = 0
        for hole in self._holes:
            for position, header in self._headers(at, hole.position):
                self._replay(position, header)
            markers = [self._marker(lost) for lost in self._lost_in(hole)]
            for marker in markers:
                replay_batch(self._state, parse_header(marker), marker, self._timestamp)
            found.append(markers)
            at = hole.end
        if self._of_others:
            known = {entry.last_offset: entry for entry in (*self._of_others, *self._segment.aborted)}
            self._segment.replace_aborted([known[offset] for offset in sorted(known)])
        return found

    def _headers(self, begin: int, end: int) -> Iterator[tuple[int, BatchHeader]]:
        for position, header in self._segment.headers(begin) if begin < end else ():
            if position >= end:
                return
            yield position, header

    def _replay(self, position: int, header: BatchHeader) -> None:
        self._timestamp, self._leader_epoch = max(self._timestamp, header.max_timestamp), header.partition_leader_epoch
        if header.producer_id >= 0:
            batch = self._segment.read_at(position, header.size_bytes) if header.is_control else None
            replay_batch(self._state, header, batch, header.max_timestamp)

    def _marker(self, lost: _Lost) -> bytes:
        known = self._state.get(lost.producer_id)
        coordinator_epoch = max(known.coordinator_epoch, 0) if known is not None else 0
        return bytes(
            end_transaction_marker(
                lost.producer_id, lost.epoch, lost.commit, coordinator_epoch, self._timestamp, lost.offset, self._leader_epoch
            )
        )

    def _lost_in(self, hole: Hole) -> list[_Lost]:
        resumed = hole.resumed if hole.resumed >= 0 else min(self._next_base, self._durable)
        behind = resumed if hole.resumed >= 0 or self._sealed else _FAR
        aborted = [entry for entry in self._aborted if hole.first <= entry.last_offset < resumed]
        opened = {producer_id: (epoch, first) for producer_id, epoch, first in self._state.open_transactions()}
        later = self._later(hole, {entry.producer_id for entry in aborted} | opened.keys())
        taken = {entry.last_offset for entry in aborted}
        lost, unknown = [], list[AbortedTxn]()
        self._of_others += [entry for entry in aborted if entry in self._others]
        commit = not self._index_is_lost(hole, resumed)
        for entry in aborted:
            claimed = _claim(self._segment, hole, entry.producer_id, resumed)
            epoch = self._epoch(entry.producer_id, claimed, later.get(entry.producer_id, ()))
            lost.append(_Lost(entry.last_offset, entry.producer_id, epoch, False))
        for producer_id, (_, first) in opened.items():
            named = min((entry.first_offset for entry in aborted if entry.producer_id == producer_id), default=_FAR)
            if named <= first:
                continue  # else it ended in front of that one
            claimed = _claim(self._segment, hole, producer_id, resumed)
            seen = later.get(producer_id, ())
            offset = (
                claimed.offset if claimed is not None and claimed.offset not in taken else _last_free(hole.first, min(behind, named), taken)
            )
            if offset is not None and (claimed is not None or named < _FAR or self._ended(producer_id, first, hole.first, resumed, seen)):
                taken.add(offset)
                lost.append(_Lost(offset, producer_id, self._epoch(producer_id, claimed, seen), commit))
                if not commit:
                    unknown.append(AbortedTxn(producer_id, first, offset, offset + 1))
        if unknown:
            told = ",".join(str(entry.first_offset) for entry in unknown)
            _log.error("how transactions ended is lost, they are aborted folder=%s first_offsets=%s", self._segment.folder, told)
            self._of_others += unknown
        return sorted(lost)

    def _index_is_lost(self, hole: Hole, resumed: int) -> bool:
        """Segments of which nothing is left had aborted transactions, as the voucher for their indexes tells, but not which."""
        if hole.end < self._segment.size or hole.position < hole.end:
            return False
        vouched = producer_snapshots.vouched(self._fs, self._segment.folder)
        gone = [base for base in vouched if hole.first <= base < resumed and base not in self._bases]
        return any(not any(base <= entry.last_offset for entry in self._others) for base in gone)

    def _later(self, hole: Hole, producer_ids: set[int]) -> dict[int, list[_Seen]]:
        """What these producers wrote into the segment behind the hole."""
        found: dict[int, list[_Seen]] = {}
        at, bounds = hole.end, [other.position for other in self._holes if other.position >= hole.end]
        ends = {other.position: other.end for other in self._holes}
        for bound in [*bounds, self._segment.size]:
            for _, header in self._headers(at, bound) if producer_ids else ():
                if header.producer_id in producer_ids:
                    seen = _Seen(header.base_offset, header.producer_epoch, header.is_control)
                    found.setdefault(header.producer_id, []).append(seen)
            at = ends.get(bound, bound)
        return found

    def _epoch(self, producer_id: int, claimed: _Seen | None, later: Sequence[_Seen]) -> int:
        """With a transaction of version 2 the marker has the epoch behind that of the data, else the same."""
        known = self._state.get(producer_id)
        if known is None:
            return claimed.epoch if claimed is not None else later[0].epoch if later else 0
        bumped = known.epoch + 1
        if claimed is not None and claimed.epoch in (known.epoch, bumped):
            return claimed.epoch
        return bumped if later and later[0].epoch >= bumped else known.epoch

    def _ended(self, producer_id: int, first: int, begin: int, resumed: int, later: Sequence[_Seen]) -> bool:
        """Did the transaction that is open from `first` on end between `begin` and `resumed`, as what stands behind tells?"""
        known = self._state.get(producer_id)
        assert known is not None
        marker = next((seen.offset for seen in later if seen.control), None)
        before_marker = [seen for seen in later if marker is None or seen.offset < marker]
        if any(seen.epoch > known.epoch for seen in before_marker if not seen.control):
            return True
        if marker is not None:
            return any(
                entry.producer_id == producer_id and entry.last_offset == marker and entry.first_offset >= resumed
                for entry in self._aborted
            )
        loaded = producer_snapshots.load_newest(self._fs, self._segment.folder, self._next_base, resumed - 1)
        if loaded is None or producer_id not in loaded.entries:
            return False
        still_open = unpack_entry(producer_id, loaded.entries[producer_id]).current_txn_first_offset
        return still_open is None or still_open >= max(begin, first + 1)


def _claim(segment: Segment, hole: Hole, producer_id: int, resumed: int) -> _Seen | None:
    """What a damaged marker still says of itself."""
    wanted = producer_id.to_bytes(8, "big", signed=True)
    for position in range(hole.position, hole.end, SCAN_BYTES):
        raw = segment.read_at(position, min(SCAN_BYTES + _MARKER.size, hole.end - position))
        at = raw.find(wanted, _PRODUCER_AT)
        while at >= 0 and at - _PRODUCER_AT + _MARKER.size <= len(raw):
            offset, length, attributes, _, epoch = _MARKER.unpack_from(raw, at - _PRODUCER_AT)
            is_marker = attributes & _MARKER_BITS == _MARKER_BITS and length == MARKER_SIZE_BYTES - LOG_OVERHEAD
            if is_marker and hole.first <= offset < resumed:
                return _Seen(offset, epoch, True)
            at = raw.find(wanted, at + 1)
    return None


def _last_free(first: int, resumed: int, taken: set[int]) -> int | None:
    if resumed == _FAR:
        return None
    return next((offset for offset in range(resumed - 1, first - 1, -1) if offset not in taken), None)


def markers_again(
    fs: FileSystem,
    segments: Sequence[Segment],
    segment: Segment,
    holes: Sequence[Hole],
    log_end: int,
    durable: int = _FAR,
    others: Sequence[AbortedTxn] = (),
) -> list[list[bytes]]:
    """Of every hole in `segment`, one of `segments`: the marker batches that are to stand there. `others` were aborted in segments that are
    gone. Raises OSError."""
    return LostMarkers(fs, segments, segment, holes, log_end, durable, others).made_again()
