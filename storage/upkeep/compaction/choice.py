"""Which logs may be cleaned, how dirty they are, and what the cleaner needs of a log (Kafka's `LogCleanerManager`)."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, Protocol

from oncelog.protocol.names import TopicPartition
from oncelog.storage.config import LogConfig
from oncelog.storage.files.descriptors import Descriptors
from oncelog.storage.log.mending import Mending
from oncelog.storage.log.producer_state import ProducerStateEntry
from oncelog.storage.log.segment import Segment
from oncelog.storage.log.segments import Segments


class CleanableLog(Protocol):
    """What the cleaner needs of a Log."""

    folder: Path
    topic_partition: TopicPartition
    config: LogConfig
    descriptors: Descriptors
    segments: Segments
    log_start_offset: int
    log_end_offset: int
    offline: str | None

    @property
    def last_stable_offset(self) -> int: ...

    @property
    def settled_end(self) -> int: ...

    @property
    def mending(self) -> Mending: ...

    def producers(self) -> list[ProducerStateEntry]: ...


class CleanableRange(NamedTuple):
    """[start, end) may be cleaned. `must`: max.compaction.lag.ms is over for its oldest segment."""

    start: int
    end: int
    ratio: float
    must: bool


def cleanable_range(log: CleanableLog, first_dirty_offset: int | None, now_ms: int) -> CleanableRange | None:
    """The dirty range of a compacted log and how dirty it is; None when there is nothing to clean (`LogCleanerManager`)."""
    segments = list(log.segments)
    if not log.config.compact or log.offline is not None or len(segments) < 2:
        return None
    start = log.log_start_offset if first_dirty_offset is None else first_dirty_offset
    if not log.log_start_offset <= start <= log.log_end_offset:
        start = log.log_start_offset
    end = min(log.last_stable_offset, log.settled_end, segments[-1].base_offset)
    if log.config.min_compaction_lag_ms > 0:
        for segment in segments[:-1]:
            if segment.largest_timestamp > now_ms - log.config.min_compaction_lag_ms:
                end = min(end, segment.base_offset)
                break
    ended = [(segment, following.base_offset) for segment, following in pairwise(segments)]
    dirty = [segment for segment, behind in ended if start < behind and segment.base_offset < end]
    clean_bytes = sum(segment.size for segment, behind in ended if behind <= start)
    dirty_bytes = sum(segment.size for segment in dirty)
    if end <= start or dirty_bytes == 0:
        return None
    oldest = next((segment.first_timestamp for segment in dirty if segment.first_timestamp >= 0), now_ms)
    must = now_ms - oldest > log.config.max_compaction_lag_ms
    return CleanableRange(start, end, dirty_bytes / (clean_bytes + dirty_bytes), must)


def closed_segments(log: CleanableLog) -> list[Segment]:
    """All but the active one."""
    return list(log.segments)[:-1]
