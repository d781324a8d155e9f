"""The segments of one log in order of offset, and the crash-safe ways to remove or replace some (`LogSegments`, `LocalLog.replaceSegments`)."""

from __future__ import annotations

import contextlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path

from oncelog.storage import producer_files
from oncelog.storage.descriptors import Descriptors
from oncelog.storage.env import FileSystem
from oncelog.storage.segment import SUFFIXES, Segment, file_name

DELETED, CLEANED, SWAP = ".deleted", ".cleaned", ".swap"


class Segments:
    """At least one; the last is active."""

    def __init__(self, fs: FileSystem, descriptors: Descriptors, folder: Path, segments: list[Segment]) -> None:
        assert segments
        self._fs = fs
        self._descriptors = descriptors
        self._folder = folder
        self._segments = segments
        self._bases = [segment.base_offset for segment in segments]
        self._doomed: list[tuple[int, Path]] = []

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._segments)

    def __len__(self) -> int:
        return len(self._segments)

    def __getitem__(self, slot: int) -> Segment:
        return self._segments[slot]

    @property
    def active(self) -> Segment:
        return self._segments[-1]

    def floor(self, offset: int) -> int:
        """Slot of the segment with the greatest base <= `offset`; the first one when all are above."""
        return max(bisect_right(self._bases, offset) - 1, 0)

    def add(self, segment: Segment) -> None:
        """Behind the last; an empty last segment with the same base gives way."""
        if self._bases[-1] == segment.base_offset:
            self._segments[-1] = segment
            return
        assert segment.base_offset > self._bases[-1]
        self._segments.append(segment)
        self._bases.append(segment.base_offset)

    def remove_oldest(self, count: int, now_ms: int, delay_ms: int) -> None:
        """Delete the first `count` segments (never all): renamed now, unlinked `delay_ms` later; their snapshots too. Raises OSError.

        The log start must have been moved to the first kept segment before.
        """
        assert 0 <= count < len(self._segments)
        for segment in self._segments[:count]:
            self._doom(segment, now_ms + delay_ms)
            producer_files.discard(self._fs, self._folder, segment.base_offset)
        self._set(self._segments[count:])

    def replace(self, old: Sequence[Segment], new: Sequence[Segment], now_ms: int, delay_ms: int) -> None:
        """Put `new`, whose files end in `.cleaned` and are synced, in place of the neighbours `old`. Raises OSError.

        Crash-safe: `.cleaned` → `.swap` from the highest offset down, the old ones → `.deleted`, `.swap` → final. A start finishes
        what began as soon as every new file was `.swap`, and undoes it before.
        """
        for segment in sorted(new, key=lambda segment: -segment.base_offset):
            self._rename(segment, CLEANED, SWAP)
        self._fs.sync_dir(self._folder)
        kept = {segment.base_offset for segment in new}
        for segment in sorted(old, key=lambda segment: segment.base_offset):
            self._doom(segment, now_ms + delay_ms)
            if segment.base_offset not in kept:
                producer_files.discard(self._fs, self._folder, segment.base_offset)
        for segment in new:
            self._rename(segment, SWAP, "")
        self._fs.sync_dir(self._folder)
        gone = {id(segment) for segment in old}
        rest = [segment for segment in self._segments if id(segment) not in gone]
        self._set(sorted([*rest, *new], key=lambda segment: segment.base_offset))

    def purge(self, now_ms: int) -> None:
        """Unlink files whose time has come. Raises OSError."""
        while self._doomed and self._doomed[0][0] <= now_ms:
            _, path = self._doomed.pop(0)
            with contextlib.suppress(FileNotFoundError):
                self._fs.unlink(path)

    def _doom(self, segment: Segment, due_ms: int) -> None:
        self._doomed += [(due_ms, path) for path in segment.rename_files(DELETED)]

    def _rename(self, segment: Segment, old: str, new: str) -> None:
        for suffix in SUFFIXES:
            path = self._folder / (file_name(segment.base_offset, suffix) + old)
            if self._fs.exists(path):
                self._fs.rename(path, self._folder / (file_name(segment.base_offset, suffix) + new))

    def _set(self, segments: list[Segment]) -> None:
        self._segments = segments
        self._bases = [segment.base_offset for segment in segments]
