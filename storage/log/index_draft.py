"""Offset and time index of a segment, made from its batches one after the other by the rule of `Segment.append`."""

from __future__ import annotations

from oncelog.storage.files.offset_index import OffsetIndex
from oncelog.storage.files.time_index import TimeIndex


class IndexDraft:
    """`since`: bytes behind the last entry. `newest`: the largest timestamp, -1 without batches, first had by the one that ends at
    `newest_offset`."""

    __slots__ = ("index", "interval_bytes", "newest", "newest_offset", "since", "time_index")

    def __init__(self, base_offset: int, interval_bytes: int) -> None:
        self.index, self.time_index = OffsetIndex(base_offset), TimeIndex(base_offset)
        self.interval_bytes = interval_bytes
        self.since = 0
        self.newest, self.newest_offset = -1, base_offset

    def add(self, position: int, size: int, last_offset: int, max_timestamp: int) -> None:
        """The batch at `position`, which follows the one before it."""
        if max_timestamp > self.newest:
            self.newest, self.newest_offset = max_timestamp, last_offset
        if self.since > self.interval_bytes:
            self.index.append(last_offset, position)
            self.time_index.maybe_append(self.newest, self.newest_offset)
            self.since = 0
        self.since += size
