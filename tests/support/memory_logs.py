"""Logs in memory for the coordinators' tests: every write lands in one journal, so that a crash can be put after any of them.

`MemoryLogs.after_kill(n)` is the machine after a kill that let the first n writes through (the page cache survives a kill);
`after_power_cut(keep)` keeps so many writes of each partition, in order, and at least what was synced.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from oncelog.protocol import control_records, records
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.names import TopicPartition
from oncelog.storage.config import LogConfig
from oncelog.storage.memory_fs import MemoryFileSystem

Callback = Callable[[KafkaError | None], None]


class Appended(NamedTuple):
    base_offset: int
    last_offset: int


class Producer(NamedTuple):
    producer_id: int
    epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int
    current_txn_first_offset: int | None


class Producers(dict[int, Producer]):
    def marked(self, producer_id: int) -> tuple[int, int, int]:
        known = self.get(producer_id)
        if known is None:
            return -1, -1, -1
        first = known.current_txn_first_offset
        return known.epoch, known.coordinator_epoch, -1 if first is None else first


class MarkerAt(NamedTuple):
    offset: int
    producer_id: int
    epoch: int
    commit: bool


class Read(NamedTuple):
    records: bytes


class _Files:
    """A segment file and the cache of descriptors, as far as a sync needs them."""

    log_path = ""

    def pin(self, path: str) -> _Files:
        return self

    def unpin(self, path: str) -> None: ...

    def datasync(self) -> None: ...


class _Segments:
    damaged = lost_acknowledged = False


class _Durability:
    """Nothing is in a journal."""

    in_order = False


class MemoryLog:
    """What the coordinators use of a Log."""

    def __init__(self, logs: MemoryLogs, topic_partition: TopicPartition) -> None:
        self.topic_partition = topic_partition
        self.folder = Path(f"/{topic_partition}")
        self.config = LogConfig()
        self.log_start_offset = 0
        self.log_end_offset = 0
        self.high_watermark = 0
        self.fail_with: ErrorCode | None = None
        self.lost_ends: dict[int, bool] = {}
        self.durability = _Durability()
        self.active_segment = self.descriptors = _Files()
        self.segments = _Segments()
        self._logs = logs
        self._batches: list[bytes] = []
        self._waiting: list[tuple[int, Callback]] = []
        self._producers = Producers()
        self.own = self

    def append(
        self,
        batch: bytearray,
        now_ms: int,
        *,
        origin: object = None,
        verified: bool = False,
        tv2: bool = False,
        header: records.BatchHeader | None = None,
        checked: bool = False,
    ) -> Appended:
        if self.fail_with is not None:
            raise KafkaError(self.fail_with)
        return self._store(batch)

    def records(self, count: int, framed: bytes, now_ms: int, base_sequence: int) -> int:
        return self.append(bytearray(records.batch_at(0, 0, now_ms, count, framed, base_sequence=base_sequence)), now_ms).base_offset

    def append_marker(
        self, producer_id: int, producer_epoch: int, coordinator_epoch: int, commit: bool, now_ms: int, *, transaction_version: int = 0
    ) -> int:
        if self.fail_with is not None:
            raise KafkaError(self.fail_with)
        entry = self._producers.get(producer_id)
        if entry is not None:
            is_open = entry.current_txn_first_offset is not None
            if producer_epoch < entry.epoch or (transaction_version >= 2 and producer_epoch == entry.epoch and is_open):
                raise KafkaError(ErrorCode.INVALID_PRODUCER_EPOCH)
            if coordinator_epoch < entry.coordinator_epoch:
                raise KafkaError(ErrorCode.TRANSACTION_COORDINATOR_FENCED)
        marker = control_records.end_transaction_marker(producer_id, producer_epoch, commit, coordinator_epoch, now_ms)
        return self._store(bytearray(marker)).base_offset

    def write(self, producer_id: int, producer_epoch: int, now_ms: int = 0) -> Appended:
        """One transactional record, as Produce appends it."""
        return self.append(
            records.build_batch(
                [(now_ms, b"k", b"v")], producer_id=producer_id, producer_epoch=producer_epoch, base_sequence=0, is_transactional=True
            ),
            now_ms,
        )

    def read(self, offset: int, max_bytes: int, *, isolation: object, min_one_message: bool) -> Read:
        wanted = [batch for batch in self._batches if records.parse_header(batch).next_offset > offset]
        return Read(b"".join(wanted[:3]))

    @property
    def state(self) -> Producers:
        return self._producers

    def producers(self) -> list[Producer]:
        return list(self._producers.values())

    def has_open_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        entry = self._producers.get(producer_id)
        return entry is not None and entry.epoch == producer_epoch and entry.current_txn_first_offset is not None

    def open_transactions(self) -> list[tuple[int, int, int]]:
        return [(p.producer_id, p.epoch, p.current_txn_first_offset) for p in self.producers() if p.current_txn_first_offset is not None]

    def markers(self) -> list[MarkerAt]:
        found = []
        for batch in self._batches:
            marker = control_records.parse_end_transaction_marker(batch)
            if marker is not None:
                header = records.parse_header(batch)
                found.append(MarkerAt(header.base_offset, header.producer_id, header.producer_epoch, marker.commit))
        return found

    def values(self) -> list[tuple[bytes | None, bytes | None]]:
        """Key and value of every data record."""
        data = [batch for batch in self._batches if not records.parse_header(batch).is_control]
        return [(record.key, record.value) for batch in data for record in records.iter_records(batch)]

    def advance_log_start(self, offset: int) -> None:
        self.log_start_offset = max(self.log_start_offset, min(offset, self.high_watermark))
        self._batches = [batch for batch in self._batches if records.parse_header(batch).next_offset > self.log_start_offset]

    def when_durable(self, offset: int, callback: Callback) -> None:
        if self.high_watermark >= offset:
            callback(None)
        else:
            self._waiting.append((offset, callback))

    def flush(self) -> None:
        """fdatasync, and whoever waited is told."""
        self.high_watermark = self.log_end_offset
        waiting, self._waiting = self._waiting, []
        for _, callback in waiting:
            callback(None)

    def break_disk(self) -> None:
        """The sync fails: the log is offline."""
        self.fail_with = ErrorCode.KAFKA_STORAGE_ERROR
        waiting, self._waiting = self._waiting, []
        for _, callback in waiting:
            callback(KafkaError(ErrorCode.KAFKA_STORAGE_ERROR))

    def _store(self, batch: bytearray) -> Appended:
        records.patch_offset(batch, self.log_end_offset, 0)
        header = records.parse_header(batch)
        stored = bytes(batch)
        self._batches.append(stored)
        self._apply(header, stored)
        self.log_end_offset = header.next_offset
        self._logs.journal.append((self.topic_partition, stored))
        if not self._logs.holds_syncs:
            self.flush()
        return Appended(header.base_offset, header.last_offset)

    def _apply(self, header: records.BatchHeader, batch: bytes) -> None:
        if header.producer_id < 0:
            return
        marker = control_records.parse_end_transaction_marker(batch)
        before = self._producers.get(header.producer_id)
        first = None if marker is not None else header.base_offset
        if marker is None and before is not None and before.current_txn_first_offset is not None:
            first = before.current_txn_first_offset
        epoch = before.coordinator_epoch if before is not None else -1
        if marker is not None:
            epoch = marker.coordinator_epoch
        self._producers[header.producer_id] = Producer(header.producer_id, header.producer_epoch, -1, header.max_timestamp, epoch, first)


class MemoryTopic(NamedTuple):
    name: str
    topic_id: uuid.UUID
    partitions: int
    configs: dict[str, str]


class MemoryTopics:
    def __init__(self) -> None:
        self.by_name: dict[str, MemoryTopic] = {}

    def get(self, name: str) -> MemoryTopic | None:
        return self.by_name.get(name)

    def by_id(self, topic_id: uuid.UUID) -> MemoryTopic | None:
        return next((topic for topic in self.by_name.values() if topic.topic_id == topic_id), None)

    def all(self) -> list[MemoryTopic]:
        return list(self.by_name.values())

    def has_partition(self, tp: TopicPartition) -> bool:
        topic = self.by_name.get(tp.topic)
        return topic is not None and 0 <= tp.partition < topic.partitions


class MemoryLogs:
    """What the coordinators use of a LogManager."""

    def __init__(self, *, holds_syncs: bool = False) -> None:
        self.topics = MemoryTopics()
        self.journal: list[tuple[TopicPartition, bytes]] = []
        self.holds_syncs = holds_syncs
        self.deleted: list[MemoryLog] = []
        self.fs = MemoryFileSystem()
        self._logs: dict[TopicPartition, MemoryLog] = {}

    def create_topic(self, name: str, partitions: int, configs: dict[str, str] | None = None) -> MemoryTopic:
        topic = self.topics.by_name[name] = MemoryTopic(name, uuid.uuid4(), partitions, configs or {})
        for partition in range(partitions):
            tp = TopicPartition(name, partition)
            self._logs[tp] = MemoryLog(self, tp)
            self.fs.mkdir(self._logs[tp].folder)
        return topic

    def delete_topic(self, name: str) -> None:
        topic = self.topics.by_name.pop(name)
        self.deleted += [self._logs.pop(TopicPartition(name, partition)) for partition in range(topic.partitions)]

    def log(self, tp: TopicPartition) -> MemoryLog | None:
        return self._logs.get(tp)

    def at(self, topic: str, partition: int = 0) -> MemoryLog:
        return self._logs[TopicPartition(topic, partition)]

    def logs(self) -> list[MemoryLog]:
        return list(self._logs.values())

    def flush(self) -> None:
        """Sync everything, and what is written because of that, until nobody waits."""
        while any(log.high_watermark < log.log_end_offset for log in self._logs.values()):
            for log in list(self._logs.values()):
                log.flush()

    def after_kill(self, writes: int) -> MemoryLogs:
        """The disk as found after a kill that let the first `writes` through."""
        return self.rebuilt(self.journal[:writes])

    def after_power_cut(self, keep: Callable[[TopicPartition, int, int], int]) -> MemoryLogs:
        """The disk after a power cut: `keep(partition, synced writes, all writes)` says how many of a partition's writes are left."""
        total: dict[TopicPartition, int] = defaultdict(int)
        synced: dict[TopicPartition, int] = defaultdict(int)
        for tp, batch in self.journal:
            total[tp] += 1
            synced[tp] += records.parse_header(batch).next_offset <= self._logs[tp].high_watermark
        left = {tp: keep(tp, synced[tp], count) for tp, count in total.items()}
        kept: list[tuple[TopicPartition, bytes]] = []
        seen: dict[TopicPartition, int] = defaultdict(int)
        for tp, batch in self.journal:
            seen[tp] += 1
            if seen[tp] <= left[tp]:
                kept.append((tp, batch))
        return self.rebuilt(kept)

    def rebuilt(self, journal: list[tuple[TopicPartition, bytes]]) -> MemoryLogs:
        """The disk that has seen these writes."""
        after = MemoryLogs()
        after.fs = self.fs
        for topic in self.topics.all():
            after.create_topic(topic.name, topic.partitions, topic.configs)
        for tp, batch in journal:
            after.at(*tp).append(bytearray(batch), 0)
        return after
