"""The segments of one log in order of offset, and the crash-safe ways to remove or replace some
(`LogSegments`, `LocalLog.replaceSegments`).
"""

from __future__ import annotations

import contextlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path

from oncelog.storage.env import FileSystem
from oncelog.storage.files.descriptors import Descriptors
from oncelog.storage.log import producer_snapshots
from oncelog.storage.log.segment import Segment
from oncelog.storage.log.swap import DELETED, CleanedSegment, swap


class Segments:
    """At least one; the last is active."""

    def __init__(self, fs: FileSystem, descriptors: Descriptors, folder: Path, segments: list[Segment]) -> None:
        assert segments
        self._fs = fs
        self._descriptors = descriptors
        self._folder = folder
        self._set(segments)
        self.replaced = 0  # counts removals and replacements: positions remembered from before are void
        self.lost_files = False  # at the start some were not there, or too short
        self.lost_acknowledged = False  # at the start records were missing or damaged that had been acknowledged
        self._doomed: list[tuple[int, Path]] = []

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._segments)

    def __len__(self) -> int:
        return len(self._segments)

    def __getitem__(self, slot: int) -> Segment:
        return self._segments[slot]

    def __contains__(self, segment: object) -> bool:
        return any(segment is one for one in reversed(self._segments))

    @property
    def damaged(self) -> bool:
        """Has this process come upon records that are lost?"""
        return self.lost_files or any(segment.damaged_at is not None for segment in self._segments)

    def floor(self, offset: int) -> int:
        """Slot of the segment with the greatest base <= `offset`; the first one when all are above."""
        return max(bisect_right(self._bases, offset) - 1, 0)

    def add(self, segment: Segment) -> None:
        """Behind the last; an empty last segment with the same base gives way."""
        if self._bases[-1] == segment.base_offset:
            self._segments[-1] = self.active = segment
            return
        assert segment.base_offset > self._bases[-1]
        self._segments.append(segment)
        self._bases.append(segment.base_offset)
        self.active = segment

    def remove_oldest(self, count: int, now_ms: int, delay_ms: int) -> None:
        """Delete the first `count` segments (never all): renamed now, unlinked `delay_ms` later; their snapshots too. Raises OSError.

        The log start must have been moved to the first kept segment before.
        """
        assert 0 <= count < len(self._segments)
        for segment in self._segments[:count]:
            self._doom(segment, now_ms + delay_ms)
            producer_snapshots.discard(self._fs, self._folder, segment.base_offset)
        self._set(self._segments[count:])
        self.replaced += 1

    def replace(self, old: Sequence[Segment], new: CleanedSegment, now_ms: int, delay_ms: int) -> None:
        """Put a finished `new` in place of the neighbours `old`, crash-safely (`swap.py`). Raises OSError."""
        self._doomed += [(now_ms + delay_ms, path) for path in swap(self._fs, self._folder, old, new)]
        for segment in old:
            if segment.base_offset != new.base_offset:
                producer_snapshots.discard(self._fs, self._folder, segment.base_offset)
        cleaned = Segment(self._descriptors, self._folder, new.base_offset, new.size, new.index_interval_bytes)
        cleaned.txn_index_checked = True
        cleaned.trusted_from = 0
        gone = {id(segment) for segment in old}
        rest = [segment for segment in self._segments if id(segment) not in gone]
        self._set(sorted([*rest, cleaned], key=lambda segment: segment.base_offset))
        self.replaced += 1

    def exchange(self, old: Segment, new: Segment) -> None:
        """Put `new`, which is the same files mended, in place of `old`."""
        slot = next(slot for slot, segment in enumerate(self._segments) if segment is old)
        self._segments[slot] = new
        self.replaced += 1

    def purge(self, now_ms: int) -> None:
        """Unlink files whose time has come. Raises OSError."""
        while self._doomed and self._doomed[0][0] <= now_ms:
            _, path = self._doomed.pop(0)
            with contextlib.suppress(FileNotFoundError):
                self._fs.unlink(path)

    def _doom(self, segment: Segment, due_ms: int) -> None:
        self._doomed += [(due_ms, path) for path in segment.rename_files(DELETED)]

    def _set(self, segments: list[Segment]) -> None:
        self._segments = segments
        self._bases = [segment.base_offset for segment in segments]
        self.active = segments[-1]
