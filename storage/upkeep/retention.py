"""Which of the oldest segments may go: by log start, by size, by the time of their records (Kafka's `UnifiedLog.deleteOldSegments`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from oncelog.storage.config import LogConfig


class RetainedSegment(Protocol):
    """What retention looks at; `largest_timestamp` is -1 without records."""

    @property
    def base_offset(self) -> int: ...

    @property
    def size(self) -> int: ...

    @property
    def largest_timestamp(self) -> int: ...

    def mtime_ms(self) -> int: ...


class Doomed(NamedTuple):
    """The oldest `segments` go. `roll`: the active one is among them, so a new one must be rolled first."""

    segments: int
    roll: bool


def doomed_segments(
    segments: Sequence[RetainedSegment], config: LogConfig, *, log_start_offset: int, deletable_end: int, log_end_offset: int, now_ms: int
) -> Doomed:
    """How many of the oldest segments may be deleted.

    From the oldest on, while a reason holds and the segment ends at or below `deletable_end` (the high watermark at most):
    the log start passed it (compacted topics too); the log without it is still at least retention.bytes; all its records are
    older than retention.ms, by their own timestamps. An empty active segment never goes.
    """
    excess = sum(segment.size for segment in segments) - config.retention_bytes if config.delete and config.retention_bytes >= 0 else 0
    count = 0
    for number, segment in enumerate(segments):
        active = number == len(segments) - 1
        end = log_end_offset if active else segments[number + 1].base_offset
        if end > deletable_end or (active and segment.size == 0):
            break
        too_much = excess > 0 and excess - segment.size >= 0
        if not (too_much or (not active and end <= log_start_offset) or (config.delete and _expired(segment, config, now_ms))):
            break
        excess -= segment.size
        count += 1
    return Doomed(count, roll=0 < count == len(segments))


def _expired(segment: RetainedSegment, config: LogConfig, now_ms: int) -> bool:
    if config.retention_ms < 0:
        return False
    newest = segment.largest_timestamp if segment.largest_timestamp >= 0 else segment.mtime_ms()
    return now_ms - newest > config.retention_ms
