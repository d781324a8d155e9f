"""The segments of a log by offset; what is removed or replaced is renamed at once and unlinked in time."""

from __future__ import annotations

from pathlib import Path

import pytest
from oncelog.protocol.records import build_batch, parse_header
from oncelog.storage.files.descriptors import Descriptors
from oncelog.storage.log.segment import Segment
from oncelog.storage.log.segments import Segments
from oncelog.storage.log.swap import CleanedSegment
from support.simfs import SimFileSystem
from support.storage_kit import T0

FOLDER = Path("/d")


@pytest.fixture
def fs() -> SimFileSystem:
    made = SimFileSystem(1)
    made.mkdir(FOLDER)
    return made


def segments(fs: SimFileSystem, *bases: int) -> Segments:
    """Each with one record, its indexes and a snapshot at its beginning."""
    descriptors, found = Descriptors(fs), []
    for base in bases:
        segment = Segment.create(descriptors, FOLDER, base, 4096, T0)
        data = build_batch([(T0, None, b"x")])
        data[:8] = base.to_bytes(8)
        segment.append(data, base, T0, 1 << 30)
        segment.save_indexes(final=True)
        fs.write_atomic(FOLDER / f"{base:020d}.snapshot", b"x")
        found.append(segment)
    return Segments(fs, descriptors, FOLDER, found)


def names(fs: SimFileSystem, suffix: str) -> list[int]:
    return [int(name[:20]) for name in fs.list(FOLDER) if name.endswith(suffix)]


def test_the_slot_of_an_offset(fs: SimFileSystem) -> None:
    found = segments(fs, 10, 20, 35)
    assert [found.floor(offset) for offset in (0, 9, 10, 19, 20, 34, 35, 10**9)] == [0, 0, 0, 0, 1, 1, 2, 2]
    assert (len(found), found.active.base_offset, found[1].base_offset) == (3, 35, 20)
    assert [one.base_offset for one in found] == [10, 20, 35]


def test_another_segment_behind_the_last(fs: SimFileSystem) -> None:
    found = segments(fs, 0)
    old = found.active
    again = Segment.new(Descriptors(fs), FOLDER, 0, 4096, T0)
    found.add(again)
    assert (len(found), found.active, again in found, old in found) == (1, again, True, False)
    found.add(Segment.new(Descriptors(fs), FOLDER, 7, 4096, T0))
    assert [found.floor(offset) for offset in (6, 7)] == [0, 1]
    with pytest.raises(AssertionError):
        found.add(Segment.new(Descriptors(fs), FOLDER, 6, 4096, T0))


def test_the_oldest_are_renamed_now_and_unlinked_later(fs: SimFileSystem) -> None:
    found = segments(fs, 0, 10, 20, 30)
    found.remove_oldest(2, T0, 60_000)
    assert ([one.base_offset for one in found], found.floor(5), found.floor(25), found.replaced) == ([20, 30], 0, 0, 1)
    assert names(fs, ".log") == names(fs, ".index") == names(fs, ".snapshot") == [20, 30]
    assert names(fs, ".log.deleted") == names(fs, ".index.deleted") == [0, 10]
    found.purge(T0 + 59_999)
    assert names(fs, ".log.deleted") == [0, 10]
    fs.unlink(FOLDER / f"{0:020d}.log.deleted")  # somebody was quicker
    found.purge(T0 + 60_000)
    assert names(fs, ".deleted") == []
    found.purge(T0 + 99_000)
    assert names(fs, ".log") == [20, 30]


def test_never_all_are_removed(fs: SimFileSystem) -> None:
    found = segments(fs, 0, 10)
    with pytest.raises(AssertionError):
        found.remove_oldest(2, T0, 0)
    assert names(fs, ".log") == [0, 10]


def test_purging_ends_at_what_is_not_due(fs: SimFileSystem) -> None:
    found = segments(fs, 0, 10, 20)
    found.remove_oldest(1, T0, 10)
    found.remove_oldest(1, T0 + 5, 10)
    found.purge(T0 + 10)
    assert names(fs, ".log.deleted") == [10]


def test_a_failing_unlink_is_raised_and_the_rest_tried_again(fs: SimFileSystem) -> None:
    found = segments(fs, 0, 10, 20)
    found.remove_oldest(2, T0, 0)
    before = names(fs, ".deleted")
    fs.fail(1, only=("unlink",))
    with pytest.raises(OSError):
        found.purge(T0)
    assert names(fs, ".deleted") == before
    found.purge(T0)
    assert len(names(fs, ".deleted")) <= 1  # the one that failed is left to the next start


def cleaned(fs: SimFileSystem, base: int) -> CleanedSegment:
    """Finished, with one record at `base` + 1."""
    new, data = CleanedSegment(fs, FOLDER, base, 4096), build_batch([(T0, None, b"kept")])
    data[:8] = (base + 1).to_bytes(8)
    new.append(parse_header(data), data, T0)
    new.finish([])
    return new


def test_neighbours_are_replaced_by_one_whose_base_keeps_its_snapshot(fs: SimFileSystem) -> None:
    found = segments(fs, 0, 10, 20, 30)
    old, last = found[1:3], found[3]  # type: ignore[misc]
    found.replace(old, cleaned(fs, 10), T0, 1_000)
    assert [one.base_offset for one in found] == [0, 10, 30]
    assert [found.floor(offset) for offset in (9, 10, 29, 30)] == [0, 1, 1, 2]
    assert (found[2], found.replaced) == (last, 1)
    assert all(one not in found for one in old)
    assert (found[1].size, found[1].trusted_from, found[1].txn_index_checked) == (len(build_batch([(T0, None, b"kept")])), 0, True)
    assert (names(fs, ".log"), names(fs, ".snapshot")) == ([0, 10, 30], [0, 10, 30])
    found.purge(T0 + 999)
    assert names(fs, ".log.deleted") == [10, 20]
    found.purge(T0 + 1_000)
    assert names(fs, ".deleted") == []


def test_the_active_segment_may_be_replaced_too(fs: SimFileSystem) -> None:
    found = segments(fs, 0, 10)
    found.replace([found[1]], cleaned(fs, 10), T0, 0)
    assert found.active.size == found[1].size > 0
    assert [one.base_offset for one in found] == [0, 10]


def test_records_that_are_lost_are_seen_in_any_segment(fs: SimFileSystem) -> None:
    found = segments(fs, 0, 10)
    assert not found.damaged
    found[0].damaged_at = 5
    assert found.damaged
    found[0].damaged_at = None
    found.lost_files = True
    assert found.damaged
