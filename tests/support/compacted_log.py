"""A log made of real segments, filled batch by batch and cleaned when a test says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from oncelog.protocol.config_def import parse_config
from oncelog.protocol.control_records import end_transaction_marker
from oncelog.protocol.names import TopicPartition
from oncelog.protocol.records import BatchHeader, build_batch, iter_records, parse_header, patch_offset
from oncelog.storage.audit.findings import Findings
from oncelog.storage.audit.partition import PartitionContext, audit_partition
from oncelog.storage.audit.raw_directory import open_partition_folder
from oncelog.storage.config import LogConfig
from oncelog.storage.env import OsFileSystem
from oncelog.storage.files.descriptors import Descriptors
from oncelog.storage.files.txn_index import AbortedTxn
from oncelog.storage.log.producer_state import ProducerStateEntry
from oncelog.storage.log.segment import Segment
from oncelog.storage.log.segments import Segments
from oncelog.storage.upkeep.compaction.choice import cleanable_range
from oncelog.storage.upkeep.compaction.clean import CleanResult, clean

T0 = 1_700_000_000_000
DAY = 86_400_000
Pairs = list[tuple[str, str | None]]


class FakeLog:
    """A log made of real segments, filled batch by batch; the last segment is active."""

    topic_partition = TopicPartition("comp", 0)
    offline: str | None = None
    log_start_offset = 0

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder = folder
        names = {"log.cleanup.policy": "compact", "log.segment.bytes": "1048576"}
        self.config: LogConfig = parse_config(LogConfig, {**names, **{name.replace("_", "."): value for name, value in settings.items()}})
        self.fs = OsFileSystem()
        self.descriptors = Descriptors(self.fs)
        self.log_end_offset = 0
        self.segments = Segments(self.fs, self.descriptors, folder, [self._new_segment()])
        self.first_open: int | None = None
        self.producer_entries: list[ProducerStateEntry] = []

    def _new_segment(self) -> Segment:
        return Segment.create(self.descriptors, self.folder, self.log_end_offset, 4096, T0)

    @property
    def settled_end(self) -> int:
        return self.log_end_offset

    @property
    def last_stable_offset(self) -> int:
        return self.log_end_offset if self.first_open is None else self.first_open

    def producers(self) -> list[ProducerStateEntry]:
        return self.producer_entries

    def roll(self) -> None:
        self.segments.active.save_indexes(final=True)
        self.segments.add(self._new_segment())

    def put(self, batch: bytearray) -> int:
        patch_offset(batch, self.log_end_offset, 0)
        header = parse_header(batch)
        self.segments.active.append(batch, header.last_offset, header.max_timestamp, 1 << 20)
        self.log_end_offset = header.next_offset
        return header.base_offset

    def write(self, pairs: Pairs, **fields: Any) -> int:
        time = fields.pop("time", T0)
        return self.put(build_batch([(time, key.encode(), None if value is None else value.encode()) for key, value in pairs], **fields))

    def abort(self, producer_id: int, first_offset: int, epoch: int = 0) -> int:
        marker = self.put(bytearray(end_transaction_marker(producer_id, epoch, False, 0, T0)))
        self.segments.active.append_aborted(AbortedTxn(producer_id, first_offset, marker, marker + 1))
        return marker

    def headers(self) -> list[BatchHeader]:
        return [header for segment in self.segments for _, header in segment.headers()]

    def records(self) -> dict[int, tuple[str, str | None]]:
        found = {}
        for segment in self.segments:
            for position, header in segment.headers():
                if not header.is_control:
                    for record in iter_records(segment.read_at(position, header.size_bytes)):
                        assert record.key is not None
                        found[record.offset] = record.key.decode(), None if record.value is None else record.value.decode()
        return found

    def clean(self, now_ms: int = T0, first_dirty: int | None = None, max_keys: int = 1000) -> CleanResult:
        dirty = cleanable_range(self, first_dirty, now_ms)
        assert dirty is not None
        steps = clean(self, self.fs, dirty.start, dirty.end, now_ms, max_keys)
        while True:
            try:
                job = next(steps)
            except StopIteration as stop:
                result: CleanResult = stop.value
                return result
            if job is not None:
                job()

    def audit(self) -> list[str]:
        """The offline auditor on the folder: formats, CRCs, indexes."""
        self.segments.active.save_indexes(final=True)
        (self.folder / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
        findings = Findings()
        audit_partition(open_partition_folder(self.folder, "comp", 0), PartitionContext(False, True, False), findings)
        return [f"{item.kind} {item.message}" for item in findings.items if item.severity == "error"]
