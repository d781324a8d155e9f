"""`.index`: what is found, what cannot be an index, what is written."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oncelog.storage.files.offset_index import OffsetIndex

pytestmark = pytest.mark.unit
BASE = 1000
ENTRIES = [(1004, 100), (1010, 300), (1011, 700)]


def index(*entries: tuple[int, int]) -> OffsetIndex:
    made = OffsetIndex(BASE)
    for last_offset, position in entries or ENTRIES:
        made.append(last_offset, position)
    return made


def file(*entries: tuple[int, int]) -> bytes:
    return b"".join(struct.pack(">ii", *entry) for entry in entries)


def test_the_file_is_kafkas() -> None:
    assert index().encode() == file((4, 100), (10, 300), (11, 700))
    assert index().encode(2) == file((11, 700))


@pytest.mark.parametrize(
    ("offset", "found"), [(0, (-1, 0)), (1003, (-1, 0)), (1004, (1004, 100)), (1009, (1004, 100)), (1011, (1011, 700)), (9999, (1011, 700))]
)
def test_the_entry_at_or_below_an_offset(offset: int, found: tuple[int, int]) -> None:
    assert index().floor(offset) == found


@pytest.mark.parametrize(("position", "found"), [(99, (-1, 0)), (100, (1004, 100)), (699, (1010, 300)), (700, (1011, 700))])
def test_the_entry_at_or_below_a_position(position: int, found: tuple[int, int]) -> None:
    assert index().floor_position(position) == found


@pytest.mark.parametrize(("position", "bound"), [(0, 1004), (100, 1004), (101, 1010), (700, 1011), (701, None)])
def test_the_first_indexed_batch_at_or_above_a_position(position: int, bound: int | None) -> None:
    assert index().upper_bound(position) == bound


@pytest.mark.parametrize(("position", "left"), [(100, 0), (101, 1), (300, 1), (701, 3)])
def test_truncation_drops_entries_and_what_was_saved_of_them(position: int, left: int) -> None:
    made = index()
    made.saved = 2
    made.truncate(position)
    assert (len(made), made.saved) == (left, min(left, 2))
    assert made.encode() == index().encode()[: 8 * left]


def test_zeros_behind_the_entries_are_the_unused_rest() -> None:
    parsed = OffsetIndex.parse(file((4, 100), (10, 300)) + bytes(80), BASE, 1000)
    assert parsed is not None
    assert (len(parsed), parsed.saved, parsed.floor(2000)) == (2, 2, (1010, 300))
    empty = OffsetIndex.parse(bytes(80), BASE, 1000)
    assert empty is not None
    assert len(empty) == 0


@pytest.mark.parametrize(
    "data",
    [
        file((4, 100)) + b"x",
        file((4, 100), (4, 300)),
        file((4, 300), (10, 300)),
        file((10, 100), (4, 300)),
        file((-1, 100)),
        file((4, -100)),
        file((4, 1000)),
    ],
    ids=["torn", "offset twice", "position twice", "falling", "below the base", "below the file", "behind the log"],
)
def test_what_cannot_be_an_index(data: bytes) -> None:
    assert OffsetIndex.parse(data, BASE, 1000) is None


@given(st.sets(st.tuples(st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 2)), max_size=40))
def test_there_and_back(drawn: set[tuple[int, int]]) -> None:
    offsets, positions = sorted({one for one, _ in drawn}), sorted({one for _, one in drawn})
    entries = [entry for entry in zip(offsets, positions, strict=False) if entry != (0, 0)]
    parsed = OffsetIndex.parse(file(*entries), BASE, 2**31)
    assert parsed is not None
    assert parsed.encode() == file(*entries)
