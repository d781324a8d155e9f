"""`.txnindex`: which aborted transactions a reader is told of, and what cannot be an index."""

from __future__ import annotations

import struct

import pytest
from oncelog.storage.files.txn_index import AbortedTxn, collect_aborted, encode_aborted, parse_aborted

pytestmark = pytest.mark.unit
BASE = 100
ENTRIES = [AbortedTxn(7, 90, 110, 105), AbortedTxn(8, 105, 120, 121), AbortedTxn(9, 125, 130, 131)]


def test_the_file_is_kafkas_and_read_back() -> None:
    data = encode_aborted(ENTRIES)
    assert data[:34] == struct.pack(">hqqqq", 0, 7, 90, 110, 105)
    assert parse_aborted(data, BASE) == ENTRIES
    assert parse_aborted(b"", BASE) == []


@pytest.mark.parametrize(
    "data",
    [
        encode_aborted(ENTRIES)[:-1],
        struct.pack(">hqqqq", 1, 7, 90, 110, 105),
        encode_aborted(ENTRIES[::-1]),
        encode_aborted([ENTRIES[0], ENTRIES[0]]),
        encode_aborted([AbortedTxn(7, 90, 99, 105)]),
        encode_aborted([AbortedTxn(7, 111, 110, 105)]),
    ],
    ids=["torn", "version 1", "falling", "twice", "below the segment", "ends before it begins"],
)
def test_what_cannot_be_an_index(data: bytes) -> None:
    assert parse_aborted(data, BASE) is None


@pytest.mark.parametrize(
    ("start", "upper", "told", "complete"),
    [
        (100, 131, [7, 8, 9], True),
        (110, 126, [7, 8, 9], True),
        (111, 122, [8], True),
        (121, 121, [], True),
        (100, 121, [7, 8], True),
        (100, 132, [7, 8, 9], False),
        (131, 140, [], False),
    ],
)
def test_what_overlaps_a_read(start: int, upper: int, told: list[int], complete: bool) -> None:
    """Complete: what comes behind an entry whose last stable offset reaches the end of the read cannot overlap it."""
    found: list[AbortedTxn] = []
    assert collect_aborted(ENTRIES, start, upper, found) is complete
    assert [entry.producer_id for entry in found] == told
