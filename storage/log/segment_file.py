"""The `.log` file of a segment: batches back to back, by position (Kafka's `FileRecords`); its indexes only go where it goes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from oncelog.protocol.records import HEADER_SIZE, LOG_OVERHEAD, BatchHeader, parse_header
from oncelog.storage.env import Buffer
from oncelog.storage.files.descriptors import Descriptors

SUFFIXES = (".log", ".index", ".timeindex", ".txnindex")
PREALLOCATE_BYTES = 64 << 20
SCAN_BYTES = 1 << 20
_PREALLOCATE_FROM = 1 << 20
_LARGE_BATCH_BYTES = 4096


def file_name(offset: int, suffix: str) -> str:
    """`00000000000000000042.log`"""
    return f"{offset:020d}{suffix}"


class Ahead(Protocol):
    """Who knows of what is appended before the file does (`durability.py`)."""

    def take(self, segment: SegmentFile, batch: Buffer, last_offset: int) -> bytes | None:
        """`batch`, to be held until it may go to the file; None: it goes there now. Raises OSError."""


class SegmentFile:
    """`size` is the length of the `.log` that holds whole batches; bytes behind it do not count.

    `held`: the last batches, which are not in the file yet; whoever reads finds them where they will be.
    """

    __slots__ = ("_allocated", "_held_bytes", "ahead", "base_offset", "descriptors", "folder", "held", "log_path", "size")

    def __init__(self, descriptors: Descriptors, folder: Path, base_offset: int, size: int) -> None:
        self.descriptors = descriptors
        self.folder = folder
        self.base_offset = base_offset
        self.size = size
        self.log_path = f"{folder}/{base_offset:020d}.log"
        self._allocated = 0  # reserved on disk, ahead of the writer
        self.ahead: Ahead | None = None
        self.held: list[bytes] = []
        self._held_bytes = 0

    @property
    def stored_size(self) -> int:
        """Without what is held; on any thread, then perhaps less."""
        return self.size - self._held_bytes

    def path(self, suffix: str) -> Path:
        return self.folder / file_name(self.base_offset, suffix)

    def mtime_ms(self) -> int:
        return self.descriptors.fs.mtime_ms(Path(self.log_path))

    # -- reading

    def read_at(self, position: int, size: int) -> bytes:
        if self.held and position + size > self.stored_size:
            return self._read_held(position, size)
        return self.descriptors.get(self.log_path).pread(max(0, min(size, self.size - position)), position)

    def _read_held(self, position: int, size: int) -> bytes:
        begin = self.stored_size
        stored = self.descriptors.get(self.log_path).pread(begin - position, position) if position < begin else b""
        if len(stored) < begin - position:
            return stored
        return stored + b"".join(self.held)[max(position - begin, 0) : max(position + size - begin, 0)]

    def headers(self, position: int = 0) -> Iterator[tuple[int, BatchHeader]]:
        """(position, header) of the batches from `position`; ends at the first bytes that cannot be one."""
        while position + HEADER_SIZE <= self.size:
            window = self.read_at(position, SCAN_BYTES)
            start = 0
            while start + HEADER_SIZE <= len(window):
                header = parse_header(window, start)
                size = header.batch_length + LOG_OVERHEAD
                if size < HEADER_SIZE or position + start + size > self.size:
                    return
                yield position + start, header
                start += size
            if start == 0:
                return
            position += start

    def heads(self, position: int = 0) -> Iterator[tuple[int, bytes]]:
        """(position, first 61 bytes) of the batches from `position`, as `headers`; of large batches nothing else is read."""
        want = SCAN_BYTES
        while position + HEADER_SIZE <= self.size:
            window = self.read_at(position, want)
            start = size = 0
            while start + HEADER_SIZE <= len(window):
                size = int.from_bytes(window[start + 8 : start + 12], "big", signed=True) + LOG_OVERHEAD
                if size < HEADER_SIZE or position + start + size > self.size:
                    return
                yield position + start, window[start : start + HEADER_SIZE]
                start += size
            if start == 0:
                return
            position += start
            want = SCAN_BYTES if size < _LARGE_BATCH_BYTES else HEADER_SIZE

    # -- writing

    def write(self, batch: Buffer, position: int, limit_bytes: int) -> None:
        """Put bytes where the file ends. Raises OSError, then it is as before."""
        end = position + len(batch)
        file = self.descriptors.get(self.log_path)
        if end > self._allocated and end > _PREALLOCATE_FROM:
            self._allocated = max(min(position + PREALLOCATE_BYTES, limit_bytes), end)
            file.allocate(self._allocated)
        try:
            file.pwrite((batch,), position)
        except OSError:
            file.truncate(position)
            self._allocated = 0
            raise

    def put(self, batch: Buffer, last_offset: int, limit_bytes: int) -> int:
        """Put one batch at the end, or hold it, to be put down later, where `ahead` wants that; its position.

        `limit_bytes`: the file will hardly grow beyond. Raises OSError, then it is as before.
        """
        held = None if self.ahead is None else self.ahead.take(self, batch, last_offset)
        position = self.size
        if held is None:
            self.write(batch, position, limit_bytes)
        else:
            self.held.append(held)
            self._held_bytes += len(held)
        self.size = position + len(batch)
        return position

    def put_down(self, keep: int = 0, limit_bytes: int = 0) -> None:
        """Write what is held, but for the last `keep`. Raises OSError, then all of it is held as before."""
        batches = self.held[: len(self.held) - keep]
        if not batches:
            return
        data = batches[0] if len(batches) == 1 else b"".join(batches)
        self.write(data, self.stored_size, limit_bytes)
        self._held_bytes -= len(data)
        del self.held[: len(batches)]

    def truncate(self, size: int) -> None:
        """Cut the `.log`, and the space reserved behind it. Raises OSError."""
        self.descriptors.get(self.log_path).truncate(size)
        self.size = size
        self._allocated = 0

    def cut(self, size: int) -> None:
        """`truncate`, durably: else a power cut could bring back old batches behind the next ones. Raises OSError."""
        self.truncate(size)
        self.descriptors.get(self.log_path).datasync()

    def trim(self) -> None:
        """Give back the space reserved ahead of the writer. Raises OSError."""
        if self._allocated > self.size:
            self.truncate(self.size)

    def trim_sealed(self) -> None:
        """`trim`, durably and on any thread: nobody appends any more. Raises OSError."""
        if self._allocated > self.size:
            file = self.descriptors.fs.open(Path(self.log_path))
            try:
                file.truncate(self.size)
                file.datasync()
            finally:
                file.close()
            self._allocated = 0

    # -- mending

    def overwrite(self, position: int, data: bytes) -> None:
        """Mend bytes in place, durably. Raises OSError."""
        file = self.descriptors.get(self.log_path)
        file.pwrite([data], position)
        file.datasync()

    def write_over(self, position: int, data: bytes) -> None:
        """Put bytes where others stand, or behind the last ones; not synced. Raises OSError."""
        self.descriptors.get(self.log_path).pwrite([data], position)
        self.size = max(self.size, position + len(data))

    def rewrite(self, pieces: Sequence[tuple[int, int] | bytes]) -> None:
        """Replace the `.log` by ranges of its bytes and others; atomic. Raises OSError."""
        draft = self.path(".log.cleaned")
        size = self._copy(pieces, draft)
        self.descriptors.forget(self.log_path)
        self.descriptors.fs.rename(draft, Path(self.log_path))
        self.descriptors.fs.sync_dir(self.folder)
        self.size = size
        self._allocated = 0

    def _copy(self, pieces: Sequence[tuple[int, int] | bytes], target: Path) -> int:
        fs = self.descriptors.fs
        file = fs.open(target, create=True)
        try:
            file.truncate(0)
            written = 0
            for what in pieces:
                if isinstance(what, bytes):
                    written += file.pwrite([what], written)
                    continue
                begin, end = what
                while begin < end:
                    piece = self.read_at(begin, min(SCAN_BYTES, end - begin))
                    if not piece:
                        raise OSError(f"{self.log_path} ends at {begin}, where batches were")
                    written += file.pwrite([piece], written)
                    begin += len(piece)
            file.datasync()
        finally:
            file.close()
        fs.sync_dir(self.folder)
        return written

    # -- leaving

    def copy_aside(self, name: str, position: int, end: int) -> Path:
        """Keep bytes in a plain file of the folder, durably. Raises OSError."""
        target = self.folder / name
        self._copy([(position, end)], target)
        return target

    def set_aside(self) -> Path:
        """Take the whole segment out of the log; its bytes stay in a plain file. Raises OSError."""
        target = self.folder / f"quarantine-{self.base_offset:020d}-0-{self.base_offset}"
        fs = self.descriptors.fs
        self.descriptors.forget(self.log_path)
        fs.rename(Path(self.log_path), target)
        for suffix in SUFFIXES[1:]:
            if fs.exists(self.path(suffix)):
                fs.unlink(self.path(suffix))
        fs.sync_dir(self.folder)
        return target

    def remove(self) -> None:
        """Unlink the files of a segment that holds nothing. Raises OSError."""
        fs = self.descriptors.fs
        self.descriptors.forget(self.log_path)
        for suffix in SUFFIXES:
            if fs.exists(self.path(suffix)):
                fs.unlink(self.path(suffix))

    def rename_files(self, add: str) -> list[Path]:
        """Give every file of the segment the suffix `add`; the new paths. Raises OSError."""
        renamed = []
        fs = self.descriptors.fs
        self.descriptors.forget(self.log_path)
        for suffix in SUFFIXES:
            path = self.path(suffix)
            if fs.exists(path):
                target = path.with_name(path.name + add)
                fs.rename(path, target)
                renamed.append(target)
        return renamed
