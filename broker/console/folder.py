"""One partition folder, read and never written: its batches walked once, and places remembered from where to read again."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from oncelog.broker.console.model import OpenTransaction, Partition, Pieces, Producer, SeenBatch, SegmentAt
from oncelog.protocol.names import TopicPartition
from oncelog.protocol.records import CorruptBatch
from oncelog.storage.audit.findings import Findings
from oncelog.storage.audit.producers import PartitionReplay
from oncelog.storage.audit.raw_directory import BatchAt, Garbage, PartitionFolder, map_file, scan_log

_EVERY_BYTES = 64 << 10  # between two places that are remembered
_MOST_MAPPED = 64  # files at a time
_map = lru_cache(maxsize=_MOST_MAPPED)(map_file)


class _Place(NamedTuple):
    """Where a batch begins. `max_timestamp`: of the batches up to the next place."""

    offset: int
    base: int
    position: int
    max_timestamp: int


@dataclass(slots=True)
class Walked:
    """What the batches of a partition add up to. `damage`: what ended the walk before the end of a file, None for a whole one."""

    folder: PartitionFolder
    partition: Partition
    pieces: Pieces
    producers: list[Producer]
    opened: list[OpenTransaction]
    damage: str | None = None
    places: list[_Place] = field(default_factory=list)

    def read(self, offset: int, max_bytes: int) -> bytes:
        """Whole batches from the one that holds `offset`, at least one where there is one."""
        at = bisect_right(self.places, offset, key=lambda place: place.offset) - 1
        if at < 0 or offset >= (self.partition.log_end_offset or 0):
            return b""
        out = bytearray()
        for batch in self._batches(self.places[at]):
            if batch.header.last_offset < offset:
                continue
            if out and len(out) + len(batch.view) > max_bytes:
                break
            out += batch.view
            if len(out) >= max_bytes:
                break
        return bytes(out)

    def _batches(self, place: _Place) -> Iterator[BatchAt]:
        """From a place on, through the segments that follow."""
        bases = [base for base in self.folder.bases if base >= place.base]
        for base in bases:
            for batch in scan_log(_map(self.folder.file(base, "log")), place.position if base == place.base else 0):
                if isinstance(batch, Garbage):
                    return
                yield batch

    def offset_at(self, time_ms: int) -> int | None:
        """An offset at or a little before the first with a timestamp from `time_ms` on."""
        return next((place.offset for place in self.places if place.max_timestamp >= time_ms), None)


def walk(folder: PartitionFolder, log_start: int | None) -> Walked:
    """`log_start`: as the checkpoint has it. Raises OSError."""
    bases = folder.bases
    first = bases[0] if bases else 0
    replay = PartitionReplay(Findings(), gaps_allowed=True, sequences=False)
    places: list[_Place] = []
    segments: list[SegmentAt] = []
    damage, end = None, first
    for base in bases:
        data = map_file(folder.file(base, "log"))
        segments.append(SegmentAt(base, len(data), base == bases[-1]))
        since, latest = -_EVERY_BYTES, -1
        for batch in scan_log(data):
            if isinstance(batch, Garbage):
                if not batch.torn or base != bases[-1]:
                    damage = f"{folder.name}/{base:020d}.log: {batch.reason} at {batch.position}"
                break
            header = batch.header
            if batch.position - since >= _EVERY_BYTES:
                since, latest = batch.position, -1
                places.append(_Place(header.base_offset, base, batch.position, -1))
            latest = max(latest, header.max_timestamp)
            places[-1] = places[-1]._replace(max_timestamp=latest)
            end = header.next_offset
            try:
                replay.apply(batch, folder.name)
            except CorruptBatch as wrong:
                damage = f"{folder.name}/{base:020d}.log: {wrong} at {batch.position}"
    begin = first if log_start is None else max(log_start, first)
    opened = [
        OpenTransaction(each.producer_id, each.producer_epoch, each.first_offset, replay.producers[each.producer_id].timestamp)
        for each in replay.open_transactions()
    ]
    stable = max(min((each.first_offset for each in opened), default=end), begin)
    edges = Partition(
        TopicPartition(folder.topic, folder.partition),
        begin,
        stable,
        end,
        end,
        len(opened),
        len(replay.producers),
        sum(each.bytes for each in segments),
    )
    return Walked(folder, edges, Pieces(tuple(segments), tuple(folder.snapshots)), _producers(replay), opened, damage, places)


def _producers(replay: PartitionReplay) -> list[Producer]:
    found = []
    for producer_id, state in replay.producers.items():
        last = state.batches[-1].last_sequence if state.batches else -1
        batches = tuple(
            SeenBatch(each.first_sequence, each.last_sequence, each.base_offset, each.last_offset, each.timestamp) for each in state.batches
        )
        following = (last + 1) & 0x7FFFFFFF if last >= 0 else 0
        found.append(
            Producer(producer_id, state.producer_epoch, following, state.timestamp, state.coordinator_epoch, state.first_offset, batches)
        )
    return found
