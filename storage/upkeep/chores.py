"""Periodic work of a data directory, cut into pieces short enough for the event loop."""

from __future__ import annotations

import contextlib
import logging
from collections import deque
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from oncelog.protocol.names import TopicPartition
from oncelog.storage.config import LogConfig
from oncelog.storage.env import Env, FileSystem
from oncelog.storage.files import checkpoints
from oncelog.storage.log.flush import Offload
from oncelog.storage.log.log import Log
from oncelog.storage.log.segment import DamagedSegment
from oncelog.storage.upkeep.compaction.driver import LogCleaner
from oncelog.storage.upkeep.retention import pass_old_segments, remove_passed_segments

if TYPE_CHECKING:
    from concurrent.futures import Future

HIGH_WATERMARK_INTERVAL_MS = 5_000
CHECKPOINT_INTERVAL_MS = 60_000
FIRST_ROUND_MS = 30_000
_LOGS_PER_PIECE = 64

_log = logging.getLogger(__name__)


class Folders(Protocol):
    """Of deleted topics."""

    def remove_due(self, now_ms: int) -> None: ...


class Tended(Protocol):
    """The journal."""

    def tend(self) -> None: ...


class TopicFiles(Protocol):
    """What each folder tells of its topic."""

    def run(self) -> None: ...


class TendedDirectory(Protocol):
    """What the chores need of a data directory (`directory/manager.py`). `offload` runs slow file work on a worker thread."""

    @property
    def env(self) -> Env: ...

    @property
    def data_dir(self) -> Path: ...

    @property
    def defaults(self) -> LogConfig: ...

    @property
    def offload(self) -> Offload | None: ...

    @property
    def folders(self) -> Folders: ...

    @property
    def journal(self) -> Tended: ...

    @property
    def topic_files(self) -> TopicFiles: ...

    def logs(self) -> list[Log]: ...


class Chores:
    """`run` does one piece; call it every second or so."""

    def __init__(self, directory: TendedDirectory) -> None:
        self._directory = directory
        self._queue: deque[Log] = deque()
        self._next_watermarks = self._next_checkpoints = self._next_round = 0
        self._first_dirty: dict[TopicPartition, int] | None = None
        self._offload = directory.offload
        self._writing: Future[None] | None = None
        self._on_disk: dict[Path, dict[TopicPartition, int]] = {}  # as it is, or will be when the worker is done
        self._sealed = False
        self._deleted: set[TopicPartition] = set()  # the checkpoints may still tell of them
        self._passed: list[Log] = []  # with segments below their log start
        self.cleaner = LogCleaner(directory.env.fs, directory.env.clock, self._cleaned, self._offload)

    def started(self) -> None:
        now_ms = self._directory.env.clock.time_ms()
        self._next_watermarks = now_ms  # at once: a gap in a compacted log is told from a lost write by this checkpoint
        self._next_checkpoints = now_ms + CHECKPOINT_INTERVAL_MS
        self._next_round = now_ms + min(FIRST_ROUND_MS, self._directory.defaults.retention_check_interval_ms)
        self._first_dirty = self._cleaner_offsets()

    def run(self, now_ms: int) -> None:
        self._directory.journal.tend()
        try:
            self._directory.folders.remove_due(now_ms)
            if now_ms >= self._next_checkpoints or self._sealed:
                self._sealed = False
                self._next_checkpoints = now_ms + CHECKPOINT_INTERVAL_MS
                self._next_watermarks = now_ms + HIGH_WATERMARK_INTERVAL_MS
                self._checkpoint(everything=True)
            elif now_ms >= self._next_watermarks:
                self._next_watermarks = now_ms + HIGH_WATERMARK_INTERVAL_MS
                self._checkpoint(everything=False)
            self._directory.topic_files.run()
            self._tend(now_ms)
        except OSError as error:
            _log.warning("upkeep put off error=%s", error)

    @property
    def busy(self) -> bool:
        """A round over the logs, or the compaction of one, is under way."""
        return bool(self._queue) or self.cleaner.busy

    def _tend(self, now_ms: int) -> None:
        if not self._queue and now_ms >= self._next_round:
            self._next_round = now_ms + self._directory.defaults.retention_check_interval_ms
            self._queue.extend(self._directory.logs())
        for _ in range(min(_LOGS_PER_PIECE, len(self._queue))):
            log = self._queue.popleft()
            if log.offline is None:
                log.maintain(now_ms)
                self._pass_old_segments(log, now_ms)
        if self._passed and self._starts_are_on_disk():
            for log in self._passed:
                if log.offline is None:
                    remove_passed_segments(log, now_ms)
            self._passed.clear()
        self._clean(now_ms)

    def _pass_old_segments(self, log: Log, now_ms: int) -> None:
        try:
            if pass_old_segments(log, now_ms):
                self._passed.append(log)
        except DamagedSegment as damage:  # how old a segment is will be known in the next round
            log.mending.begins(damage)

    def _starts_are_on_disk(self) -> bool:
        """Write the log starts before what they passed is removed: after a crash it must not look lost. Raises OSError."""
        starts = {log.topic_partition: log.log_start_offset for log in self._passed}
        if self._writing is None or self._writing.done():
            self._written()
            known = self._on_disk.get(self._directory.data_dir / checkpoints.LOG_STARTS, {})
            if all(known.get(topic_partition, 0) >= start for topic_partition, start in starts.items()):
                return True
            self._checkpoint(everything=True)
        return self._offload is None

    def _clean(self, now_ms: int) -> None:
        compacted = [log for log in _compacted(self._directory.logs()) if log.offline is None and len(log.segments) > 1]
        if not compacted:
            return
        compacted = [log for log in compacted if log.reader.txn_indexes_are_checked()]
        assert self._first_dirty is not None
        if self.cleaner.looks_for_work:  # it never goes beyond what is durable now, and recovery has to know how far that was
            self.write_checkpoints(everything=False)
        self.cleaner.step(compacted, self._first_dirty, now_ms)

    def _cleaner_offsets(self) -> dict[TopicPartition, int]:
        """What was cleaned by earlier processes; a damaged checkpoint is written again. Raises OSError."""
        fs, path = self._directory.env.fs, self._directory.data_dir / checkpoints.CLEANER_OFFSETS
        found = checkpoints.read_offsets(fs, path)
        if found is None and fs.exists(path):
            checkpoints.write_offsets(fs, path, {})
        return found or {}

    def close(self) -> None:
        """Give up what takes long; nothing of it is left behind."""
        self.cleaner.close()
        for log in self._directory.logs():
            log.mending.abandon()

    def _cleaned(self, topic_partition: TopicPartition, first_dirty_offset: int) -> None:
        assert self._first_dirty is not None
        self._first_dirty[topic_partition] = first_dirty_offset
        checkpoints.write_offsets(self._directory.env.fs, self._directory.data_dir / checkpoints.CLEANER_OFFSETS, self._first_dirty)

    def segment_sealed(self) -> None:
        """Write the recovery points soon: a start after a crash reads all that is above them, and should not read that segment."""
        self._sealed = True

    def topic_deleted(self, log: Log) -> None:
        self.cleaner.abort(log.topic_partition)
        self._deleted.add(log.topic_partition)

    def before_first_write(self, topic_partition: TopicPartition) -> None:
        """What the checkpoints say of a deleted partition must not be taken for the new one of its name. Raises OSError."""
        if topic_partition in self._deleted:
            self.write_checkpoints(everything=True)
            self._deleted.clear()

    def _checkpoint(self, *, everything: bool) -> None:
        """`write_checkpoints` on a worker thread where there is one: ten thousand lines and their fsync are too long for the loop."""
        if self._offload is None:
            self.write_checkpoints(everything=everything)
            return
        if self._writing is not None and not self._writing.done():
            return  # a slow disk; the next interval brings newer values
        self._written()
        new = [(path, offsets) for path, offsets in self._contents(everything) if self._on_disk.get(path) != offsets]
        if new:  # nothing is written for a broker that has nothing to do
            self._writing = self._offload(partial(_write_all, self._directory.env.fs, new))
            self._on_disk.update(new)

    def _written(self) -> None:
        """Wait for what a worker is writing. Raises OSError as it did."""
        writing, self._writing = self._writing, None
        if writing is not None:
            try:
                writing.result()
            except OSError:
                self._on_disk.clear()
                raise

    def write_checkpoints(self, *, everything: bool) -> None:
        """High watermarks, and with `everything` recovery points and log starts; on disk when it returns. Raises OSError."""
        with contextlib.suppress(OSError):  # newer values follow here
            self._written()
        contents = self._contents(everything)
        _write_all(self._directory.env.fs, contents)
        self._on_disk.update(contents)

    def _contents(self, everything: bool) -> list[tuple[Path, dict[TopicPartition, int]]]:
        data_dir, logs = self._directory.data_dir, self._directory.logs()
        contents = [(data_dir / checkpoints.HIGH_WATERMARKS, {log.topic_partition: log.high_watermark for log in logs})]
        if everything:
            starts = {log.topic_partition: log.log_start_offset for log in logs if log.log_start_offset > 0}
            contents.append((data_dir / checkpoints.LOG_STARTS, starts))
            contents.append((data_dir / checkpoints.RECOVERY_POINTS, {log.topic_partition: log.durability.recovery_point for log in logs}))
        return contents


def _compacted(logs: Sequence[Log]) -> list[Log]:
    """Asked every second of up to ten thousand logs, so each setting is looked at once; partitions of a topic share theirs."""
    policies: dict[int, bool] = {}
    found = []
    for log in logs:
        compact = policies.get(id(log.config))
        if compact is None:
            compact = policies[id(log.config)] = log.config.compact
        if compact:
            found.append(log)
    return found


def _write_all(fs: FileSystem, contents: Sequence[tuple[Path, dict[TopicPartition, int]]]) -> None:
    for path, offsets in contents:
        checkpoints.write_offsets(fs, path, offsets)
