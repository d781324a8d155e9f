"""A sealed segment as it will be when it is mended, made by another thread while the log goes on with the one there is.

What is written goes to drafts beside the files, `….mended.tmp`, which a start removes; a few bytes of a `.log` are only remembered. The
segment's own files change in `publish`, on the loop's thread and without waiting for the disk. A kill in the middle of it leaves each file
as it was or mended; a start looks at such indexes as at any.
"""

from __future__ import annotations

import contextlib
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path
from threading import Event

from oncelog.storage.env import File
from oncelog.storage.files.descriptors import Descriptors
from oncelog.storage.files.leader_epochs import LeaderEpochs
from oncelog.storage.files.txn_index import AbortedTxn, encode_aborted
from oncelog.storage.log.segment import Segment
from oncelog.storage.log.segment_file import SUFFIXES

DRAFT = ".mended.tmp"
_INDEXES = ("_index", "_time_index", "bytes_since_index", "indexes_made", "max_timestamp", "max_timestamp_offset")
MOST_FIXES = 64  # that are written in place in one turn of the loop; for more the file is written anew


class MendingAbandoned(OSError):
    """Nobody wants the outcome any more."""


class SegmentDraft(Segment):
    """Reads as the segment will, with its own descriptors. `abandoned`, once set, ends every reading."""

    __slots__ = ("_abandoned", "_fixes", "_source", "_written", "replaced")

    def __init__(self, source: Segment, descriptors: Descriptors, abandoned: Event) -> None:
        super().__init__(descriptors, source.folder, source.base_offset, source.stored_size, source.index_interval_bytes)
        self.created_ms, self.trusted_from, self.walked_to = source.created_ms, source.trusted_from, source.walked_to
        self.txn_index_checked = source.txn_index_checked
        if source.epochs is not None:
            self.epochs = LeaderEpochs(descriptors.fs, source.folder)
            self.epochs.entries = list(source.epochs.entries)
        self._source = source
        self._abandoned = abandoned
        self._fixes: list[tuple[int, bytes]] = []  # rising, apart from each other
        self.replaced: File | None = None
        self._written: dict[str, bool] = {}  # suffix -> is there a draft? Else the file is to go

    # -- on any thread

    def settle_size(self) -> None:
        """Of a file that is shorter than it was, what there is. Raises OSError."""
        self.size = min(self.size, self.descriptors.get(self.log_path).size())

    def check_wanted(self) -> None:
        """Raises MendingAbandoned."""
        if self._abandoned.is_set():
            raise MendingAbandoned(f"mending of {self.log_path} abandoned")

    def read_at(self, position: int, size: int) -> bytes:
        self.check_wanted()
        data = super().read_at(position, size)
        return self._fixed(data, position) if self._fixes else data

    def _fixed(self, data: bytes, position: int) -> bytes:
        fixed, end = bytearray(data), position + len(data)
        slot = max(bisect_left(self._fixes, (position, b"")) - 1, 0)
        for at, right in self._fixes[slot:]:
            if at >= end:
                break
            begin, until = max(at, position), min(at + len(right), end)
            if begin < until:
                fixed[begin - position : until - position] = right[begin - at : until - at]
        return bytes(fixed)

    def overwrite(self, position: int, data: bytes) -> None:
        self._fixes.append((position, bytes(data)))

    def cut(self, size: int) -> None:
        self.size = size

    def rewrite(self, pieces: Sequence[tuple[int, int] | bytes]) -> None:
        target = self.written_to(".log")
        size = self._copy(pieces, target)
        self.descriptors.forget(self.log_path)
        self.log_path, self.size = str(target), size
        self._fixes.clear()

    def replace_aborted(self, entries: list[AbortedTxn]) -> None:
        self._aborted = entries
        self.txn_index_checked = True
        self._written[".txnindex"] = bool(entries)
        if entries:
            file = self.descriptors.fs.open(self._draft(".txnindex"), create=True)
            try:
                file.truncate(0)
                file.pwrite([encode_aborted(entries)], 0)
                file.datasync()
            finally:
                file.close()

    def written_to(self, suffix: str) -> Path:
        self._written[suffix] = True
        return self._draft(suffix)

    def _draft(self, suffix: str) -> Path:
        path = self.path(suffix)
        return path.with_name(path.name + DRAFT)

    def finish(self) -> None:
        """Nothing more is looked at. Raises OSError."""
        if len(self._fixes) > MOST_FIXES:
            self.rewrite([(0, self.size)])

    # -- on the loop's thread

    @property
    def differs(self) -> bool:
        """Is there anything to publish?"""
        return bool(self._written or self._fixes) or self.size != self._source.size

    def publish(self) -> Segment:
        """Have the files be as this is; the segment that they are then. Raises OSError: some are.

        A file that was replaced stays open in `replaced`: whoever closes it waits for the disk to forget it.
        """
        source, fs = self._source, self.descriptors.fs
        if ".log" in self._written:
            self.replaced = fs.open(Path(source.log_path), writable=False)
        if ".log" not in self._written and (self._fixes or self.size < source.size):
            file = source.descriptors.get(source.log_path)
            for position, data in self._fixes:
                file.pwrite([data], position)
            if self.size < source.size:
                file.truncate(self.size)
        for suffix in SUFFIXES:
            if self._written.get(suffix):
                fs.rename(self._draft(suffix), self.path(suffix))
            elif suffix in self._written and fs.exists(self.path(suffix)):
                fs.unlink(self.path(suffix))
        if ".log" in self._written:
            source.descriptors.forget(source.log_path)
        mended = Segment(source.descriptors, self.folder, self.base_offset, self.size, self.index_interval_bytes)
        for name in Segment.__slots__:
            setattr(mended, name, getattr(self, name))
        if not self.indexes_made:
            for name in _INDEXES:
                setattr(mended, name, getattr(source, name))
        mended.epochs = source.epochs
        return mended

    def discard(self) -> None:
        """Remove what was written beside the files, as far as it can be."""
        for suffix, there_is in self._written.items():
            if there_is:
                with contextlib.suppress(OSError):
                    self.descriptors.fs.unlink(self._draft(suffix))
