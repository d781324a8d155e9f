"""Batches that stay in their file until somebody wants them: what a large Fetch answers with (Kafka's `FileRecords.slice`).

The file is kept open, so that retention, compaction and deletion may take
it out of the log meanwhile: they rename or replace files and never change bytes below the high watermark.
"""

from __future__ import annotations

from oncelog.storage.files.descriptors import Descriptors


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

    def part(self, start: int, size: int) -> StoredRecords:
        """Bytes `start` to `start` + `size` of these, which are there, as another such answer. Raises OSError."""
        return StoredRecords(self._descriptors, self._path, self._position + start, size)

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
