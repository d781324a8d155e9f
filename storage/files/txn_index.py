"""`.txnindex`: the aborted transactions whose marker is in a segment (Kafka's `TransactionIndex`, `AbortedTxn`).

Entry, 34 bytes: int16 version 0, int64 producer id, int64 first offset, int64 last offset (the marker), int64 last stable offset
once the marker was written. Last offsets rise. The file exists only when the segment holds such a marker.
"""

from __future__ import annotations

from bisect import bisect_left
from struct import Struct
from typing import NamedTuple

ENTRY_BYTES = 34
_ENTRY = Struct(">hqqqq")


class AbortedTxn(NamedTuple):
    """One aborted transaction on one partition."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int

    def encode(self) -> bytes:
        return _ENTRY.pack(0, *self)


def parse_aborted(data: bytes, base_offset: int) -> list[AbortedTxn] | None:
    """The entries; None when the file is torn, of another version, out of order or below the segment."""
    if len(data) % ENTRY_BYTES:
        return None
    entries = []
    last = base_offset - 1
    for version, *fields in _ENTRY.iter_unpack(data):
        entry = AbortedTxn(*fields)
        if version != 0 or entry.last_offset <= last or entry.first_offset > entry.last_offset:
            return None
        last = entry.last_offset
        entries.append(entry)
    return entries


def encode_aborted(entries: list[AbortedTxn]) -> bytes:
    """The file's bytes."""
    return b"".join(entry.encode() for entry in entries)


def collect_aborted(entries: list[AbortedTxn], fetch_offset: int, upper: int, found: list[AbortedTxn]) -> bool:
    """Add to `found` what overlaps [fetch_offset, upper); True when later segments cannot add any
    (`TransactionIndex.collectAbortedTxns`)."""
    start = bisect_left(entries, fetch_offset, key=lambda entry: entry.last_offset)
    for entry in entries[start:]:
        if entry.first_offset < upper:
            found.append(entry)
        if entry.last_stable_offset >= upper:
            return True
    return False
