"""What is done with one segment of an open log: its indexes alone, all of its batches, and what its lost end leaves to be told."""

from __future__ import annotations

from pathlib import Path

import pytest
from oncelog.storage.log.segment import DamagedSegment, Segment
from oncelog.storage.recovery.mend import mend
from oncelog.storage.recovery.missing import read_missing
from support.storage_kit import T0, TP, Kit

pytestmark = pytest.mark.unit


def opened(tmp_path: Path) -> tuple[Kit, Segment]:
    """The first of two segments, with ten batches of two records."""
    kit = Kit(tmp_path)
    log = kit.create(internal_segment_bytes="100000")
    for _ in range(10):
        kit.clock.now_ms += 1
        kit.append(n=2)
    log.roll(T0)
    kit.append()
    return kit, kit.restart().segments[0]


def flip(segment: Segment, number: int) -> None:
    position, header = list(segment.headers())[number]
    at = position + header.size_bytes - 1
    segment.overwrite(at, bytes([segment.read_at(at, 1)[0] ^ 1]))


def test_indexes_alone_are_made_from_the_headers(tmp_path: Path) -> None:
    kit, segment = opened(tmp_path)
    right = segment.path(".index").read_bytes()
    flip(segment, 5)  # a header says nothing of it
    segment.path(".index").unlink()
    assert mend(kit.fs, TP, list(kit.log.segments), segment, 21, 21, indexes_only=True) is None
    assert segment.path(".index").read_bytes() == right


@pytest.mark.parametrize("trusted", [False, True])
def test_headers_that_do_not_follow_each_other(tmp_path: Path, trusted: bool) -> None:
    kit, segment = opened(tmp_path)
    segment.overwrite(list(segment.headers())[5][0], bytes(8))
    if trusted:
        segment.trusted_from = 0
        with pytest.raises(DamagedSegment):
            mend(kit.fs, TP, list(kit.log.segments), segment, 21, 21, indexes_only=True)
        return
    assert mend(kit.fs, TP, list(kit.log.segments), segment, 21, 21, indexes_only=True) is None
    assert [header.base_offset for _, header in segment.headers()] == list(range(0, 20, 2))


def test_a_lost_end_is_told_afterwards(tmp_path: Path) -> None:
    kit, segment = opened(tmp_path)
    flip(segment, 9)
    tell = mend(kit.fs, TP, list(kit.log.segments), segment, 21, 21, indexes_only=False)
    assert tell is not None
    assert read_missing(kit.fs, kit.folder) == []
    tell()
    assert read_missing(kit.fs, kit.folder) == [(18, 20)]
