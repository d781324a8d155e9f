"""`.index`, `.timeindex` and `.txnindex` of one segment against its batches."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from oncelog.storage.audit.findings import Findings, Kind
from oncelog.storage.audit.raw_directory import PartitionFolder
from oncelog.storage.audit.raw_formats import (
    OFFSET_ENTRY,
    TIME_ENTRY,
    TxnEntry,
    parse_offset_index,
    parse_time_index,
    parse_txn_index,
    used_slots,
)
from oncelog.storage.files.damaged_file import DamagedFile

DEFAULT_INTERVAL_BYTES = 4096


class BatchFact(NamedTuple):
    """What the indexes can be checked against."""

    position: int
    base_offset: int
    last_offset: int
    max_timestamp: int


@dataclass(slots=True)
class SegmentFacts:
    """One `.log` as walked. `active`: the last one of its partition; `recovered`: the next start checks it and builds its indexes again."""

    base_offset: int
    active: bool
    recovered: bool = False
    batches: list[BatchFact] = field(default_factory=list)
    aborted: list[TxnEntry] = field(default_factory=list)
    max_timestamp: int = -1


@dataclass(slots=True)
class IndexCheck:
    """Checks one segment's indexes. `clean`: the last stop was orderly, so nothing may be padded or behind."""

    folder: PartitionFolder
    findings: Findings
    clean: bool
    compacted: bool
    log_start: int
    interval_bytes: int = DEFAULT_INTERVAL_BYTES
    gaps: bool = True  # tell of entries that ought to be there

    def run(self, segment: SegmentFacts) -> None:
        self._offset_index(segment)
        self._time_index(segment)
        self._txn_index(segment)

    def _index(self, segment: SegmentFacts, kind: Kind, message: str, *, offset: int, file: str) -> None:
        """An error, unless the next start builds the indexes of the segment again in any case."""
        if segment.recovered:
            self.findings.note(kind, f"will be mended by the next start: {message}", offset=offset, file=file)
        else:
            self.findings.error(kind, message, offset=offset, file=file)

    def _read(self, segment: SegmentFacts, suffix: str, missing: Kind, size: Kind, entry_bytes: int) -> bytes | None:
        path = self.folder.file(segment.base_offset, suffix)
        if not path.exists():
            # an empty segment's are created with its first entry
            if segment.batches:
                self._index(segment, missing, "missing", offset=segment.base_offset, file=path.name)
            return None
        data = path.read_bytes()
        if len(data) % entry_bytes:
            message = f"{len(data)} bytes are not a multiple of {entry_bytes}"
            self._index(segment, size, message, offset=segment.base_offset, file=path.name)
        padding = len(data) // entry_bytes - used_slots(data, entry_bytes)
        if padding:
            message = f"{padding} unused slots, not trimmed"
            self._index(segment, Kind.INDEX_PADDING, message, offset=segment.base_offset, file=path.name)
        return data

    def _offset_index(self, segment: SegmentFacts) -> None:
        data = self._read(segment, "index", Kind.INDEX_MISSING, Kind.INDEX_SIZE, OFFSET_ENTRY.size)
        if data is None:
            return
        name = self.folder.file(segment.base_offset, "index").name
        by_position = {batch.position: batch for batch in segment.batches}
        previous = (-1, -1)
        for entry in parse_offset_index(data, segment.base_offset):
            batch = by_position.get(entry.position)
            if entry.offset <= previous[0] or entry.position <= previous[1]:
                message = f"entry ({entry.offset}, {entry.position}) does not rise above {previous}"
                self._index(segment, Kind.INDEX_ORDER, message, offset=entry.offset, file=name)
            elif batch is None:
                message = f"entry {entry.offset} points at byte {entry.position}, where no batch begins"
                self._index(segment, Kind.INDEX_MISMATCH, message, offset=entry.offset, file=name)
            elif batch.last_offset != entry.offset:
                message = f"entry {entry.offset} points at byte {entry.position}, whose batch ends at {batch.last_offset}"
                self._index(segment, Kind.INDEX_MISMATCH, message, offset=entry.offset, file=name)
            previous = (entry.offset, entry.position)
        self._gaps(segment, data, name)

    def _gaps(self, segment: SegmentFacts, data: bytes, name: str) -> None:
        """A batch further than the interval behind the last entry has one of its own; a cleaner or follower writes several at once."""
        entries = {entry.position for entry in parse_offset_index(data, segment.base_offset)}
        last = 0
        for batch in segment.batches if self.gaps else ():
            if batch.position in entries:
                last = batch.position
            elif batch.position - last > self.interval_bytes:
                message = f"no entry for the batch at byte {batch.position}, the last one is for byte {last}: reading takes longer"
                self.findings.note(Kind.INDEX_MISMATCH, message, offset=batch.base_offset, file=name)
                return

    def _time_index(self, segment: SegmentFacts) -> None:
        data = self._read(segment, "timeindex", Kind.TIME_INDEX_MISSING, Kind.TIME_INDEX_SIZE, TIME_ENTRY.size)
        if data is None:
            return
        name = self.folder.file(segment.base_offset, "timeindex").name
        largest: dict[int, int] = {}  # last offset of a batch that raised the maximum → that maximum
        maximum = -1
        for batch in segment.batches:
            maximum = max(maximum, batch.max_timestamp)
            largest[batch.last_offset] = maximum
        entries = parse_time_index(data, segment.base_offset)
        own = {batch.last_offset: batch.max_timestamp for batch in segment.batches}
        timestamp = offset = -1
        for entry in entries:
            if entry.timestamp <= timestamp or entry.offset < offset:
                message = f"entry ({entry.timestamp}, {entry.offset}) does not rise above ({timestamp}, {offset})"
                self._index(segment, Kind.TIME_INDEX_ORDER, message, offset=entry.offset, file=name)
            elif own.get(entry.offset) != entry.timestamp or largest[entry.offset] != entry.timestamp:
                message = f"entry says {entry.timestamp}, the batch {own.get(entry.offset, 'does not exist')}"
                self._index(segment, Kind.TIME_INDEX_MISMATCH, message, offset=entry.offset, file=name)
            timestamp, offset = entry.timestamp, entry.offset
        if timestamp < segment.max_timestamp and (not segment.active or self.clean or not segment.recovered):
            message = f"last entry {timestamp} is below the largest timestamp {segment.max_timestamp}, which retention follows"
            self._index(segment, Kind.TIME_INDEX_SHORT, message, offset=segment.base_offset, file=name)

    def _txn_index(self, segment: SegmentFacts) -> None:
        path = self.folder.file(segment.base_offset, "txnindex")
        entries: list[TxnEntry] = []
        if path.exists():
            try:
                entries = parse_txn_index(path.read_bytes())
            except DamagedFile as error:
                self._index(segment, Kind.TXN_INDEX_DAMAGED, str(error), offset=segment.base_offset, file=path.name)
                return
        found = {entry.last_offset: entry for entry in entries}
        wanted = {entry.last_offset: entry for entry in segment.aborted}
        for last_offset, entry in wanted.items():
            self._compare(found.get(last_offset), entry, segment, path.name)
        for last_offset, entry in found.items():
            # what is in front of the log start, or was cleaned away, leaves its entry behind
            if last_offset not in wanted and not self.compacted and entry.first_offset >= self.log_start:
                message = f"hides producer {entry.producer_id} from {entry.first_offset}, but no abort marker is at {last_offset}"
                self.findings.error(Kind.TXN_INDEX_EXTRA, message, offset=last_offset, file=path.name)

    def _compare(self, found: TxnEntry | None, wanted: TxnEntry, segment: SegmentFacts, name: str) -> None:
        if found is None:
            message = f"records of producer {wanted.producer_id} from {wanted.first_offset} were aborted, read_committed would see them"
            self._index(segment, Kind.TXN_INDEX_MISSING, message, offset=wanted.last_offset, file=name)
        elif found.producer_id != wanted.producer_id or found.first_offset > wanted.first_offset:
            message = (
                f"entry covers producer {found.producer_id} from {found.first_offset}, "
                f"the log says {wanted.producer_id} from {wanted.first_offset}"
            )
            self.findings.error(Kind.TXN_INDEX_MISSING, message, offset=wanted.last_offset, file=name)
        elif self.log_start <= found.first_offset < wanted.first_offset and not self.compacted:
            message = f"entry begins at {found.first_offset}, the transaction at {wanted.first_offset}"
            self.findings.error(Kind.TXN_INDEX_EXTRA, message, offset=wanted.last_offset, file=name)
        elif found.last_stable_offset != wanted.last_stable_offset and found.last_stable_offset >= self.log_start and not self.compacted:
            message = f"entry says LSO {found.last_stable_offset}, the log {wanted.last_stable_offset}"
            self.findings.error(Kind.TXN_INDEX_LSO, message, offset=wanted.last_offset, file=name)
