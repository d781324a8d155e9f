"""What retention lets go: log start, size, record time, and what it never touches."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from oncelog.protocol.config_def import parse_config
from oncelog.storage.config import LogConfig
from oncelog.storage.upkeep.retention import Doomed, doomed_segments

NOW = 1_000_000


@dataclass
class Segment:
    base_offset: int
    size: int = 100
    largest_timestamp: int = NOW
    modified_ms: int = NOW

    def mtime_ms(self) -> int:
        return self.modified_ms


def config(**values: str) -> LogConfig:
    return parse_config(LogConfig, {f"log.{name.replace('_', '.')}": value for name, value in values.items()})


def doomed(segments: list[Segment], settings: LogConfig, *, log_start: int = 0, deletable_end: int = 40, log_end: int = 40) -> Doomed:
    return doomed_segments(segments, settings, log_start_offset=log_start, deletable_end=deletable_end, log_end_offset=log_end, now_ms=NOW)


def four() -> list[Segment]:
    return [Segment(base) for base in (0, 10, 20, 30)]


@pytest.mark.parametrize(("limit", "count"), [(400, 0), (399, 0), (301, 0), (300, 1), (250, 1), (200, 2), (100, 3), (0, 4)])
def test_size_never_goes_below_the_limit(limit: int, count: int) -> None:
    assert doomed(four(), config(retention_bytes=str(limit))) == Doomed(count, roll=count == 4)


def test_time_follows_the_records_and_a_future_one_pins_its_segment() -> None:
    segments = four()
    for segment in segments[:3]:
        segment.largest_timestamp = NOW - 1001
    assert doomed(segments, config(retention_ms="1000")) == Doomed(3, roll=False)
    assert doomed(segments, config(retention_ms="1001")) == Doomed(0, roll=False)
    segments[0].largest_timestamp = NOW + 50_000
    assert doomed(segments, config(retention_ms="1000")) == Doomed(0, roll=False)


def test_without_timestamps_the_age_of_the_file_counts() -> None:
    segments = [Segment(0, largest_timestamp=-1, modified_ms=NOW - 1001), Segment(10)]
    assert doomed(segments, config(retention_ms="1000")).segments == 1


def test_the_active_segment_goes_only_after_a_roll_and_never_when_empty() -> None:
    old = [Segment(0, largest_timestamp=0)]
    assert doomed(old, config(retention_ms="1000")) == Doomed(1, roll=True)
    assert doomed([*old, Segment(40, size=0)], config(retention_ms="1000")) == Doomed(1, roll=False)


def test_nothing_above_the_high_watermark_goes() -> None:
    segments = [Segment(base, largest_timestamp=0) for base in (0, 10, 20, 30)]
    assert doomed(segments, config(retention_ms="1000"), deletable_end=19).segments == 1


def test_segments_below_the_log_start_go_whatever_the_policy() -> None:
    assert doomed(four(), config(cleanup_policy="compact", retention_bytes="0"), log_start=20).segments == 2
    assert doomed(four(), config(cleanup_policy="compact", retention_ms="0")).segments == 0
    assert doomed(four(), config(cleanup_policy="compact,delete", retention_bytes="200")).segments == 2


def test_off_is_off() -> None:
    segments = [Segment(base, largest_timestamp=0) for base in (0, 10)]
    assert doomed(segments, config(retention_ms="-1", retention_bytes="-1")).segments == 0
