"""One partition folder against itself: every batch, index, snapshot and epoch line, from the first byte to the last."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from oncelog.protocol.compression import CompressionError
from oncelog.protocol.records import BatchHeader, CorruptBatch, check_crc, iter_records
from oncelog.storage.audit.findings import Findings, Kind, Severity
from oncelog.storage.audit.indexes import DEFAULT_INTERVAL_BYTES, BatchFact, IndexCheck, SegmentFacts
from oncelog.storage.audit.producers import EXPIRATION_MS, MarkerAt, OpenTransaction, PartitionReplay
from oncelog.storage.audit.raw_directory import BatchAt, Garbage, PartitionFolder, map_file, scan_log
from oncelog.storage.audit.raw_formats import ProducerEntry, parse_leader_epochs, parse_snapshot
from oncelog.storage.directory.topic import TOPIC_FILE
from oncelog.storage.files.damaged_file import DamagedFile
from oncelog.storage.log.swap import SWAP
from oncelog.storage.recovery.missing import MISSING_FILE, parse_missing, within

LEADER_EPOCHS = "leader-epoch-checkpoint"
QUARANTINE = "quarantine-"
MAX_RELATIVE_OFFSET = 2**31 - 1


@dataclass(frozen=True, slots=True)
class PartitionContext:
    """What the directory says about a partition. `log_start`: from the checkpoint, None without a line."""

    clean: bool
    compacted: bool
    internal: bool
    log_start: int | None = None
    records: bool = True
    recovery_point: int = 0
    index_interval_bytes: int = DEFAULT_INTERVAL_BYTES


@dataclass(slots=True)
class PartitionFacts:
    """What a partition's log adds up to, for the checks that look at several partitions."""

    log_start: int
    log_end: int
    open_transactions: list[OpenTransaction] = field(default_factory=list)
    markers: list[MarkerAt] = field(default_factory=list)
    batches: int = 0
    # nothing in front of the log start, and no offset cleaned away: every marker ever written must be here
    complete: bool = True

    @property
    def last_stable_offset(self) -> int:
        first = min((transaction.first_offset for transaction in self.open_transactions), default=self.log_end)
        return max(first, self.log_start)


def audit_partition(folder: PartitionFolder, context: PartitionContext, findings: Findings) -> PartitionFacts:
    """Check one partition folder; reads every byte of its logs."""
    return _PartitionAudit(folder, context, findings).run()


class _PartitionAudit:
    """Walks the segments in order and holds what the next batch is compared with."""

    def __init__(self, folder: PartitionFolder, context: PartitionContext, findings: Findings) -> None:
        self.folder, self.context, self.findings = folder, context, findings
        self.bases = folder.bases
        first = self.bases[0] if self.bases else 0
        self.log_start = max(first, context.log_start or 0)
        self.next_offset = first
        self.leader_epoch = -1
        self.epochs: list[tuple[int, int]] = []  # (epoch, first offset) as the batches say
        self.replay = PartitionReplay(findings, context.compacted, not context.internal, begin=first)
        self.facts = PartitionFacts(self.log_start, first, complete=first == 0)
        self.snapshots = self._load_snapshots()
        self.lost_logs: list[int] = []  # where segments began of which indexes are left
        self.damaged = False  # offsets are missing: what follows from that is not reported again

    def run(self) -> PartitionFacts:
        self._files()
        if self.replay.begin in self.snapshots:
            self.replay.seed(self.snapshots[self.replay.begin])
        due = [offset for offset in self.snapshots if offset > (self.bases[0] if self.bases else 0)]
        unchecked = max((base for base in self.bases if base < self.context.recovery_point), default=0)
        for number, base in enumerate(self.bases):
            recovered = not self.context.clean and base >= unchecked
            segment = SegmentFacts(base, active=number == len(self.bases) - 1, recovered=recovered)
            for batch in self._walk(segment):
                if not segment.batches and number and base not in self.folder.snapshots and self.replay.producers:
                    message = "no snapshot at the beginning of a segment: one below or oncelog.window serves instead"
                    self.findings.note(Kind.SNAPSHOT_MISSING, message, offset=base)
                while due and due[0] <= batch.header.base_offset:
                    self._compare_snapshot(due.pop(0))
                self._apply(batch, segment)
            self._emptied(segment)
            cleaned = self.context.compacted and not self.facts.complete
            interval = self.context.index_interval_bytes
            compacted, ours = self.context.compacted, TOPIC_FILE in self.folder.names
            gaps = ours and (segment.active or not compacted)  # no cleaner was ever at the active one
            IndexCheck(self.folder, self.findings, self.context.clean, cleaned, self.log_start, interval, gaps=gaps).run(segment)
        while due and due[0] <= self.next_offset:
            self._compare_snapshot(due.pop(0))
        for offset in due:
            message = f"covers offsets up to {offset}, the log ends at {self.next_offset}"
            severity = Severity.ERROR if self.context.clean else Severity.NOTE  # the next start drops it
            self.findings.add(severity, Kind.SNAPSHOT_BEYOND_END, message, offset=offset, file=self.folder.file(offset, "snapshot").name)
        self._newest_snapshot()
        self._leader_epochs()
        self.facts.log_end = self.next_offset
        self.facts.open_transactions = self.replay.open_transactions()
        self.facts.markers = self.replay.markers
        return self.facts

    # --- files ---------------------------------------------------------------------------------------------------

    def _files(self) -> None:
        for name in self.folder.misnamed():
            self.findings.error(Kind.FOREIGN_FILE, f"{name} has no offset in its name: Apache Kafka stops at it", file=name)
        for name in self.folder.leftovers():
            severity = Severity.NOTE if name.endswith(".deleted") or not self.context.clean else Severity.ERROR
            why = "waits for its deletion" if name.endswith(".deleted") else "left over from an operation that did not finish"
            self.findings.add(severity, Kind.LEFTOVER, why, file=name)
        for name in self.folder.names:
            if name.startswith(QUARANTINE):
                self.findings.note(Kind.QUARANTINE, "bytes that a recovery took out of the log", file=name)
        if not self.bases:
            self.findings.error(Kind.SEGMENT_MISSING, "the folder has no log at all")
        swapping = any(name.endswith(SWAP) for name in self.folder.names)
        for suffix in ("index", "timeindex", "txnindex"):
            for base in self.folder.offsets_of(suffix):
                if base not in self.bases:
                    name = self.folder.file(base, suffix).name
                    self.findings.error(Kind.INDEX_ORPHAN, "its log is missing", offset=base, file=name)
                    if self.folder.file(base, suffix).stat().st_size and not swapping:
                        self.lost_logs.append(base)

    # --- batches -------------------------------------------------------------------------------------------------

    def _walk(self, segment: SegmentFacts) -> Iterator[BatchAt]:
        """Batches of a segment that can be believed, in order; everything else becomes a finding."""
        path = self.folder.file(segment.base_offset, "log")
        self._segment_base(segment, path.name)
        for item in scan_log(map_file(path)):
            if isinstance(item, Garbage):
                self._garbage(item, segment, path.name)
            elif not check_crc(item.view):
                self.findings.error(Kind.BATCH_CRC, f"wrong CRC at byte {item.position}", offset=item.header.base_offset, file=path.name)
                if item.header.base_offset == self.next_offset:
                    yield item  # its header fits its place: only the records are doubtful
            elif self._in_place(item, segment, path.name):
                if self.context.records:
                    self._records(item, path.name)
                yield item

    def _segment_base(self, segment: SegmentFacts, name: str) -> None:
        if segment.base_offset < self.next_offset:
            message = f"begins at {segment.base_offset}, the segment before ends at {self.next_offset}"
            self.findings.error(Kind.SEGMENT_OVERLAP, message, offset=segment.base_offset, file=name)
        elif segment.base_offset > self.next_offset and not self.context.compacted and not self.damaged:
            message = f"offsets {self.next_offset} to {segment.base_offset - 1} are in no segment"
            self.findings.error(Kind.SEGMENT_MISSING, message, offset=self.next_offset, file=name)
            self.damaged = True
        elif lost := [base for base in self.lost_logs if self.next_offset <= base < segment.base_offset]:
            message = f"offsets {lost[0]} to {segment.base_offset - 1} are in no segment"
            self.findings.error(Kind.SEGMENT_MISSING, message, offset=lost[0], file=name)
            self.damaged = True
        self.facts.complete = self.facts.complete and segment.base_offset <= self.next_offset
        self.next_offset = max(self.next_offset, segment.base_offset)

    def _emptied(self, segment: SegmentFacts) -> None:
        """In a compacted log gaps mean nothing, but compaction leaves no time index beside an empty log."""
        behind = next((base for base in self.bases if base > segment.base_offset), None)
        path, times = (self.folder.file(segment.base_offset, suffix) for suffix in ("log", "timeindex"))
        if self.context.compacted and behind is not None and not path.stat().st_size and times.exists() and times.stat().st_size:
            message = f"offsets {segment.base_offset} to {behind - 1} are in no segment"
            self.findings.error(Kind.SEGMENT_MISSING, message, offset=segment.base_offset, file=path.name)
            self.damaged = True

    def _garbage(self, garbage: Garbage, segment: SegmentFacts, name: str) -> None:
        # a kill may leave half a batch, or a preallocated tail, at the end of the last segment; recovery cuts it
        legitimate = segment.active and not self.context.clean
        kind = Kind.TORN_TAIL if garbage.torn and segment.active else Kind.LOG_GARBAGE
        message = f"{garbage.size} bytes from byte {garbage.position} on: {garbage.reason}"
        self.findings.add(Severity.NOTE if legitimate else Severity.ERROR, kind, message, offset=self.next_offset, file=name)
        self.damaged = self.damaged or not segment.active

    def _in_place(self, batch: BatchAt, segment: SegmentFacts, name: str) -> bool:
        header = batch.header
        if header.base_offset < segment.base_offset or header.last_offset - segment.base_offset > MAX_RELATIVE_OFFSET:
            message = f"offsets {header.base_offset} to {header.last_offset} in segment {segment.base_offset}"
            self.findings.error(Kind.OFFSET_BASE, message, offset=header.base_offset, file=name)
            return False
        if header.base_offset < self.next_offset or header.last_offset_delta < 0:
            message = f"offset {header.base_offset} follows {self.next_offset - 1}"
            self.findings.error(Kind.OFFSET_ORDER, message, offset=header.base_offset, file=name)
            return False
        if header.base_offset > self.next_offset and not self.context.compacted and not self.damaged:
            message = f"offset {header.base_offset} follows {self.next_offset - 1}"
            self.findings.error(Kind.OFFSET_GAP, message, offset=self.next_offset, file=name)
        return True

    def _records(self, batch: BatchAt, name: str) -> None:
        header = batch.header
        try:
            records = list(iter_records(batch.view))
        except (CorruptBatch, CompressionError) as error:
            self.findings.error(Kind.BATCH_RECORDS, str(error), offset=header.base_offset, file=name)
            return
        offsets = [record.offset for record in records]
        if any(not header.base_offset <= offset <= header.last_offset for offset in offsets):
            self.findings.error(Kind.BATCH_RECORDS, "a record's offset is outside of its batch", offset=header.base_offset, file=name)
        elif not self.context.compacted and (records or header.producer_id >= 0) and len(records) != header.last_offset_delta + 1:
            message = f"{len(records)} records for {header.last_offset_delta + 1} offsets"
            self.findings.error(Kind.BATCH_RECORDS, message, offset=header.base_offset, file=name)
        if records and not header.is_log_append_time:
            largest = max(-1, *(record.timestamp for record in records))
            if largest != header.max_timestamp:
                message = f"largest record timestamp {largest}, the header says {header.max_timestamp}"
                self.findings.error(Kind.BATCH_TIMESTAMP, message, offset=header.base_offset, file=name)

    def _apply(self, batch: BatchAt, segment: SegmentFacts) -> None:
        header = batch.header
        name = self.folder.file(segment.base_offset, "log").name
        if header.partition_leader_epoch < self.leader_epoch:
            message = f"leader epoch {header.partition_leader_epoch} after {self.leader_epoch}"
            self.findings.error(Kind.EPOCH_ORDER, message, offset=header.base_offset, file=name)
        elif header.partition_leader_epoch > self.leader_epoch:
            self.leader_epoch = header.partition_leader_epoch
            self.epochs.append((self.leader_epoch, header.base_offset))
        before = len(self.replay.aborted)
        try:
            self.replay.apply(batch, name)
        except (CorruptBatch, CompressionError) as error:
            self.findings.error(Kind.MARKER_DAMAGED, str(error), offset=header.base_offset, file=name)
        segment.aborted.extend(self.replay.aborted[before:])
        segment.batches.append(BatchFact(batch.position, header.base_offset, header.last_offset, header.max_timestamp))
        segment.max_timestamp = max(segment.max_timestamp, header.max_timestamp)
        if not header.records_count and self._stands_for_a_loss(header):
            message = f"offsets {header.base_offset} to {header.last_offset} are gone, an empty batch stands for them"
            self.findings.error(Kind.SEGMENT_MISSING, message, offset=header.base_offset, file=name)
        gap = header.base_offset != self.next_offset or header.records_count != header.last_offset_delta + 1
        self.facts.complete = self.facts.complete and not gap
        self.next_offset = header.next_offset
        self.facts.batches += 1

    def _stands_for_a_loss(self, header: BatchHeader) -> bool:
        if header.producer_id >= 0 or not self.context.compacted:
            return header.producer_id < 0
        try:
            missing = parse_missing((self.folder.path / MISSING_FILE).read_bytes())
        except (OSError, DamagedFile):
            return False
        return within((header.base_offset, header.next_offset), missing)

    # --- snapshots -----------------------------------------------------------------------------------------------

    def _load_snapshots(self) -> dict[int, list[ProducerEntry]]:
        loaded = {}
        for offset in self.folder.snapshots:
            path = self.folder.file(offset, "snapshot")
            try:
                loaded[offset] = parse_snapshot(path.read_bytes())
            except DamagedFile as error:
                self.findings.error(Kind.SNAPSHOT_DAMAGED, str(error), offset=offset, file=path.name)
        return loaded

    def _compare_snapshot(self, offset: int) -> None:
        """A snapshot against the replay of everything in front of it."""
        name = self.folder.file(offset, "snapshot").name
        stored = {entry.producer_id: entry for entry in self.snapshots[offset]}
        for producer_id, state in self.replay.producers.items():
            mine, theirs = state.entry(producer_id), stored.pop(producer_id, None)
            if theirs is None:
                if not self._may_be_forgotten(mine, name):
                    self._mismatch(f"producer {producer_id} is missing, its last offset is {mine.last_offset}", offset, name)
            elif difference := self._difference(mine, theirs, offset):
                self._mismatch(f"producer {producer_id}: {difference}", offset, name)
        for producer_id, entry in stored.items():
            gone = entry.last_offset < self.log_start or self.context.compacted or self.damaged
            message = f"producer {producer_id} with last offset {entry.last_offset} is not in the log"
            if gone:
                self.findings.note(Kind.PRODUCER_UNKNOWN, message, offset=offset, file=name)
            else:
                self._mismatch(message, offset, name)

    def _mismatch(self, message: str, offset: int, name: str) -> None:
        if not self.damaged:
            self.findings.error(Kind.SNAPSHOT_MISMATCH, message, offset=offset, file=name)

    def _may_be_forgotten(self, entry: ProducerEntry, name: str) -> bool:
        """Had the producer been silent for long enough when the snapshot was written?"""
        newest = max(state.timestamp for state in self.replay.producers.values())
        written = (self.folder.path / name).stat().st_mtime_ns // 1_000_000
        return max(newest, written) - entry.timestamp >= EXPIRATION_MS and entry.current_txn_first_offset < 0

    def _difference(self, mine: ProducerEntry, theirs: ProducerEntry, offset: int) -> str:
        """ "" when equal. What compaction or the log start took away cannot be compared."""
        fields = ["producer_epoch", "current_txn_first_offset"]
        if not self.context.compacted and mine.last_offset >= self.log_start:
            fields += ("last_sequence", "last_offset", "offset_delta", "timestamp", "coordinator_epoch")
        differing = [name for name in fields if getattr(mine, name) != getattr(theirs, name)]
        unknown = set()
        if self.context.compacted and theirs.last_offset < 0:
            unknown.add("producer_epoch")
        if self.replay.begin and mine.coordinator_epoch < 0:
            unknown.add("coordinator_epoch")
        first, seen = theirs.current_txn_first_offset, mine.current_txn_first_offset
        if 0 <= first < (offset if seen < 0 else seen) and (
            first < self.replay.begin or (self.context.compacted and not self.facts.complete)
        ):
            unknown.add("current_txn_first_offset")
        differing = [name for name in differing if name not in unknown]
        return ", ".join(f"{name} {getattr(theirs, name)} instead of {getattr(mine, name)}" for name in differing)

    def _newest_snapshot(self) -> None:
        """With the clean marker Kafka takes a log without snapshots for one without producers."""
        if self.context.clean and self.replay.producers and self.snapshots and self.next_offset not in self.folder.snapshots:
            message = "no snapshot at the log end after a clean stop: the next start reads what follows the newest"
            self.findings.note(Kind.SNAPSHOT_MISSING, message, offset=self.next_offset)
        if self.context.clean and self.replay.producers and not any(offset <= self.next_offset for offset in self.snapshots):
            message = f"{len(self.replay.producers)} producers, no readable snapshot after a clean stop: Apache Kafka would forget them"
            self.findings.error(Kind.SNAPSHOT_MISSING, message, offset=self.next_offset)

    # --- leader epochs -------------------------------------------------------------------------------------------

    def _leader_epochs(self) -> None:
        path = self.folder.path / LEADER_EPOCHS
        try:
            lines = parse_leader_epochs(path.read_bytes()) if path.exists() else []
        except DamagedFile as error:
            self.findings.error(Kind.LEADER_EPOCHS, str(error), file=LEADER_EPOCHS)
            return
        for (epoch, start), (later, later_start) in pairwise(lines):
            if later <= epoch or later_start <= start:
                message = f"line `{later} {later_start}` does not rise above `{epoch} {start}`"
                self.findings.error(Kind.LEADER_EPOCHS, message, offset=later_start, file=LEADER_EPOCHS)
        for epoch, first in self.epochs:
            # a batch in front of the log start needs no line; the line that covers the log start begins there
            covering = [line for line in lines if line[1] <= max(first, self.log_start)]
            if first >= self.log_start and (not covering or covering[-1][0] != epoch):
                said = covering[-1][0] if covering else "nothing"
                message = f"batches of epoch {epoch} begin at {first}, the checkpoint says {said}"
                self.findings.error(Kind.LEADER_EPOCHS, message, offset=first, file=LEADER_EPOCHS)
        for epoch, start in lines:
            if start > self.next_offset:
                message = f"epoch {epoch} begins at {start}, the log ends at {self.next_offset}"
                self.findings.error(Kind.LEADER_EPOCHS, message, offset=start, file=LEADER_EPOCHS)
