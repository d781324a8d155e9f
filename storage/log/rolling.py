"""When a log begins a new segment (Kafka's `LogSegment.shouldRoll`)."""

from __future__ import annotations

from oncelog.protocol.records import BatchHeader
from oncelog.storage.config import LogConfig
from oncelog.storage.log.segment import MAX_RELATIVE_OFFSET, Segment


def must_roll(segment: Segment, config: LogConfig, jitter_ms: int, header: BatchHeader, last_offset: int, size: int, now_ms: int) -> bool:
    """Before a batch of `size` bytes that ends at `last_offset`: the segment or its indexes would grow too large, or it is too old,
    by the timestamps of its records as long as they have some. `jitter_ms` keeps the segments of many logs from rolling together."""
    if last_offset - segment.base_offset > MAX_RELATIVE_OFFSET:
        return True
    if segment.size == 0:
        return False
    first = segment.first_timestamp
    age_ms = header.max_timestamp - first if first >= 0 and header.max_timestamp >= 0 else now_ms - segment.created_ms
    return (
        segment.size > config.max_segment_bytes - size
        or age_ms > config.max_segment_ms - jitter_ms
        or segment.index_is_full(config.segment_index_bytes)
    )


def room_of(segment: Segment, config: LogConfig, jitter_ms: int) -> tuple[int, int]:
    """(length, timestamp) up to which `must_roll` says no for batches with timestamps, of a segment whose first batch has one."""
    return min(config.max_segment_bytes, segment.indexable_bytes(config.segment_index_bytes)), (
        segment.first_timestamp + config.max_segment_ms - jitter_ms
    )
