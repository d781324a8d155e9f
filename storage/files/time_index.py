"""`.timeindex`: largest timestamp so far → offset (Kafka's `TimeIndex`).

Entry: int64 timestamp, int32 last offset of the batch that had it first, minus the segment's base; big endian, timestamps rise.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_right
from operator import le, lt
from struct import Struct

ENTRY_BYTES = 12
_ENTRY = Struct(">qi")


def _columns(data: bytes) -> tuple[array[int], array[int]]:
    """Timestamps and offsets of whole entries, without a Python object for each."""
    words = array("i", data)
    if sys.byteorder == "little":
        words.byteswap()
    halves = array("i", bytes(8 * (len(words) // 3)))
    high = 1 if sys.byteorder == "little" else 0
    halves[high::2], halves[1 - high :: 2] = words[::3], words[1::3]
    return array("q", halves.tobytes()), words[2::3]


class TimeIndex:
    """Entries of one segment. `saved` counts those that the file holds already."""

    __slots__ = ("base_offset", "offsets", "saved", "timestamps")

    def __init__(self, base_offset: int) -> None:
        self.base_offset = base_offset
        self.timestamps = array("q")
        self.offsets = array("i")
        self.saved = 0

    @classmethod
    def parse(cls, data: bytes, base_offset: int) -> TimeIndex | None:
        """The index in `data`; None when entries are torn or do not rise. Kafka's zero padding is left out."""
        if len(data) % ENTRY_BYTES:
            return None
        index = cls(base_offset)
        count = -(-len(data.rstrip(b"\0")) // ENTRY_BYTES)
        timestamps, offsets = index.timestamps, index.offsets = _columns(data[: count * ENTRY_BYTES])
        if not (all(map(lt, timestamps, timestamps[1:])) and all(map(le, offsets, offsets[1:]))) or (offsets and offsets[0] < 0):
            return None
        index.saved = len(index)
        return index

    def __len__(self) -> int:
        return len(self.timestamps)

    @property
    def last(self) -> tuple[int, int]:
        """(timestamp, offset) of the last entry; (-1, base offset) when empty."""
        if not self.timestamps:
            return -1, self.base_offset
        return self.timestamps[-1], self.base_offset + self.offsets[-1]

    def maybe_append(self, timestamp: int, offset: int) -> None:
        """Add an entry unless its timestamp is not above the last one."""
        if timestamp > self.last[0]:
            self.timestamps.append(timestamp)
            self.offsets.append(offset - self.base_offset)

    def floor(self, timestamp: int) -> tuple[int, int]:
        """(timestamp, offset) of the greatest entry <= `timestamp`; (-1, base offset) without one."""
        slot = bisect_right(self.timestamps, timestamp) - 1
        if slot < 0:
            return -1, self.base_offset
        return self.timestamps[slot], self.base_offset + self.offsets[slot]

    def truncate(self, offset: int) -> None:
        """Drop entries of batches at or above `offset`."""
        count = len(self.offsets)
        while count and self.base_offset + self.offsets[count - 1] >= offset:
            count -= 1
        del self.timestamps[count:]
        del self.offsets[count:]
        self.saved = min(self.saved, count)

    def encode(self, start: int = 0) -> bytes:
        """The file's bytes from entry `start` on."""
        return b"".join(map(_ENTRY.pack, self.timestamps[start:], self.offsets[start:]))
