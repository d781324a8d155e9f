"""`.timeindex`: what is found, what cannot be an index, what is written."""

from __future__ import annotations

import struct

import pytest
from oncelog.storage.files.time_index import TimeIndex

pytestmark = pytest.mark.unit
BASE = 1000
T = 1_700_000_000_000


def index() -> TimeIndex:
    made = TimeIndex(BASE)
    for timestamp, offset in ((T, 1004), (T + 50, 1010), (T + 60, 1010)):
        made.maybe_append(timestamp, offset)
    return made


def file(*entries: tuple[int, int]) -> bytes:
    return b"".join(struct.pack(">qi", *entry) for entry in entries)


def test_the_file_is_kafkas() -> None:
    assert index().encode() == file((T, 4), (T + 50, 10), (T + 60, 10))
    assert index().encode(2) == file((T + 60, 10))


def test_only_a_later_time_is_an_entry() -> None:
    made = index()
    made.maybe_append(T + 60, 1020)
    made.maybe_append(T + 59, 1021)
    assert made.last == (T + 60, 1010)
    made.maybe_append(T + 61, 1022)
    assert made.last == (T + 61, 1022)
    assert TimeIndex(BASE).last == (-1, BASE)


@pytest.mark.parametrize(
    ("timestamp", "found"), [(T - 1, (-1, BASE)), (T, (T, 1004)), (T + 49, (T, 1004)), (T + 50, (T + 50, 1010)), (2 * T, (T + 60, 1010))]
)
def test_the_entry_at_or_before_a_time(timestamp: int, found: tuple[int, int]) -> None:
    assert index().floor(timestamp) == found


@pytest.mark.parametrize(("offset", "left"), [(1004, 0), (1005, 1), (1010, 1), (1011, 3)])
def test_truncation_drops_entries_and_what_was_saved_of_them(offset: int, left: int) -> None:
    made = index()
    made.saved = 3
    made.truncate(offset)
    assert (len(made), made.saved) == (left, left)


def test_zeros_behind_the_entries_are_the_unused_rest() -> None:
    parsed = TimeIndex.parse(file((T, 4), (T + 50, 10)) + bytes(36), BASE)
    assert parsed is not None
    assert (len(parsed), parsed.saved, parsed.last) == (2, 2, (T + 50, 1010))
    empty = TimeIndex.parse(bytes(36), BASE)
    assert empty is not None
    assert empty.last == (-1, BASE)


@pytest.mark.parametrize(
    "data",
    [file((T, 4)) + b"x", file((T, 4), (T, 10)), file((T, 10), (T + 1, 4)), file((T, -1))],
    ids=["torn", "same time", "offsets fall", "below the base"],
)
def test_what_cannot_be_an_index(data: bytes) -> None:
    assert TimeIndex.parse(data, BASE) is None
