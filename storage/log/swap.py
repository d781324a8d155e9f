"""The file that a cleaning writes, and the swap that puts it into place so that a crash leaves the old or the new, never a mixture.

Kafka's protocol (`LocalLog.replaceSegments`), which its loader and ours finish or undo after a crash:
write `.cleaned` and sync · rename `.cleaned` → `.swap` · rename the old files to `.deleted` · rename `.swap` to the final
names · sync the folder. Nothing is lost at any point: until the first `.swap` the old files count, from then on the new ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from oncelog.protocol.records import BatchHeader
from oncelog.storage.env import Buffer, File, FileSystem
from oncelog.storage.files.offset_index import OffsetIndex
from oncelog.storage.files.time_index import TimeIndex
from oncelog.storage.files.txn_index import AbortedTxn, encode_aborted
from oncelog.storage.log.segment import Segment
from oncelog.storage.log.segment_file import SUFFIXES, file_name

CLEANED, SWAP, DELETED = ".cleaned", ".swap", ".deleted"
_WRITE_BYTES = 1 << 20


class CleanedSegment:
    """Collects retained batches in offset order; `finish` makes the four files, durable and still named `.cleaned`."""

    def __init__(self, fs: FileSystem, folder: Path, base_offset: int, index_interval_bytes: int) -> None:
        self.base_offset = base_offset
        self.size = 0
        self._fs = fs
        self._folder = folder
        self.index_interval_bytes = index_interval_bytes
        self._buffers: list[Buffer] = []
        self._buffered = 0
        self._since_entry = 0
        self._max_timestamp, self._max_offset = -1, base_offset
        self._index, self._time_index = OffsetIndex(base_offset), TimeIndex(base_offset)
        self.discard()
        self._file: File = fs.open(self._path(".log"), create=True)

    def _path(self, suffix: str) -> Path:
        return self._folder / (file_name(self.base_offset, suffix) + CLEANED)

    def append(self, header: BatchHeader, batch: Buffer, max_timestamp: int) -> None:
        """One retained batch. Raises OSError."""
        position = self.size + self._buffered
        if max_timestamp > self._max_timestamp:
            self._max_timestamp, self._max_offset = max_timestamp, header.last_offset
        if self._since_entry > self.index_interval_bytes:
            self._index.append(header.last_offset, position)
            self._time_index.maybe_append(self._max_timestamp, self._max_offset)
            self._since_entry = 0
        self._since_entry += len(batch)
        self._buffers.append(batch)
        self._buffered += len(batch)
        if self._buffered >= _WRITE_BYTES:
            self._write()

    def _write(self) -> None:
        if self._buffers:
            self.size += self._file.pwrite(self._buffers, self.size)
            self._buffers, self._buffered = [], 0

    def finish(self, aborted: list[AbortedTxn]) -> None:
        """Write what is left and sync everything; meant for a worker thread. Raises OSError."""
        self._write()
        self._file.datasync()
        self._file.close()
        if self._max_timestamp >= 0:
            self._time_index.maybe_append(self._max_timestamp, self._max_offset)
        files = [(".index", self._index.encode()), (".timeindex", self._time_index.encode())]
        if aborted:
            files.append((".txnindex", encode_aborted(aborted)))
        for suffix, data in files:
            file = self._fs.open(self._path(suffix), create=True)
            try:
                if data:
                    file.pwrite([data], 0)
                file.datasync()
            finally:
                file.close()

    def close(self) -> None:
        self._file.close()

    def discard(self) -> None:
        """Remove the files of this or an earlier attempt."""
        for suffix in SUFFIXES:
            if self._fs.exists(self._path(suffix)):
                self._fs.unlink(self._path(suffix))

    def offer(self) -> None:
        """`.cleaned` → `.swap`: from here on a crash is finished forward. The log file goes first. Raises OSError."""
        for suffix in SUFFIXES:
            path = self._path(suffix)
            if self._fs.exists(path):
                self._fs.rename(path, path.with_name(path.name.removesuffix(CLEANED) + SWAP))

    def settle(self, mtime_ms: int) -> None:
        """`.swap` → the final names. The age of the newest source is kept: retention may ask for it. Raises OSError."""
        for suffix in SUFFIXES:
            final = self._folder / file_name(self.base_offset, suffix)
            swap = final.with_name(final.name + SWAP)
            if self._fs.exists(swap):
                self._fs.rename(swap, final)
        self._fs.set_mtime_ms(self._folder / file_name(self.base_offset, ".log"), mtime_ms)


def swap(fs: FileSystem, folder: Path, old: Sequence[Segment], new: CleanedSegment) -> list[Path]:
    """Put a finished `new` into the place of the neighbours `old`; the `.deleted` files that they became. Raises OSError."""
    age = max(segment.mtime_ms() for segment in old)
    new.offer()
    fs.sync_dir(folder)  # the offer must not be lost once the old names are
    deleted = [path for segment in old for path in segment.rename_files(DELETED)]
    new.settle(age)
    fs.sync_dir(folder)
    return deleted
