"""What retention deletes: which of the oldest segments may go, by log start, by size, by the time of their records, and their going
(Kafka's `UnifiedLog.deleteOldSegments`).

The log start passes them first; once that is on disk the files go, else a start after a crash would take them for lost.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol

from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.storage.config import LogConfig
from oncelog.storage.log.log import Log

_log = logging.getLogger(__name__)


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


def pass_old_segments(log: Log, now_ms: int) -> bool:
    """Have the log begin behind what retention takes: what is too much, what is too old. Are there segments to remove? Raises OSError."""
    doomed = doomed_segments(
        list(log.segments),
        log.config,
        log_start_offset=log.log_start_offset,
        deletable_end=log.durability.deletable_end,
        log_end_offset=log.log_end_offset,
        now_ms=now_ms,
    )
    if doomed.segments == 0:
        return False
    if doomed.roll:
        log.roll(now_ms)
    log.advance_log_start(log.segments[doomed.segments].base_offset)
    return True


def remove_passed_segments(log: Log, now_ms: int) -> int:
    """Remove the segments below the log start; how many. Raises OSError."""
    count = sum(1 for _, following in pairwise(list(log.segments)) if following.base_offset <= log.log_start_offset)
    if count:
        log.segments.remove_oldest(count, now_ms, log.config.file_delete_delay_ms)
        _log.info("old segments deleted partition=%s count=%d log_start=%d", log.topic_partition, count, log.log_start_offset)
    return count


def delete_records(log: Log, offset: int) -> int:
    """Move the log start to `offset` (-1: the high watermark); the new log start. Raises KafkaError 1, 44 or 56 as Kafka does."""
    log.check_online()
    if not log.config.delete:
        raise KafkaError(
            ErrorCode.POLICY_VIOLATION, f"Records of partition {log.topic_partition} can not be deleted due to the configured policy"
        )
    target = log.high_watermark if offset == -1 else offset
    if not 0 <= target <= log.high_watermark:
        raise KafkaError(
            ErrorCode.OFFSET_OUT_OF_RANGE,
            f"The specified offset {offset} is higher than the high watermark {log.high_watermark} of {log.topic_partition}",
        )
    log.advance_log_start(target)
    return log.log_start_offset
