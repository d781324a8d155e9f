"""Drives the cleaning of all compacted logs, one at a time, dirtiest first, a few milliseconds per turn."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from oncelog.protocol.errors import KafkaError
from oncelog.protocol.names import TopicPartition
from oncelog.protocol.records import CorruptBatch
from oncelog.storage.env import Clock, FileSystem
from oncelog.storage.log.segment import DamagedSegment
from oncelog.storage.upkeep.compaction.choice import CleanableLog, cleanable_range
from oncelog.storage.upkeep.compaction.clean import DEFAULT_MAX_KEYS, CleaningAborted, CleanResult, Job, Steps, clean

# log.cleaner.backoff.ms: how long to wait when no log was dirty enough
BACK_OFF_MS = 15_000

_log = logging.getLogger(__name__)


class Pending(Protocol):
    """A job on a worker thread (concurrent.futures.Future)."""

    def done(self) -> bool: ...

    def result(self) -> Any: ...


@dataclass(slots=True)
class LogCleaner:
    """Cleans one log at a time, dirtiest first. `offload` runs a job on a worker thread; None runs it here (tests, simulation).

    `cleaned` is told the new first dirty offset of a log, for the cleaner checkpoint.
    """

    fs: FileSystem
    clock: Clock
    cleaned: Callable[[TopicPartition, int], None]
    offload: Callable[[Job], Pending] | None = None
    max_keys: int = DEFAULT_MAX_KEYS
    uncleanable: dict[TopicPartition, str] = field(default_factory=dict)
    _log: CleanableLog | None = None
    _steps: Steps[CleanResult] | None = None
    _pending: Pending | None = None
    _idle_until_ms: float = 0.0

    @property
    def busy(self) -> bool:
        """In the middle of a pass: `step` soon again."""
        return self._steps is not None

    @property
    def looks_for_work(self) -> bool:
        """The next `step` may begin a pass."""
        return self._steps is None and self.clock.monotonic_ms() >= self._idle_until_ms

    def step(self, logs: Iterable[CleanableLog], first_dirty: Mapping[TopicPartition, int], now_ms: int, budget_ms: float = 5.0) -> bool:
        """Work for about `budget_ms`; True while there is more to do."""
        if self._steps is None and not self._begin(logs, first_dirty, now_ms):
            return False
        if self._pending is not None and not self._pending.done():
            return True
        deadline = self.clock.monotonic_ms() + budget_ms
        try:
            self._run(deadline)
        except (CleaningAborted, CorruptBatch, OSError) as error:
            self._give_up(error)
        return self.busy

    def abort(self, topic_partition: TopicPartition) -> None:
        """The log is being deleted, truncated or closed: leave it alone."""
        if self._log is not None and self._log.topic_partition == topic_partition:
            self._end()

    def close(self) -> None:
        """Drop the pass under way: nothing of it is left behind."""
        self._end()

    def _begin(self, logs: Iterable[CleanableLog], first_dirty: Mapping[TopicPartition, int], now_ms: int) -> bool:
        if self.clock.monotonic_ms() < self._idle_until_ms:
            return False
        best: tuple[bool, float] | None = None
        for log in logs:
            if log.topic_partition in self.uncleanable:
                continue
            try:
                dirty = cleanable_range(log, first_dirty.get(log.topic_partition), now_ms)
            except DamagedSegment as damage:
                self._leave_to_mending(log, damage)
                continue
            if dirty is None or not (dirty.must or dirty.ratio > log.config.min_cleanable_dirty_ratio):
                continue
            if best is None or (dirty.must, dirty.ratio) > best:
                best = dirty.must, dirty.ratio
                self._log, self._steps = log, clean(log, self.fs, dirty.start, dirty.end, now_ms, self.max_keys)
        if best is None:
            self._idle_until_ms = self.clock.monotonic_ms() + BACK_OFF_MS
        return best is not None

    def _run(self, deadline_ms: float) -> None:
        assert self._steps is not None
        assert self._log is not None
        if self._pending is not None:
            pending, self._pending = self._pending, None
            pending.result()
        try:
            while self.clock.monotonic_ms() < deadline_ms:
                job = next(self._steps)
                if job is not None and self.offload is not None:
                    self._pending = self.offload(job)
                    return
                if job is not None:
                    job()
        except StopIteration as stop:
            result: CleanResult = stop.value
            _log.info(
                "cleaned partition=%s first_dirty_offset=%d bytes_before=%d bytes_after=%d records_dropped=%d",
                self._log.topic_partition,
                result.first_dirty_offset,
                result.bytes_before,
                result.bytes_after,
                result.records_dropped,
            )
            self.cleaned(self._log.topic_partition, result.first_dirty_offset)
            self._end()

    def _give_up(self, error: Exception) -> None:
        assert self._log is not None
        if isinstance(error, DamagedSegment):
            self._leave_to_mending(self._log, error)
        elif not isinstance(error, CleaningAborted) or "changed" not in str(error):
            self.uncleanable[self._log.topic_partition] = str(error)
        _log.warning("not cleaned partition=%s error=%s", self._log.topic_partition, error)
        self._end()

    def _leave_to_mending(self, log: CleanableLog, damage: DamagedSegment) -> None:
        try:
            log.mending.begin(damage)
        except KafkaError as error:
            self.uncleanable[log.topic_partition] = str(error)

    def _end(self) -> None:
        if self._pending is not None:
            with contextlib.suppress(OSError):  # the worker must be out of the files before they are removed
                self._pending.result()
        if self._steps is not None:
            self._steps.close()
        self._log = self._steps = self._pending = None
