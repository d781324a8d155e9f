"""What was found wrong with a segment of an open log is put right, away from the loop.

A read that comes upon damage, upon an index that lies or upon aborted transactions nobody has compared with their markers yet says what it
is in doubt of (`DamagedSegment`). Checking a segment of 1 GB takes seconds, so another thread does that, on a copy (`segment_draft.py`);
meanwhile who needs these bytes waits, and everybody else is served. When the copy is done it takes the segment's place in one turn of the
loop, unless segments were removed or replaced meanwhile: then it is thrown away, and whoever looks again has it begun again.

Only sealed segments are mended: an active one is rolled first, so appends go on, and not before a flush has sealed it. One at a time for
each log. What could not be mended is refused for a while, then tried again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from threading import Event
from typing import Protocol

from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.names import TopicPartition
from oncelog.storage.env import Env, FileSystem
from oncelog.storage.files.descriptors import Descriptors
from oncelog.storage.files.txn_index import parse_aborted
from oncelog.storage.log import replay
from oncelog.storage.log.durability import Durability
from oncelog.storage.log.flush import Flusher
from oncelog.storage.log.segment import DamagedSegment, Doubt, Segment
from oncelog.storage.log.segment_draft import SegmentDraft
from oncelog.storage.log.segments import Segments

RETRY_MS = 10_000  # after a failure
_OPEN_FILES = 8

_log = logging.getLogger(__name__)


class Mender(Protocol):
    """Puts a segment right whose bytes rotted since an earlier process wrote it, or keeps aside what cannot be, so that what is whole can
    be read (`recovery/mend.py`)."""

    def __call__(
        self,
        fs: FileSystem,
        topic_partition: TopicPartition,
        segments: Sequence[Segment],
        segment: Segment,
        durable: int,
        log_end: int,
        *,
        indexes_only: bool,
    ) -> Callable[[], None] | None:
        """What is to be written once that is in place. `indexes_only`: the batches are looked into only if their headers do not follow each
        other. Raises OSError."""


class MendedLog(Protocol):
    """What is needed of the log whose segments these are."""

    env: Env
    folder: Path
    topic_partition: TopicPartition
    segments: Segments
    durability: Durability
    high_watermark: int
    log_end_offset: int
    offline: str | None

    def roll(self, now_ms: int) -> Segment: ...

    def fail(self, why: str) -> None: ...


class _Job:
    """One segment of a log, as both are at the time. `problem`: why it came to nothing."""

    def __init__(self, log: MendedLog, mender: Mender, segment: Segment, doubt: Doubt) -> None:
        self.segment = segment
        self.doubt = doubt
        self.replaced = log.segments.replaced
        self.log_end = log.durability.written_end
        self.abandoned = Event()
        self.grows = segment is log.segments.active
        self.begun = False
        self.afterwards: Callable[[], None] | None = None
        self.problem: Exception | None = None
        self._fs = log.env.fs
        self._segments = list(log.segments)
        descriptors = Descriptors(self._fs, _OPEN_FILES)
        self.draft = SegmentDraft(segment, descriptors, self.abandoned)
        self._mend = partial(mender, self._fs, log.topic_partition, durable=log.high_watermark, log_end=self.log_end)

    def run(self) -> None:
        """On any thread."""
        self.begun = True
        descriptors = self.draft.descriptors
        try:
            self.draft.check_wanted()
            copies = [self.draft if one is self.segment else SegmentDraft(one, descriptors, self.abandoned) for one in self._segments]
            if self.doubt is Doubt.ABORTED:
                self._compare_aborted(copies)
            else:
                self.draft.settle_size()
                self.afterwards = self._mend(copies, self.draft, indexes_only=self.doubt is Doubt.INDEXES)
            self.draft.finish()
        except Exception as problem:  # it belongs to whoever waits for the segment
            self.problem = problem
            self.draft.discard()
        finally:
            descriptors.close()

    def _compare_aborted(self, copies: Sequence[Segment]) -> None:
        draft = self.draft
        entries = parse_aborted(draft.stored_aborted(), draft.base_offset)
        right = replay.aborted_of(self._fs, copies, draft, self.log_end)
        if entries is not None and copies[-1] is draft:  # it grows
            entries = [entry for entry in entries if entry.last_offset < self.log_end]
        if right != entries:
            draft.replace_aborted(right)
        draft.txn_index_checked = True


class Mending:
    """Of one log. Use on the loop's thread."""

    __slots__ = ("_changed", "_failed", "_flusher", "_job", "_log", "_mender", "_stopped", "_wanted")

    def __init__(self, log: MendedLog, flusher: Flusher, mender: Mender, changed: Callable[[], None]) -> None:
        """`changed`: tells those who wait."""
        self._log = log
        self._flusher = flusher
        self._mender = mender
        self._changed = changed
        self._job: _Job | None = None
        self._wanted = False  # a segment, once it is sealed
        self._stopped = False
        self._failed: tuple[str, float] | None = None  # why, and until when it is not tried again
        log.durability.on_settled = self._settled

    def begin(self, damage: DamagedSegment, *, here: bool = False) -> bool:
        """Have it mended. True: it is, look again. False: it will be, a change of the log tells. Raises KafkaError(56): it cannot be.

        `here`: now, while nobody is served.
        """
        log, segment = self._log, damage.segment
        if self._stopped or log.offline is not None:
            raise self._error("the log is being closed")
        if self._job is not None:
            if not here:
                return False
            if self._job.begun:
                raise self._error(str(damage))
            self._job.abandoned.set()
            self._job = None
        if segment not in log.segments:
            return True
        doubt = self._doubt(damage)
        try:
            if not self._is_sealed(segment, doubt, here=here):
                self._wanted = True
                return False
        except OSError as error:
            raise self._error(str(error)) from error
        if doubt is not Doubt.ABORTED:
            _log.info("damage found partition=%s looked_at=%s error=%s", log.topic_partition, doubt.value, damage)
        job = self._job = _Job(log, self._mender, segment, doubt)
        if here:
            job.run()
            self._end(job)
        else:
            self._flusher.aside(job.run, partial(self._end, job))
        if self._job is not None:
            return False
        self._check_failed()
        return True

    def begins(self, damage: DamagedSegment) -> bool:
        """`begin` for upkeep, which comes again: False also when it cannot be."""
        try:
            return self.begin(damage)
        except KafkaError as error:
            _log.warning("not mended partition=%s error=%s", self._log.topic_partition, error.message)
            return False

    def abandon(self) -> None:
        """For good; what is under way ends soon and comes to nothing."""
        self._stopped = True
        if self._job is not None:
            self._job.abandoned.set()

    def _doubt(self, damage: DamagedSegment) -> Doubt:
        """What has to be looked at. What this process wrote or checked itself, and again found wrong, it does not know how to mend."""
        self._check_failed()
        doubt = damage.doubt
        if doubt is Doubt.INDEXES and damage.segment.indexes_made:
            doubt = Doubt.BATCHES
        if doubt is Doubt.BATCHES and damage.segment.trusted_from == 0:
            raise self._error(str(damage))
        return doubt

    def _check_failed(self) -> None:
        if self._failed is not None and self._log.env.clock.monotonic_ms() < self._failed[1]:
            raise self._error(self._failed[0])

    def _is_sealed(self, segment: Segment, doubt: Doubt, *, here: bool) -> bool:
        """Nobody writes to it any more, or nothing is to be written. Raises OSError."""
        log = self._log
        if segment is log.segments.active:
            if doubt is Doubt.ABORTED:
                return True
            log.roll(log.env.clock.time_ms())
        if log.durability.is_settled(segment):
            return True
        if here:
            log.durability.flush()
        else:
            log.durability.request()
        return log.durability.is_settled(segment)

    def _settled(self) -> None:
        if self._wanted:
            self._wanted = False
            self._changed()

    def _end(self, job: _Job) -> None:
        """Another thread is done with `job`."""
        if job is not self._job:
            return  # it was not begun when it was given up
        self._job = None
        log = self._log
        if self._stopped or log.offline is not None:
            job.draft.discard()
            return
        if job.problem is not None:
            self._came_to_nothing(job, job.problem)
        elif log.segments.replaced != job.replaced:
            job.draft.discard()
        elif job.doubt is not Doubt.ABORTED or job.draft.differs:
            self._publish(job)
        else:
            job.segment.txn_index_checked = True
        self._changed()

    def _came_to_nothing(self, job: _Job, problem: Exception) -> None:
        log = self._log
        if job.doubt is Doubt.ABORTED and isinstance(problem, DamagedSegment):
            live = log.segments[log.segments.floor(problem.segment.base_offset)]
            try:
                self.begin(DamagedSegment(live, 0, str(problem), problem.doubt))
                return
            except KafkaError as error:
                problem = error
        self._failed = f"not mended: {problem}", log.env.clock.monotonic_ms() + RETRY_MS
        unexpected = None if isinstance(problem, (OSError, KafkaError)) else problem
        _log.error("segment not mended segment=%s error=%s", job.segment.log_path, problem, exc_info=unexpected)

    def _publish(self, job: _Job) -> None:
        log = self._log
        try:
            if job.segment is log.segments.active:  # its .txnindex grows: again, when nobody writes it any more
                job.draft.discard()
                log.roll(log.env.clock.time_ms())
                return
            if job.grows:  # it was rolled meanwhile, longer than the draft
                job.draft.discard()
                return
            log.segments.exchange(job.segment, job.draft.publish())
        except OSError as error:
            log.fail(f"write failed: {error}")
            return
        if job.draft.replaced is not None:
            self._flusher.aside(job.draft.replaced.close, _nothing)
        log.durability.later(partial(log.env.fs.sync_dir, log.folder))
        if job.afterwards is not None:
            log.durability.later(job.afterwards)
        log.durability.request()
        if job.doubt is Doubt.ABORTED:
            entries, found = len(job.draft.aborted), len(job.segment.aborted)
            _log.warning("txn index rebuilt segment=%s entries=%d found=%d", job.segment.log_path, entries, found)
        elif job.draft.damaged_at is None:  # else that was told
            _log.warning("segment mended segment=%s", job.segment.log_path)

    def _error(self, why: str) -> KafkaError:
        return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"Error while reading {self._log.topic_partition}: {why}")


def _nothing() -> None:
    """Nobody waits for it."""
