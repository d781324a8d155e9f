"""One partition's log: validate → assign offsets → write → apply (Kafka's `UnifiedLog`).

    log start <= last stable offset <= high watermark <= log end

The high watermark is the durable end: it moves when the group commit that covers it is done, or at once with log.flush.on.ack=false.
Everything here runs on the loop's thread and never waits for the disk; `begin_flush` hands a job to the flusher, `end_flush` takes it back.
Reading is in log/reader.py, loading in recovery/opening.py, deletion and replacement of segments in log/segments.py.
"""

from __future__ import annotations

import errno
import heapq
import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial
from pathlib import Path

from oncelog.protocol.control_records import end_transaction_marker
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.names import IsolationLevel, TopicPartition
from oncelog.protocol.record_walk import Allowance
from oncelog.protocol.records import BatchHeader, parse_header, patch_offset
from oncelog.storage.config import LogConfig
from oncelog.storage.env import Env
from oncelog.storage.files.descriptors import Descriptors
from oncelog.storage.files.leader_epochs import LeaderEpochs
from oncelog.storage.log import producer_snapshots, reader
from oncelog.storage.log.flush import Flusher, FlushJob, flush_now
from oncelog.storage.log.producer_checks import check_marker, check_producer
from oncelog.storage.log.producer_state import CompletedTxn, ProducerState, ProducerStateEntry
from oncelog.storage.log.reader import FetchData
from oncelog.storage.log.segment import MAX_RELATIVE_OFFSET, Segment
from oncelog.storage.log.segments import Segments
from oncelog.storage.log.validation import validate
from oncelog.storage.recovery.lost_markers import markers_again
from oncelog.storage.recovery.salvage import check_segment


class AppendOrigin(Enum):
    """Who writes. A coordinator's batches carry no meaningful sequence and may go to internal topics."""

    CLIENT = "client"
    COORDINATOR = "coordinator"


@dataclass(slots=True)
class AppendInfo:
    """Where a batch stands. `log_append_time_ms` is -1 for CreateTime; a duplicate names the offsets of the first copy."""

    base_offset: int
    last_offset: int
    log_append_time_ms: int
    log_start_offset: int
    duplicate: bool = False


Waiter = Callable[[KafkaError | None], None]

_CLIENT = AppendOrigin.CLIENT  # bound once: in Python 3.11 each look into an enum is a function call

_EVERYTHING = 1 << 62  # bytes

_log = logging.getLogger(__name__)


class Log:
    """Made by `recovery.open_log`. `offline` says why the log takes part no more, None while it is well."""

    def __init__(
        self,
        env: Env,
        folder: Path,
        topic_partition: TopicPartition,
        topic_id: uuid.UUID,
        config: LogConfig,
        descriptors: Descriptors,
        flusher: Flusher,
        segments: list[Segment],
        state: ProducerState,
        epochs: LeaderEpochs,
        log_start_offset: int,
        log_end_offset: int,
    ) -> None:
        self.env = env
        self.folder = folder
        self.topic_partition = topic_partition
        self.topic_id = topic_id
        self.config = config
        self.descriptors = descriptors
        self.state = state
        self.epochs = epochs
        self.segments = Segments(env.fs, descriptors, folder, segments)
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset
        self.high_watermark = log_end_offset
        self.recovery_point = log_end_offset
        self.leader_epoch = max(epochs.latest, 0)
        self.offline: str | None = None
        self.unsynced_folders: list[Path] = []
        self.lost_ends: dict[int, bool] = {}  # producer id -> committed, of open transactions whose marker damage has taken
        self.before_first_write: Callable[[], None] | None = None  # makes the folder, when there is none yet
        self.last_snapshot_offset = -1
        self.on_sealed: Callable[[], None] | None = None  # told when the recovery point has passed a segment
        self._flusher = flusher
        self._flushed = log_end_offset
        self._rolled: list[Segment] = []  # to be synced and sealed by the next flush
        self._sealing: tuple[Segment, ...] = ()  # a flush is sealing these
        self._tidying = False  # a flush writes what is not urgent; there is one at a time
        self._actions: list[Callable[[], None]] = []
        self._waiters: list[tuple[int, int, Waiter]] = []
        self._waiter_count = 0
        self._listeners: list[Callable[[], None]] = []
        self._jitter_ms = self._next_jitter()
        self._last_flush_ms = env.clock.time_ms()
        self.reader = reader.Reader(self)
        state.high_watermark_moved(self.high_watermark)

    def __repr__(self) -> str:
        return f"Log({self.topic_partition}, start={self.log_start_offset}, end={self.log_end_offset})"

    @property
    def active_segment(self) -> Segment:
        return self.segments.active

    # -- appending

    def append(
        self,
        batch: bytearray | memoryview,
        now_ms: int,
        *,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        verified: bool = False,
        tv2: bool = False,
        header: BatchHeader | None = None,
        checked: bool = False,
        allowance: Allowance | None = None,
    ) -> AppendInfo:
        """Append one v2 batch; `batch` is patched in place. A retry of one of the producer's last five batches is answered as a duplicate.

        `header`: read from `batch` by the caller, who vouches that `batch` is of magic 2 and exactly as long as it says.
        `checked`: both are what `validation.checking` gave. `allowance`: TakesLong is raised when the check needs more.
        `verified`: the coordinator knows of the transaction on this partition; `tv2`: it was added by a version 2 client.
        Raises KafkaError; then the log is as it was.
        """
        if self.offline is not None:
            raise self._offline_error()
        client = origin is _CLIENT
        if checked and header is not None:
            stored = batch
        else:
            header, stored = validate(batch, self.config, self.topic_partition, now_ms, client=client, header=header, allowance=allowance)
        if header.producer_id >= 0:
            earlier = check_producer(
                self.state, header, self.topic_partition, self.log_end_offset, client=client, verified=verified, tv2=tv2
            )
            if earlier is not None:
                return AppendInfo(earlier.first_offset, earlier.last_offset, earlier.timestamp, self.log_start_offset, duplicate=True)
        self._write(header, stored, now_ms)
        if header.producer_id >= 0:
            self.state.append_batch(header, now_ms)
        append_time = header.max_timestamp if self.config.log_append_time else -1
        info = AppendInfo(header.base_offset, self.log_end_offset - 1, append_time, self.log_start_offset)
        self._appended()
        return info

    def append_marker(
        self, producer_id: int, producer_epoch: int, coordinator_epoch: int, commit: bool, now_ms: int, *, transaction_version: int = 0
    ) -> AppendInfo:
        """End the producer's transaction here. Raises KafkaError 47 or 52 for a zombie, 56 when the disk fails."""
        self._check_online()
        check_marker(
            self.state, producer_id, producer_epoch, coordinator_epoch, self.topic_partition, self.log_end_offset, transaction_version
        )
        batch = end_transaction_marker(producer_id, producer_epoch, commit, coordinator_epoch, now_ms)
        header = parse_header(batch)
        self._write(header, batch, now_ms)
        completed = self.state.end_transaction(producer_id, producer_epoch, coordinator_epoch, header.base_offset, now_ms, now_ms, commit)
        if completed is not None:
            self._complete(completed)
        info = AppendInfo(header.base_offset, header.base_offset, -1, self.log_start_offset)
        self._appended()
        return info

    def _complete(self, completed: CompletedTxn) -> None:
        """Index before release: readers must never see an aborted transaction as committed."""
        if completed.aborted:
            segment = self.active_segment
            entry = self.state.aborted_txn(completed)
            try:
                segment.append_aborted(entry)
            except OSError as error:  # the entry is in memory; the file is written again with the next flush
                _log.warning("aborted transaction not indexed yet partition=%s error=%s", self.topic_partition, error)
                self._actions.append(lambda: segment.replace_aborted(segment.aborted))
        self.state.complete(completed)

    def _write(self, header: BatchHeader, stored: bytearray | memoryview, now_ms: int) -> None:
        size = len(stored)
        base_offset = header.base_offset = self.log_end_offset
        last_offset = base_offset + header.last_offset_delta
        try:
            if self.before_first_write is not None:
                self._make_files()
            segment = self.segments.active
            if self._should_roll(segment, header, last_offset, size, now_ms):
                segment = self.roll(now_ms)
            assigned = _assigned(stored, base_offset, self.leader_epoch)
            segment.append((assigned,), size, last_offset, header.max_timestamp, self.config.max_segment_bytes)
        except OSError as error:
            raise self._write_failed(error) from error
        self.log_end_offset = last_offset + 1
        if self.leader_epoch > self.epochs.latest:
            self.epochs.assign(self.leader_epoch, header.base_offset)

    def _make_files(self) -> None:
        assert self.before_first_write is not None
        self.before_first_write()
        self.unsynced_folders += [self.folder, self.folder.parent]
        self.before_first_write = None

    def _write_failed(self, error: OSError) -> KafkaError:
        """A full disk passes; anything else does not."""
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE):
            self._fail(f"write failed: {error}")
        return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"Error while writing to partition {self.topic_partition}: {error}")

    def _appended(self) -> None:
        if self.config.flush_on_ack:
            self._flusher.request(self)
            return
        self._advance_high_watermark(self.log_end_offset)
        if self.log_end_offset - self._flushed >= self.config.flush_messages or self._actions:
            self._flusher.request(self)

    # -- rolling

    def _should_roll(self, segment: Segment, header: BatchHeader, last_offset: int, size: int, now_ms: int) -> bool:
        config = self.config
        if last_offset - segment.base_offset > MAX_RELATIVE_OFFSET:
            return True
        if segment.size == 0:
            return False
        first = segment.first_timestamp
        age_ms = header.max_timestamp - first if first >= 0 and header.max_timestamp >= 0 else now_ms - segment.created_ms
        return (
            segment.size > config.max_segment_bytes - size
            or age_ms > config.max_segment_ms - self._jitter_ms
            or segment.index_is_full(config.segment_index_bytes)
        )

    def roll(self, now_ms: int) -> Segment:
        """Seal the active segment and begin a new one at the log end; an empty active segment stays. Raises OSError."""
        old = self.segments.active
        if old.size == 0 and old.base_offset == self.log_end_offset:
            return old
        segment = Segment.create(self.descriptors, self.folder, self.log_end_offset, self.config.index_interval_bytes, now_ms)
        self.segments.add(segment)
        self._jitter_ms = self._next_jitter()
        self._rolled.append(old)
        self.unsynced_folders.append(self.folder)
        self.take_snapshot()
        self._flusher.request(self)
        return segment

    def take_snapshot(self) -> None:
        """Producer state at the log end is written with the next flush; nothing is written when nothing is new."""
        if self.last_snapshot_offset == self.log_end_offset or self.log_end_offset == 0:
            return
        self.last_snapshot_offset = self.log_end_offset
        entries = self.state.copy_packed()
        self._actions.append(partial(producer_snapshots.write, self.env.fs, self.folder, self.log_end_offset, entries))
        self._actions.append(partial(producer_snapshots.vouch, self.env.fs, self.folder, list(self.segments)))

    def _next_jitter(self) -> int:
        return self.env.random.below(self.config.segment_jitter_ms) if self.config.segment_jitter_ms else 0

    # -- durability

    def begin_flush(self) -> FlushJob | None:
        """What is not on disk yet; None when all is, or the log is offline. On the loop's thread."""
        if self.offline is not None:
            return None
        rolled = tuple(segment for segment in self._rolled if segment in self.segments) if self._rolled else ()
        dirty = [*rolled, self.segments.active] if self._flushed < self.log_end_offset else list(rolled)
        if self.epochs.dirty:
            self._actions.append(self.epochs.save)
            self.epochs.dirty = False
        if not dirty and (self._tidying or not self._actions):
            return None
        pinned: list[str] = []
        try:
            files = []
            for segment in dirty:
                files.append(self.descriptors.pin(segment.log_path))
                pinned.append(segment.log_path)
        except OSError as error:
            for path in pinned:
                self.descriptors.unpin(path)
            self._fail(f"flush failed: {error}")
            return None
        job = FlushJob(self.env.fs, self.log_end_offset, files, pinned, tuple(dict.fromkeys(self.unsynced_folders)))
        self.unsynced_folders.clear()
        if self._tidying:
            job.postponed = True
        elif rolled or self._actions:
            job.behind = [*(partial(_seal, segment) for segment in rolled), *self._actions]
            job.tidied = self._end_tidy
            self._tidying = True
            self._rolled, self._sealing, self._actions = [], rolled, []
        self._last_flush_ms = self.env.clock.time_ms()
        return job

    def end_flush(self, job: FlushJob, error: OSError | None) -> None:
        """On the loop's thread. A failed fdatasync is final: the kernel may have dropped the pages, a second one would lie."""
        for path in job.pinned:
            self.descriptors.unpin(path)
        if error is not None:
            if job.tidied is not None:
                self._tidying, self._sealing = False, ()
            self._fail(f"flush failed: {error}")
            return
        self._flushed = max(self._flushed, job.end_offset)
        if job.tidied is None and not job.postponed:
            self.recovery_point = max(self.recovery_point, job.end_offset)
        self._advance_high_watermark(self._flushed)

    def _end_tidy(self, job: FlushJob) -> None:
        """On the loop's thread. The recovery point follows here: below it recovery takes indexes and producer snapshots as they are."""
        sealing, self._sealing = self._sealing, ()
        self._tidying = False
        if job.unfinished:
            _log.warning("not written yet partition=%s error=%s", self.topic_partition, job.problem)
            unsealed = sealing[len(job.behind) - len(job.unfinished) :]
            self._rolled[:0] = unsealed
            self._actions[:0] = job.unfinished[len(unsealed) :]
            return
        left = bool(self._rolled or self._actions)
        self.recovery_point = max(self.recovery_point, job.end_offset if left else self._flushed)
        if left:
            self._flusher.request(self)
        if sealing and self.on_sealed is not None:
            self.on_sealed()

    @property
    def deletable_end(self) -> int:
        """A segment that ends above it must not be deleted: it may still be read for the first time, or a flush is sealing it."""
        return min(self.high_watermark, self._sealing[0].base_offset) if self._sealing else self.high_watermark

    @property
    def settled_end(self) -> int:
        """A segment that ends above it must not be replaced: it is not on disk with its indexes, or a flush still comes to seal it."""
        pending = self._sealing or self._rolled
        return min(self.recovery_point, pending[0].base_offset) if pending else self.recovery_point

    def flush(self) -> None:
        """Return when everything appended is on disk. Raises KafkaError(KAFKA_STORAGE_ERROR)."""
        flush_now(self)
        self._check_online()

    def flush_if_due(self, now_ms: int) -> None:
        """flush.ms, for logs that do not flush on every acknowledgement."""
        if self._flushed < self.log_end_offset and now_ms - self._last_flush_ms >= self.config.flush_ms:
            self._flusher.request(self)

    def when_durable(self, offset: int, callback: Waiter) -> None:
        """Call back once everything below `offset` is on disk, at once if it is; with KafkaError when it never will be."""
        if self.offline is not None:
            callback(self._offline_error())
        elif offset <= self.high_watermark:
            callback(None)
        else:
            self._waiter_count += 1
            heapq.heappush(self._waiters, (offset, self._waiter_count, callback))

    def _advance_high_watermark(self, offset: int) -> None:
        if offset <= self.high_watermark:
            return
        self.high_watermark = offset
        self.state.high_watermark_moved(offset)
        waiters = self._waiters
        while waiters and waiters[0][0] <= offset:
            heapq.heappop(waiters)[2](None)
        if self._listeners:
            self._changed()

    def _fail(self, why: str) -> None:
        if self.offline is not None:
            return
        self.offline = why
        _log.error("log offline partition=%s reason=%s", self.topic_partition, why)
        self._tell_of_the_end()

    def _tell_of_the_end(self) -> None:
        waiters, self._waiters = sorted(self._waiters, key=lambda waiter: waiter[:2]), []
        for _, _, callback in waiters:
            callback(self._offline_error())
        self._changed()

    def retire(self, why: str) -> None:
        """The topic is gone: whoever still holds the log is told."""
        if self.offline is None:
            self.offline = why
            self._tell_of_the_end()

    def _check_online(self) -> None:
        if self.offline is not None:
            raise self._offline_error()

    def _offline_error(self) -> KafkaError:
        return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"The log for partition {self.topic_partition} is offline: {self.offline}")

    def add_change_listener(self, listener: Callable[[], None]) -> None:
        """Called after the high watermark, last stable offset or log start moved, or the log went offline."""
        self._listeners.append(listener)

    def remove_change_listener(self, listener: Callable[[], None]) -> None:
        self._listeners.remove(listener)

    def _changed(self) -> None:
        for listener in tuple(self._listeners):
            listener()

    # -- reading

    @property
    def last_stable_offset(self) -> int:
        """Where readers of committed data stop; O(1)."""
        first = self.state.first_unstable_offset
        if first is None or first >= self.high_watermark:
            return self.high_watermark
        return max(first, self.log_start_offset)

    def readable_end(self, isolation: IsolationLevel | int) -> int:
        return self.last_stable_offset if isolation else self.high_watermark

    def read(
        self, offset: int, max_bytes: int, *, isolation: IsolationLevel | int, min_one_message: bool, in_memory: int = _EVERYTHING
    ) -> FetchData:
        """Stored batches from the one that holds `offset`, of one segment, whole; longer than `in_memory` bytes: `StoredRecords`.

        Raises KafkaError(OFFSET_OUT_OF_RANGE, 56).
        """
        return self.reader.read(offset, max_bytes, isolation, min_one_message, in_memory)

    def offset_for_timestamp(self, timestamp: int, isolation: IsolationLevel | int) -> tuple[int, int, int]:
        """(offset, timestamp, leader epoch) for ListOffsets, -1 to -6 included; (-1, -1, -1) for none. Raises KafkaError(56)."""
        return self.reader.offset_for_timestamp(timestamp, isolation)

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        return self.epochs.end_offset_for(epoch, self.log_end_offset)

    def size_bytes(self) -> int:
        return sum(segment.size for segment in self.segments)

    def producers(self) -> list[ProducerStateEntry]:
        return list(self.state)

    def has_open_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        entry = self.state.get(producer_id)
        return entry is not None and entry.epoch == producer_epoch and entry.current_txn_first_offset is not None

    def open_transactions(self) -> list[tuple[int, int, int]]:
        """(producer id, epoch, first offset), by first offset."""
        return self.state.open_transactions()

    # -- upkeep

    def delete_records(self, offset: int) -> int:
        """Move the log start to `offset` (-1: the high watermark); the new log start. Raises KafkaError 1 or 44 as Kafka does."""
        self._check_online()
        if not self.config.delete:
            raise KafkaError(
                ErrorCode.POLICY_VIOLATION, f"Records of partition {self.topic_partition} can not be deleted due to the configured policy"
            )
        target = self.high_watermark if offset == -1 else offset
        if not 0 <= target <= self.high_watermark:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"The specified offset {offset} is higher than the high watermark {self.high_watermark} of {self.topic_partition}",
            )
        self.advance_log_start(target)
        return self.log_start_offset

    def advance_log_start(self, offset: int) -> None:
        """Never backwards, never beyond the high watermark (retention and DeleteRecords)."""
        offset = min(offset, self.high_watermark)
        if offset <= self.log_start_offset:
            return
        self.log_start_offset = offset
        self.epochs.truncate_from_start(offset)
        self._changed()

    def mend(self, segment: Segment) -> None:
        """Part of `segment` rotted since an earlier process wrote it: mend it, or keep it aside so that what is whole can be read.

        Raises OSError.
        """
        markers = partial(markers_again, self.env.fs, list(self.segments), log_end=self.log_end_offset)
        check_segment(segment, self.topic_partition, self.high_watermark, clean=True, tail=None, markers=markers)
        self.segments.replaced += 1

    def check_txn_indexes(self) -> None:
        """Make sure that no aborted transaction is missing from an index, before the cleaner believes them. Raises OSError."""
        for segment in self.segments:
            self.reader.checked_aborted(segment)

    def update_config(self, config: LogConfig) -> None:
        self.config = config

    def maintain(self, now_ms: int) -> None:
        """Small periodic work: expired producers, postponed writes, files whose deletion is due."""
        self.state.expire(now_ms, self.config.producer_id_expiration_ms)
        self.segments.purge(now_ms)
        self.flush_if_due(now_ms)
        if self._actions:
            self._flusher.request(self)

    def close(self) -> None:
        """Orderly stop: everything on disk, indexes trimmed, producer state at the log end. Raises KafkaError(56)."""
        self._check_online()
        if self.before_first_write is None:
            self._settle_files()
        self.retire("the broker has stopped")  # whoever still holds the log is refused: nobody would write it out

    def _settle_files(self) -> None:
        self.flush()
        active = self.segments.active
        try:
            active.trim()
        except OSError as error:
            raise self._write_failed(error) from error
        self.take_snapshot()
        if self._actions or active.indexes_loaded:
            self._actions.append(partial(_seal, active, trim=False))
        self.flush()
        if self._actions:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"indexes of {self.topic_partition} could not be written")
        self.close_files()

    def close_files(self) -> None:
        for segment in self.segments:
            self.descriptors.forget(segment.log_path)


def _assigned(stored: bytearray | memoryview, base_offset: int, leader_epoch: int) -> bytearray | memoryview:
    """`stored` with offset and epoch; bytes that may not be changed are copied."""
    if isinstance(stored, memoryview) and stored.readonly:
        stored = bytearray(stored)
    patch_offset(stored, base_offset, leader_epoch)
    return stored


def _seal(segment: Segment, *, trim: bool = True) -> None:
    """On the flusher's thread: nobody appends to the segment any more, and nobody renames it (`deletable_end`, `settled_end`)."""
    segment.seal_files(trim=trim)
