"""Batches that stay in their file until somebody wants them: what a large Fetch answers with (Kafka's `FileRecords.slice`).

Only headers are read to find where the last whole batch ends. The file is kept open, so that retention, compaction and deletion may take
it out of the log meanwhile: they rename or replace files and never change bytes below the high watermark.
"""

from __future__ import annotations

from struct import Struct

from oncelog.protocol.records import CURRENT_MAGIC, HEADER_SIZE, LOG_OVERHEAD
from oncelog.storage.files.descriptors import Descriptors
from oncelog.storage.files.offset_index import OffsetIndex
from oncelog.storage.log.segment_file import SegmentFile

_WINDOW_BYTES = 8192
_WALK = Struct(">qi4xBi2xi")  # base offset, batch length, magic, crc, last offset delta


class StoredRecords:
    """`size` bytes of a file from `position` on. The file can be read until the last reference to this is gone."""

    __slots__ = ("_descriptors", "_file", "_path", "_position", "_size")

    def __init__(self, descriptors: Descriptors, path: str, position: int, size: int) -> None:
        self._file = descriptors.pin(path)
        self._descriptors = descriptors
        self._path = path
        self._position = position
        self._size = size

    def __len__(self) -> int:
        return self._size

    def read(self, start: int, size: int) -> bytes:
        """Bytes `start` to `start` + `size` of these, fewer only at their end. Raises OSError, also when the file has become too short."""
        wanted = min(size, self._size - start)
        data = self._file.pread(wanted, self._position + start)
        if len(data) < wanted:
            raise OSError(f"{self._path} ends at {self._position + start + len(data)}, where records were")
        return data

    def __del__(self) -> None:
        if hasattr(self, "_descriptors"):
            self._descriptors.unpin(self._path)


def find_end(file: SegmentFile, index: OffsetIndex, position: int, limit: int) -> tuple[int, int] | None:
    """(position behind the last whole batch that ends at or below `limit`, the offset behind it); None when the index is of no help.

    `position` is where a batch begins. Raises OSError.
    """
    last_offset, start = index.entry_below(limit)
    if start < position:
        last_offset, start = -1, position
    end, next_offset, first = start, -1, True
    while end + HEADER_SIZE <= limit:
        window = file.read_at(end, _WINDOW_BYTES)
        at = 0
        while at + HEADER_SIZE <= len(window):
            base, length, magic, _crc, delta = _WALK.unpack_from(window, at)
            if magic != CURRENT_MAGIC or length < HEADER_SIZE - LOG_OVERHEAD or (first and last_offset not in (-1, base + delta)):
                return None
            first = False
            if end + at + length + LOG_OVERHEAD > limit:
                return (end + at, next_offset) if next_offset >= 0 else None
            at, next_offset = at + length + LOG_OVERHEAD, base + delta + 1
        if at == 0:
            return None
        end += at
    return (end, next_offset) if next_offset >= 0 else None
