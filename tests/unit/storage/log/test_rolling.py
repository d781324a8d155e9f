"""When a log begins a new segment: each bound at its edge."""

from __future__ import annotations

from pathlib import Path

import pytest
from oncelog.protocol.records import BatchHeader, build_batch, parse_header
from oncelog.storage.config import LogConfig
from oncelog.storage.files.descriptors import Descriptors
from oncelog.storage.log.rolling import must_roll, room_of
from oncelog.storage.log.segment import MAX_RELATIVE_OFFSET, Segment
from support.simfs import SimFileSystem
from support.storage_kit import T0

BASE = 100
CONFIG = LogConfig(internal_segment_bytes=1_000, segment_ms=50)


def batch(at_ms: int) -> bytes:
    return bytes(build_batch([(at_ms, None, b"x")]))


def header(at_ms: int) -> BatchHeader:
    return parse_header(batch(at_ms))


@pytest.fixture
def segment() -> Segment:
    """Empty, made at T0."""
    fs = SimFileSystem(1)
    fs.mkdir(Path("/d"))
    return Segment.create(Descriptors(fs), Path("/d"), BASE, 0, T0)


def fill(segment: Segment, at_ms: int = T0) -> None:
    """One batch of a record."""
    data = bytearray(batch(at_ms))
    data[:8] = BASE.to_bytes(8)
    segment.append(data, BASE, at_ms, 1 << 30)


@pytest.mark.parametrize(("relative", "rolls"), [(MAX_RELATIVE_OFFSET, False), (MAX_RELATIVE_OFFSET + 1, True)])
def test_an_offset_that_the_indexes_cannot_hold(segment: Segment, relative: int, rolls: bool) -> None:
    """Also in an empty segment: the batch would not fit into it ever."""
    assert must_roll(segment, CONFIG, 0, header(T0), BASE + relative, 1, T0) is rolls


def test_an_empty_segment_takes_whatever_size_and_age(segment: Segment) -> None:
    assert not must_roll(segment, CONFIG, 0, header(T0 + 1_000), BASE, 5_000, T0 + 1_000)


@pytest.mark.parametrize(("room", "rolls"), [(0, False), (1, True)])
def test_a_batch_that_does_not_fit(segment: Segment, room: int, rolls: bool) -> None:
    fill(segment)
    assert must_roll(segment, CONFIG, 0, header(T0), BASE + 1, 1_000 - segment.size + room, T0) is rolls


@pytest.mark.parametrize(("age_ms", "jitter_ms", "rolls"), [(50, 0, False), (51, 0, True), (40, 10, False), (41, 10, True)])
def test_the_age_is_that_of_the_records(segment: Segment, age_ms: int, jitter_ms: int, rolls: bool) -> None:
    fill(segment)
    assert must_roll(segment, CONFIG, jitter_ms, header(T0 + age_ms), BASE + 1, 1, T0) is rolls
    assert not must_roll(segment, CONFIG, jitter_ms, header(T0), BASE + 1, 1, T0 + 10_000)


@pytest.mark.parametrize(("age_ms", "rolls"), [(50, False), (51, True)])
def test_without_timestamps_the_age_is_that_of_the_file(segment: Segment, age_ms: int, rolls: bool) -> None:
    fill(segment, -1)
    assert must_roll(segment, CONFIG, 0, header(T0 + 10_000), BASE + 1, 1, T0 + age_ms) is rolls


def test_a_batch_without_timestamp_too(segment: Segment) -> None:
    fill(segment)
    assert not must_roll(segment, CONFIG, 0, header(-1), BASE + 1, 1, T0 + 50)
    assert must_roll(segment, CONFIG, 0, header(-1), BASE + 1, 1, T0 + 51)


@pytest.mark.parametrize(("index_bytes", "rolls"), [(4, True), (24, True), (35, True), (36, False)])
def test_a_full_index(segment: Segment, index_bytes: int, rolls: bool) -> None:
    """One entry in either; the last slot of the time index is kept for sealing."""
    fill(segment)
    segment.append(batch(T0), BASE + 1, T0, 1 << 30)
    assert (len(segment.index), len(segment.time_index)) == (1, 1)
    assert must_roll(segment, LogConfig(segment_index_bytes=index_bytes), 0, header(T0), BASE + 2, 1, T0) is rolls


@pytest.mark.parametrize("index_bytes", [60, 10 << 20])
def test_within_its_room_a_segment_is_never_rolled(index_bytes: int) -> None:
    """What may go in without another look, against `must_roll` at every length and age up to it; a byte or millisecond more asks again."""
    fs = SimFileSystem(1)
    fs.mkdir(Path("/d"))
    segment = Segment.create(Descriptors(fs), Path("/d"), BASE, 100, T0)
    config = LogConfig(internal_segment_bytes=1_000, segment_ms=50, segment_index_bytes=index_bytes)
    fill(segment)
    length, until_ms = room_of(segment, config, 7)
    assert (length, until_ms) == (min(1_000, (index_bytes // 12 - 1) * 100), T0 + 43)
    for number in range(1, 40):
        size = len(batch(T0))
        if segment.size + size > length:
            break
        assert not must_roll(segment, config, 7, header(until_ms), BASE + number, size, T0)
        segment.append(batch(T0), BASE + number, T0, 1 << 30)
    assert must_roll(segment, config, 7, header(until_ms + 1), BASE + number, 1, T0)
    assert must_roll(segment, config, 7, header(T0), BASE + number, 1_000 - segment.size + 1, T0)
