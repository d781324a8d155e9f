"""What of a log is on disk, and the flushes that bring it there (Kafka's `UnifiedLog.flush`, `LocalLog.recoveryPoint`).

A flush has two halves. First the data of the segments that were written to is synced, and the folder where files came to it: that moves
`durable_end`, for which acknowledgements wait. Behind that, without anybody waiting, rolled segments are sealed with their indexes, and
leader epochs and producer snapshots are written: only then does `recovery_point` follow, below which a start believes all of these unread.
There is one such second half at a time; what comes up meanwhile is left to the next.

Where there is a journal (`storage/journal/`), small batches are added to that instead and *held*: they get into the file when the journal
has them on disk, which moves `durable_end` as well. The file is synced some time later (`synced_end`). What does not go to the journal goes
*straight* into the file, behind what is held; and the journal is not used again before a flush has it. So the file never has a batch
that the journal may lose, and the journal none that stands behind one which the file may lose.

Nothing here waits for the disk: `begin_flush` hands a job to the flusher, `end_flush` takes it back, both on the loop's thread.
"""

from __future__ import annotations

import logging
import uuid
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol

from oncelog.protocol.errors import KafkaError
from oncelog.protocol.names import TopicPartition
from oncelog.storage.config import LogConfig
from oncelog.storage.env import Buffer, Env
from oncelog.storage.files.descriptors import Descriptors
from oncelog.storage.files.leader_epochs import LeaderEpochs
from oncelog.storage.journal.frames import ENTRY_BYTES, entry_head
from oncelog.storage.journal.journal import LARGEST_BATCH, Journal
from oncelog.storage.log.flush import Flusher, FlushJob, flush_now
from oncelog.storage.log.segment import Segment
from oncelog.storage.log.segment_file import SegmentFile
from oncelog.storage.log.segments import Segments

_CONTROL = 0x20  # in the second byte of the attributes
_ATTRIBUTES_AT = 22

_log = logging.getLogger(__name__)


class FlushedLog(Protocol):
    """What is needed of the log whose flushes these are."""

    env: Env
    folder: Path
    topic_partition: TopicPartition
    topic_id: uuid.UUID
    config: LogConfig
    descriptors: Descriptors
    segments: Segments
    epochs: LeaderEpochs
    log_end_offset: int
    high_watermark: int
    offline: str | None

    def durable_end_moved(self) -> None: ...

    def fail(self, why: str) -> None: ...

    def write_failed(self, error: OSError) -> KafkaError: ...


class _Held(NamedTuple):
    """A batch that may go to its file when the journal's frame `gate` is on disk. `journaled`: it is in one of the frames up to that."""

    gate: int
    segment: SegmentFile
    end_offset: int
    journaled: bool


class Durability:
    """`durable_end`: everything below it is on disk; `synced_end`: in its own file. `recovery_point`: and its indexes and producer
    snapshots too. `ask`: have what was appended last made durable, soon."""

    __slots__ = (
        "_entry_head",
        "_held",
        "_journal",
        "_last_flush_ms",
        "_log",
        "_rolled",
        "_sealing",
        "_straight_end",
        "_stuck",
        "_tidying",
        "_to_write",
        "_written_end",
        "ask",
        "durable_end",
        "on_sealed",
        "on_settled",
        "recovery_point",
        "request",
        "synced_end",
        "unsynced_folders",
    )

    def __init__(self, log: FlushedLog, flusher: Flusher) -> None:
        self._log = log
        self.request: Callable[[], None] = partial(flusher.request, self)  # a flush, soon
        self.ask: Callable[[], None] = self.request
        self.durable_end = self.synced_end = log.log_end_offset
        self.recovery_point = log.log_end_offset
        self.unsynced_folders: list[Path] = []
        self.on_settled: Callable[[], None] | None = None  # told when a segment was sealed
        self.on_sealed: Callable[[], None] | None = None  # and then, when the recovery point has passed it
        self._rolled: list[Segment] = []  # to be synced and sealed by the next flush
        self._sealing: tuple[Segment, ...] = ()  # a flush is sealing these
        self._tidying = False  # a flush is in its second half, or will be
        self._to_write: list[Callable[[], None]] = []  # by the next second half
        self._last_flush_ms = log.env.clock.time_ms()
        self._journal: Journal | None = None
        self._entry_head = b""
        self._held: deque[_Held] = deque()
        self._stuck: list[SegmentFile] = []  # hold what should be in their files, whose disk is full
        self._written_end = 0  # of what is in the files, while anything is held
        self._straight_end = 0  # of the last batch that went straight into a file

    # -- the journal

    def belong_to(self, journal: Journal, on_sealed: Callable[[], None]) -> None:
        """The directory's journal, if it has one, takes what it can from now on; `on_sealed` as above."""
        self.on_sealed = on_sealed
        if journal.is_used:
            self._journal = journal
            self._entry_head = entry_head(self._log.topic_id.bytes, self._log.topic_partition.partition)
            self._log.segments.active.ahead = self

    def take(self, segment: SegmentFile, batch: Buffer, last_offset: int) -> bytes | None:
        """What is to become of `batch`, which is being appended: to be held until the journal lets it go to the file, or None, straight
        there. Raises OSError when batches that the journal has could not be put there."""
        journal, log, size, end = self._journal, self._log, len(batch), last_offset + 1
        assert journal is not None
        if self._stuck:
            self._put_down(self._stuck)
        if size > LARGEST_BATCH or size + ENTRY_BYTES > journal.room or not self.in_order or not log.config.flush_on_ack:
            self._straight_end = end
            self.ask = self.request
            if journal.room < 0 and log.config.flush_on_ack:
                journal.want()
            gate = self._held[-1].gate if self._held else 0
            if batch[_ATTRIBUTES_AT] & _CONTROL:  # nobody may find a marker whose decision is lost
                gate = max(gate, journal.last_of_all(self))
            if not gate:
                return None
            data = bytes(batch)
        else:
            data = bytes(batch)
            gate = journal.add(self, self._entry_head, data, end)
            self.ask = journal.request
        if not self._held:
            self._written_end = log.log_end_offset
        self._held.append(_Held(gate, segment, end, self._straight_end < end))
        return data

    @property
    def in_order(self) -> bool:
        """Everything that is not on disk yet is in the journal: no marker of any log that is appended later comes to disk before it."""
        return self._journal is not None and self.durable_end >= self._straight_end and not self.unsynced_folders

    def journal_reached(self, sequence: int) -> None:
        """The journal has its frames up to `sequence` on disk."""
        log, held = self._log, self._held
        if log.offline is not None:
            held.clear()
            return
        end, straight, segments = self.durable_end, False, self._stuck
        written_end = self._written_end
        while held and held[0].gate <= sequence:
            _, segment, written_end, journaled = held.popleft()
            if journaled:
                end = written_end
            else:
                straight = True
            if not segments or segments[-1] is not segment:
                segments = [*segments, segment]
        try:
            self._put_down(segments)
            self._written_end = written_end
        except OSError as error:
            log.write_failed(error)
        if straight or self._rolled:
            self.request()
        if end > self.durable_end:
            self.durable_end = end
            log.durable_end_moved()

    def _put_down(self, segments: list[SegmentFile]) -> None:
        """Write what `segments` hold and the journal has. Raises OSError."""
        limit_bytes = self._log.config.max_segment_bytes
        self._stuck = segments
        while segments:
            segment = segments[0]
            segment.put_down(sum(1 for one in self._held if one.segment is segment), limit_bytes)
            self._stuck = segments = segments[1:]

    def journal_failed(self, why: str) -> None:
        """A frame with batches of this log can not be brought to disk."""
        self._log.fail(why)

    @property
    def written_end(self) -> int:
        """Everything below it is in the files."""
        return self._written_end if self.holds_back else self._log.log_end_offset

    @property
    def holds_back(self) -> bool:
        """Not everything that was appended is in the files."""
        return bool(self._held or self._stuck)

    # -- what is to be done

    def rolled(self, segment: Segment) -> None:
        """Nothing is written to `segment` any more; a new one stands behind it."""
        active = self._log.segments.active
        active.ahead, segment.ahead = segment.ahead, None
        self._straight_end = self._log.log_end_offset + 1  # the name of the new one is not on disk yet
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
        """One flush, here and now; what fails takes the log offline. Nothing of the log, nor of the journal, may be under way."""
        if self._held and self._journal is not None:
            self._journal.flush()
        flush_now(self)

    def begin_flush(self) -> FlushJob | None:
        """What is not on disk yet; None when all is, or the log is offline."""
        log = self._log
        if log.offline is not None:
            return None
        if self._stuck:
            try:
                self._put_down(self._stuck)
            except OSError as error:
                log.write_failed(error)
                return None
        end = self.written_end
        open_ended = [segment for segment in self._rolled if segment.held] if self._held else []
        rolled = tuple(segment for segment in self._rolled if segment in log.segments and not segment.held) if self._rolled else ()
        dirty = [*rolled, *open_ended, log.segments.active] if self.synced_end < end else list(rolled)
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
        job = FlushJob(log.env.fs, end, files, pinned, tuple(dict.fromkeys(self.unsynced_folders)))
        self.unsynced_folders.clear()
        if self._tidying or open_ended:
            job.postponed = True
        elif rolled or self._to_write:
            job.behind = [*(partial(seal, segment) for segment in rolled), *self._to_write]
            job.tidied = self._end_tidy
            self._tidying = True
            self._rolled, self._sealing, self._to_write = open_ended, rolled, []
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
        self.synced_end = max(self.synced_end, job.end_offset)
        self.durable_end = max(self.durable_end, job.end_offset)
        if self._journal is not None:
            self._journal.synced(self, self.synced_end)
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
        self.recovery_point = max(self.recovery_point, job.end_offset if left else self.synced_end)
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
        if self._stuck or self._held:
            end = min(end, (self._stuck or [self._held[0].segment])[0].base_offset)
        return min(end, self._sealing[0].base_offset) if self._sealing else end

    @property
    def settled_end(self) -> int:
        """A segment that ends above it must not be replaced: it is not on disk with its indexes, or a flush still comes to seal it."""
        pending = self._sealing or self._rolled
        return min(self.recovery_point, pending[0].base_offset) if pending else self.recovery_point


def seal(segment: Segment, *, trim: bool = True) -> None:
    """On the flusher's thread: nobody appends to the segment any more, and nobody renames it (`deletable_end`, `settled_end`)."""
    segment.seal_files(trim=trim)
