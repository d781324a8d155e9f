"""One partition's log: validate → assign offsets → write → apply (Kafka's `UnifiedLog`).

The theory stands in `log/__init__.py`. Everything here runs on the loop's thread and never waits for the disk.
"""

from __future__ import annotations

import errno
import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial
from pathlib import Path

from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.names import IsolationLevel, TopicPartition
from oncelog.protocol.records import BatchHeader, assigned, parse_header
from oncelog.storage.config import LogConfig
from oncelog.storage.env import Env
from oncelog.storage.files.descriptors import Descriptors
from oncelog.storage.files.leader_epochs import LeaderEpochs
from oncelog.storage.log import producer_snapshots
from oncelog.storage.log.durability import Durability, seal
from oncelog.storage.log.flush import Flusher
from oncelog.storage.log.mending import Mender, Mending
from oncelog.storage.log.own_append import OwnAppends
from oncelog.storage.log.plain_append import PlainAppends
from oncelog.storage.log.producer_checks import check_marker, check_producer
from oncelog.storage.log.producer_state import CompletedTxn, ProducerState, ProducerStateEntry
from oncelog.storage.log.reader import EVERYTHING, FetchData, Reader
from oncelog.storage.log.rolling import must_roll
from oncelog.storage.log.segment import Segment
from oncelog.storage.log.segments import Segments
from oncelog.storage.log.validation import validate
from oncelog.storage.log.watchers import Waiter, Watchers


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


_CLIENT = AppendOrigin.CLIENT  # bound once: in Python 3.11 each look into an enum is a function call

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
        mend: Mender,
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
        self.leader_epoch = max(epochs.latest, 0)
        self.offline: str | None = None
        self.lost_ends: dict[int, bool] = {}  # producer id -> committed, of open transactions whose marker damage has taken
        self.before_first_write: Callable[[], None] | None = None  # makes the folder, when there is none yet
        self.last_snapshot_offset = -1
        self.durability = Durability(self, flusher)
        self._watchers = Watchers()
        self.jitter_ms = self._next_jitter()
        self.mending = Mending(self, flusher, mend, self._watchers.changed)
        self.reader = Reader(self)
        self.plain = PlainAppends(self)
        self.own = OwnAppends(self)
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
    ) -> AppendInfo:
        """Append one v2 batch; `batch` is patched in place. A retry of one of the producer's last five batches is answered as a duplicate.

        `header`: read from `batch` by the caller, who vouches that `batch` is of magic 2 and exactly as long as it says.
        `checked`: both are what `validation.checking` gave.
        `verified`: the coordinator knows of the transaction on this partition; `tv2`: it was added by a version 2 client.
        Raises KafkaError; then the log is as it was.
        """
        if self.offline is not None:
            raise self._offline_error()
        client = origin is _CLIENT
        if checked and header is not None:
            stored = batch
        else:
            header, stored = validate(batch, self.config, self.topic_partition, now_ms, client=client, header=header)
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
        self.appended()
        return info

    def append_marker(
        self, producer_id: int, producer_epoch: int, coordinator_epoch: int, commit: bool, now_ms: int, *, transaction_version: int = 0
    ) -> int:
        """End the producer's transaction here; the marker's offset. Raises KafkaError 47 or 52 for a zombie, 56 when the disk fails."""
        self.check_online()
        end = self.log_end_offset
        check_marker(self.state, producer_id, producer_epoch, coordinator_epoch, self.topic_partition, end, transaction_version)
        offset = self.own.marker(producer_id, producer_epoch, coordinator_epoch, commit, now_ms)
        completed = self.state.end_transaction(producer_id, producer_epoch, coordinator_epoch, offset, now_ms, now_ms, commit)
        if completed is not None:
            self._complete(completed)
        self.appended()
        return offset

    def append_own(self, batch: bytes, now_ms: int, *, of_any_size: bool) -> None:
        """Write a batch of the broker itself that `own` leaves, at the log end. Raises KafkaError."""
        self.check_online()
        header, stored = parse_header(batch), bytearray(batch)
        if not of_any_size:
            validate(stored, self.config, self.topic_partition, now_ms, client=False, header=header)
        self._write(header, stored, now_ms)

    def _complete(self, completed: CompletedTxn) -> None:
        """Index before release: readers must never see an aborted transaction as committed."""
        if completed.aborted:
            segment = self.active_segment
            entry = self.state.aborted_txn(completed)
            try:
                segment.append_aborted(entry)
            except OSError as error:  # the entry is in memory; the file is written again with the next flush
                _log.warning("aborted transaction not indexed yet partition=%s error=%s", self.topic_partition, error)
                self.durability.later(lambda: segment.replace_aborted(segment.aborted))
        self.state.complete(completed)

    def _write(self, header: BatchHeader, stored: bytearray | memoryview, now_ms: int) -> None:
        size = len(stored)
        base_offset = header.base_offset = self.log_end_offset
        last_offset = base_offset + header.last_offset_delta
        try:
            if self.before_first_write is not None:
                self._make_files()
            segment = self.segments.active
            if must_roll(segment, self.config, self.jitter_ms, header, last_offset, size, now_ms):
                segment = self.roll(now_ms)
            segment.append(
                assigned(stored, base_offset, self.leader_epoch), last_offset, header.max_timestamp, self.config.max_segment_bytes
            )
        except OSError as error:
            raise self.write_failed(error) from error
        self.log_end_offset = last_offset + 1
        if self.leader_epoch > self.epochs.latest:
            self.epochs.assign(self.leader_epoch, header.base_offset)

    def _make_files(self) -> None:
        assert self.before_first_write is not None
        self.before_first_write()
        self.durability.unsynced_folders += [self.folder, self.folder.parent]
        self.before_first_write = None

    def write_failed(self, error: OSError) -> KafkaError:
        """A full disk passes; anything else does not."""
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE):
            self.fail(f"write failed: {error}")
        return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"Error while writing to partition {self.topic_partition}: {error}")

    def appended(self) -> None:
        config, durability = self.config, self.durability
        if config.flush_on_ack:
            durability.ask()
            return
        end = self.log_end_offset
        self._advance_high_watermark(end)
        if end - durability.durable_end >= config.flush_messages or durability.has_writes:
            durability.request()

    # -- rolling

    def roll(self, now_ms: int) -> Segment:
        """Seal the active segment and begin a new one at the log end; an empty active segment stays. Raises OSError."""
        old = self.segments.active
        if old.size == 0 and old.base_offset == self.log_end_offset:
            return old
        segment = Segment.create(self.descriptors, self.folder, self.log_end_offset, self.config.index_interval_bytes, now_ms)
        self.segments.add(segment)
        self.jitter_ms = self._next_jitter()
        self.durability.rolled(old)
        self.take_snapshot()
        self.durability.request()
        return segment

    def take_snapshot(self) -> None:
        """Producer state at the log end is written with the next flush; nothing is written when nothing is new."""
        if self.last_snapshot_offset == self.log_end_offset or self.log_end_offset == 0:
            return
        self.last_snapshot_offset = self.log_end_offset
        entries = self.state.copy_packed()
        self.durability.later(partial(producer_snapshots.write, self.env.fs, self.folder, self.log_end_offset, entries))
        self.durability.later(partial(producer_snapshots.vouch, self.env.fs, self.folder, list(self.segments)))

    def _next_jitter(self) -> int:
        return self.env.random.below(self.config.segment_jitter_ms) if self.config.segment_jitter_ms else 0

    # -- durability

    @property
    def settled_end(self) -> int:
        """`Durability.settled_end`."""
        return self.durability.settled_end

    def flush(self) -> None:
        """Return when everything appended is on disk. Raises KafkaError(KAFKA_STORAGE_ERROR)."""
        self.durability.flush()
        self.check_online()

    def when_durable(self, offset: int, callback: Waiter) -> None:
        """Call back once everything below `offset` is on disk, at once if it is; with KafkaError when it never will be."""
        if self.offline is not None:
            callback(self._offline_error())
        elif offset <= self.high_watermark:
            callback(None)
        else:
            self._watchers.wait(offset, callback)

    def durable_end_moved(self) -> None:
        """On one node the high watermark is the durable end; with followers it would be the lower of that and what they have."""
        self._advance_high_watermark(self.durability.durable_end)

    def _advance_high_watermark(self, offset: int) -> None:
        if offset > self.high_watermark:
            self.high_watermark = offset
            self.state.high_watermark_moved(offset)
            self._watchers.reached(offset)

    def fail(self, why: str) -> None:
        """The disk cannot be relied on: from here on everybody is refused."""
        if self.offline is None:
            _log.error("log offline partition=%s reason=%s", self.topic_partition, why)
            self.retire(why)

    def retire(self, why: str) -> None:
        """The topic is gone: whoever still holds the log is told."""
        if self.offline is None:
            self.offline = why
            self.mending.abandon()
            self._watchers.failed(self._offline_error)

    def check_online(self) -> None:
        if self.offline is not None:
            raise self._offline_error()

    def _offline_error(self) -> KafkaError:
        return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"The log for partition {self.topic_partition} is offline: {self.offline}")

    def add_change_listener(self, listener: Callable[[], None]) -> None:
        """Called after the high watermark, last stable offset or log start moved, or the log went offline."""
        self._watchers.listen(listener)

    def remove_change_listener(self, listener: Callable[[], None]) -> None:
        self._watchers.leave(listener)

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
        self, offset: int, max_bytes: int, *, isolation: IsolationLevel | int, min_one_message: bool, in_memory: int = EVERYTHING
    ) -> FetchData:
        """`Reader.read`; a segment that has to be mended is mended here, which takes long."""
        return self.reader.read(offset, max_bytes, isolation, min_one_message, in_memory)

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        return self.epochs.end_offset_for(epoch, self.log_end_offset)

    def size_bytes(self) -> int:
        return sum(segment.size for segment in self.segments)

    def producers(self) -> list[ProducerStateEntry]:
        return list(self.state)

    def has_open_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        return self.state.is_open(producer_id, producer_epoch)

    def open_transactions(self) -> list[tuple[int, int, int]]:
        """(producer id, epoch, first offset), by first offset."""
        return self.state.open_transactions()

    # -- upkeep

    def advance_log_start(self, offset: int) -> None:
        """Never backwards, never beyond the high watermark (retention and DeleteRecords)."""
        offset = min(offset, self.high_watermark)
        if offset <= self.log_start_offset:
            return
        self.log_start_offset = offset
        self.epochs.truncate_from_start(offset)
        self._watchers.changed()

    def update_config(self, config: LogConfig) -> None:
        self.config = config

    def maintain(self, now_ms: int) -> None:
        """Small periodic work: expired producers, postponed writes, files whose deletion is due."""
        self.state.expire(now_ms, self.config.producer_id_expiration_ms)
        self.segments.purge(now_ms)
        if self.durability.has_writes or self.durability.is_due(now_ms, self.config.flush_ms):
            self.durability.request()

    def close(self) -> None:
        """Orderly stop: everything on disk, indexes trimmed, producer state at the log end. Raises KafkaError(56)."""
        self.check_online()
        if self.before_first_write is None:
            self._settle_files()
        self.retire("the broker has stopped")  # whoever still holds the log is refused: nobody would write it out

    def _settle_files(self) -> None:
        self.flush()
        if self.durability.holds_back:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"the newest batches of {self.topic_partition} are in the journal only")
        active = self.segments.active
        try:
            active.trim()
        except OSError as error:
            raise self.write_failed(error) from error
        self.take_snapshot()
        if self.durability.has_writes or active.indexes_loaded:
            self.durability.later(partial(seal, active, trim=False))
        self.flush()
        if self.durability.has_writes:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"indexes of {self.topic_partition} could not be written")
        self.close_files()

    def close_files(self) -> None:
        for segment in self.segments:
            self.descriptors.forget(segment.log_path)
