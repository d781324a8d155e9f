"""What of a log is on disk, and the flushes that bring it there (Kafka's `UnifiedLog.flush`, `LocalLog.recoveryPoint`).

A flush has two halves. First the data of the segments that were written to is synced, and the folder where files came to it: that moves
`durable_end`, for which acknowledgements wait. Behind that, without anybody waiting, rolled segments are sealed with their indexes, and
leader epochs and producer snapshots are written: only then does `recovery_point` follow, below which a start believes all of these unread.
There is one such second half at a time; what comes up meanwhile is left to the next.

Nothing here waits for the disk: `begin_flush` hands a job to the flusher, `end_flush` takes it back, both on the loop's thread.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Protocol

from oncelog.protocol.names import TopicPartition
from oncelog.storage.env import Env
from oncelog.storage.files.descriptors import Descriptors
from oncelog.storage.files.leader_epochs import LeaderEpochs
from oncelog.storage.log.flush import Flusher, FlushJob, flush_now
from oncelog.storage.log.segment import Segment
from oncelog.storage.log.segments import Segments

_log = logging.getLogger(__name__)


class FlushedLog(Protocol):
    """What is needed of the log whose flushes these are."""

    env: Env
    folder: Path
    topic_partition: TopicPartition
    descriptors: Descriptors
    segments: Segments
    epochs: LeaderEpochs
    log_end_offset: int
    high_watermark: int
    offline: str | None

    def durable_end_moved(self) -> None: ...

    def fail(self, why: str) -> None: ...


class Durability:
    """`durable_end`: everything below it is on disk. `recovery_point`: and its indexes and producer snapshots too."""

    __slots__ = (
        "_last_flush_ms",
        "_log",
        "_rolled",
        "_sealing",
        "_tidying",
        "_to_write",
        "durable_end",
        "on_sealed",
        "on_settled",
        "recovery_point",
        "request",
        "unsynced_folders",
    )

    def __init__(self, log: FlushedLog, flusher: Flusher) -> None:
        self._log = log
        self.request: Callable[[], None] = partial(flusher.request, self)  # a flush, soon
        self.durable_end = log.log_end_offset
        self.recovery_point = log.log_end_offset
        self.unsynced_folders: list[Path] = []
        self.on_settled: Callable[[], None] | None = None  # told when a segment was sealed
        self.on_sealed: Callable[[], None] | None = None  # and then, when the recovery point has passed it
        self._rolled: list[Segment] = []  # to be synced and sealed by the next flush
        self._sealing: tuple[Segment, ...] = ()  # a flush is sealing these
        self._tidying = False  # a flush is in its second half, or will be
        self._to_write: list[Callable[[], None]] = []  # by the next second half
        self._last_flush_ms = log.env.clock.time_ms()

    # -- what is to be done

    def rolled(self, segment: Segment) -> None:
        """Nothing is written to `segment` any more; a new one stands behind it."""
        self._rolled.append(segment)
        self.unsynced_folders.append(self._log.folder)

    def later(self, write: Callable[[], None]) -> None:
        """Have something written that recovery could do without, by the second half of the next flush."""
        self._to_write.append(write)

    @property
    def has_writes(self) -> bool:
        """Something that `later` was told of is not under way yet."""
        return bool(self._to_write)

    def is_due(self, now_ms: int, flush_ms: int) -> bool:
        """flush.ms, for logs that do not flush on every acknowledgement."""
        return self.durable_end < self._log.log_end_offset and now_ms - self._last_flush_ms >= flush_ms

    # -- a flush

    def flush(self) -> None:
        """One flush, here and now; what fails takes the log offline."""
        flush_now(self)

    def begin_flush(self) -> FlushJob | None:
        """What is not on disk yet; None when all is, or the log is offline."""
        log = self._log
        if log.offline is not None:
            return None
        rolled = tuple(segment for segment in self._rolled if segment in log.segments) if self._rolled else ()
        dirty = [*rolled, log.segments.active] if self.durable_end < log.log_end_offset else list(rolled)
        if log.epochs.dirty:
            self._to_write.append(log.epochs.save)
            log.epochs.dirty = False
        if not dirty and (self._tidying or not self._to_write):
            return None
        pinned: list[str] = []
        try:
            files = []
            for segment in dirty:
                files.append(log.descriptors.pin(segment.log_path))
                pinned.append(segment.log_path)
        except OSError as error:
            for path in pinned:
                log.descriptors.unpin(path)
            log.fail(f"flush failed: {error}")
            return None
        job = FlushJob(log.env.fs, log.log_end_offset, files, pinned, tuple(dict.fromkeys(self.unsynced_folders)))
        self.unsynced_folders.clear()
        if self._tidying:
            job.postponed = True
        elif rolled or self._to_write:
            job.behind = [*(partial(seal, segment) for segment in rolled), *self._to_write]
            job.tidied = self._end_tidy
            self._tidying = True
            self._rolled, self._sealing, self._to_write = [], rolled, []
        self._last_flush_ms = log.env.clock.time_ms()
        return job

    def end_flush(self, job: FlushJob, error: OSError | None) -> None:
        """A failed fdatasync is final: the kernel may have dropped the pages, a second one would lie."""
        log = self._log
        for path in job.pinned:
            log.descriptors.unpin(path)
        if error is not None:
            if job.tidied is not None:
                self._tidying, self._sealing = False, ()
            log.fail(f"flush failed: {error}")
            return
        self.durable_end = max(self.durable_end, job.end_offset)
        if job.tidied is None and not job.postponed:
            self.recovery_point = max(self.recovery_point, job.end_offset)
        log.durable_end_moved()

    def _end_tidy(self, job: FlushJob) -> None:
        sealing, self._sealing = self._sealing, ()
        self._tidying = False
        if job.unfinished:
            _log.warning("not written yet partition=%s error=%s", self._log.topic_partition, job.problem)
            unsealed = sealing[len(job.behind) - len(job.unfinished) :]
            self._rolled[:0] = unsealed
            self._to_write[:0] = job.unfinished[len(unsealed) :]
            return
        left = bool(self._rolled or self._to_write)
        self.recovery_point = max(self.recovery_point, job.end_offset if left else self.durable_end)
        if left:
            self.request()
        for told in (self.on_settled, self.on_sealed) if sealing else ():
            if told is not None:
                told()

    # -- what others have to leave alone

    def is_settled(self, segment: Segment) -> bool:
        """Of one that is not active: it is on disk with its indexes, and nobody writes to it."""
        return segment not in self._rolled and segment not in self._sealing

    @property
    def deletable_end(self) -> int:
        """A segment that ends above it must not be deleted: it may still be read for the first time, or a flush is sealing it."""
        end = self._log.high_watermark
        return min(end, self._sealing[0].base_offset) if self._sealing else end

    @property
    def settled_end(self) -> int:
        """A segment that ends above it must not be replaced: it is not on disk with its indexes, or a flush still comes to seal it."""
        pending = self._sealing or self._rolled
        return min(self.recovery_point, pending[0].base_offset) if pending else self.recovery_point


def seal(segment: Segment, *, trim: bool = True) -> None:
    """On the flusher's thread: nobody appends to the segment any more, and nobody renames it (`deletable_end`, `settled_end`)."""
    segment.seal_files(trim=trim)
