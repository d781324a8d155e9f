"""`.index`: offset → position in the `.log`, sparse (Kafka's `OffsetIndex`).

Entry: int32 last offset of a batch minus the segment's base, int32 position of that batch; big endian, rising, no header.
Held in two int arrays and searched by bisection; entries reach the file when the segment is rolled, closed or checkpointed.
Nothing here is trusted: a reader compares the batch it lands on with the entry that led there, and rebuilds on a mismatch.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left, bisect_right
from operator import lt

ENTRY_BYTES = 8


class OffsetIndex:
    """Entries of one segment. `saved` counts those that the file holds already."""

    __slots__ = ("base_offset", "offsets", "positions", "saved")

    def __init__(self, base_offset: int) -> None:
        self.base_offset = base_offset
        self.offsets = array("i")
        self.positions = array("i")
        self.saved = 0

    @classmethod
    def parse(cls, data: bytes, base_offset: int, log_size: int) -> OffsetIndex | None:
        """The index in `data`; None when it cannot be one for a log of that size. Kafka's zero padding is left out."""
        pairs = array("i", data[: len(data) // ENTRY_BYTES * ENTRY_BYTES])
        if sys.byteorder == "little":
            pairs.byteswap()
        index = cls(base_offset)
        index.offsets, index.positions = pairs[::2], pairs[1::2]
        index._drop_padding()
        if len(data) % ENTRY_BYTES or not index._is_rising() or (index.positions and index.positions[-1] >= log_size):
            return None
        index.saved = len(index.offsets)
        return index

    def _drop_padding(self) -> None:
        """Entries (0, 0) behind the first are the unused rest of a pre-sized file."""
        count = len(self.offsets)
        while count > 0 and self.offsets[count - 1] == 0 and self.positions[count - 1] == 0:
            count -= 1
        del self.offsets[count:]
        del self.positions[count:]

    def _is_rising(self) -> bool:
        offsets, positions = self.offsets, self.positions
        if offsets and (offsets[0] < 0 or positions[0] < 0):
            return False
        return all(map(lt, offsets, offsets[1:])) and all(map(lt, positions, positions[1:]))

    def __len__(self) -> int:
        return len(self.offsets)

    def append(self, last_offset: int, position: int) -> None:
        """Add the batch at `position`; offsets must rise."""
        relative = last_offset - self.base_offset
        assert not self.offsets or relative > self.offsets[-1]
        self.offsets.append(relative)
        self.positions.append(position)

    def floor(self, offset: int) -> tuple[int, int]:
        """(last offset, position) of the greatest entry whose last offset is <= `offset`; (-1, 0) without one."""
        slot = bisect_right(self.offsets, offset - self.base_offset) - 1
        if slot < 0:
            return -1, 0
        return self.base_offset + self.offsets[slot], self.positions[slot]

    def floor_position(self, position: int) -> tuple[int, int]:
        """(last offset, position) of the greatest entry whose position is <= `position`; (-1, 0) without one."""
        slot = bisect_right(self.positions, position) - 1
        if slot < 0:
            return -1, 0
        return self.base_offset + self.offsets[slot], self.positions[slot]

    def upper_bound(self, position: int) -> int | None:
        """Last offset of the first indexed batch at or above `position` (`OffsetIndex.fetchUpperBoundOffset`)."""
        slot = bisect_left(self.positions, position)
        return self.base_offset + self.offsets[slot] if slot < len(self.offsets) else None

    def truncate(self, position: int) -> None:
        """Drop entries at or above `position`."""
        count = bisect_right(self.positions, position - 1)
        del self.offsets[count:]
        del self.positions[count:]
        self.saved = min(self.saved, count)

    def encode(self, start: int = 0) -> bytes:
        """The file's bytes from entry `start` on."""
        pairs = array("i", bytes(ENTRY_BYTES * (len(self.offsets) - start)))
        pairs[::2], pairs[1::2] = self.offsets[start:], self.positions[start:]
        if sys.byteorder == "little":
            pairs.byteswap()
        return pairs.tobytes()
