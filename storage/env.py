"""Clock, randomness and file system, handed in and never reached for; and their real ones.

Tests hand in a settable clock, a seeded random and a file system that remembers what was not synced (tests/sim).
Every file operation of storage goes through `FileSystem` and `File`, so that a test may fail, drop or garble any of them.
"""

from __future__ import annotations

import fcntl
import os
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

Buffer = bytes | bytearray | memoryview


class Clock(Protocol):
    """Wall clock for timestamps and monotonic clock for deadlines, both in milliseconds."""

    def time_ms(self) -> int: ...

    def monotonic_ms(self) -> float: ...


class Random(Protocol):
    """What the broker needs of chance."""

    def uuid(self) -> uuid.UUID: ...

    def below(self, bound: int) -> int: ...


class File(Protocol):
    """One open file. All methods raise OSError as the system does."""

    def pread(self, size: int, offset: int) -> bytes: ...

    def pwrite(self, buffers: Sequence[Buffer], offset: int) -> int:
        """Write all of `buffers` at `offset`; the bytes written. A short write is continued or raises."""

    def truncate(self, size: int) -> None: ...

    def size(self) -> int: ...

    def allocate(self, size: int) -> None:
        """Reserve `size` bytes on disk without changing the length (fallocate KEEP_SIZE); a hint, may do nothing."""

    def datasync(self) -> None: ...

    def close(self) -> None: ...


class FileSystem(Protocol):
    """The calls that storage makes; paths are absolute."""

    def open(self, path: Path, *, create: bool = False, writable: bool = True) -> File: ...

    def read(self, path: Path) -> bytes: ...

    def write_atomic(self, path: Path, data: bytes, twin: Path | None = None) -> None:
        """`path`.tmp, fsync, rename, fsync of the folder: after a crash the old or the new content, never a mixture.

        `twin`, in the same folder, gets the same content; both drafts are on disk before either name changes.
        """

    def exists(self, path: Path) -> bool: ...

    def is_dir(self, path: Path) -> bool: ...

    def list(self, path: Path) -> list[str]: ...

    def mkdir(self, path: Path) -> None: ...

    def rename(self, old: Path, new: Path) -> None: ...

    def unlink(self, path: Path) -> None: ...

    def remove_tree(self, path: Path) -> None: ...

    def sync_dir(self, path: Path) -> None: ...

    def sync_volume(self, path: Path) -> bool:
        """Everything written to the volume of `path` is on disk when it returns; False where that cannot be had by one call."""

    def synced_together(self, path: Path) -> AbstractContextManager[None]:
        """Within, nothing is synced on its own; at the end all is, by `sync_volume` (where it cannot: as ever). Raises OSError."""

    def mtime_ms(self, path: Path) -> int: ...

    def set_mtime_ms(self, path: Path, value: int) -> None: ...

    def usable_bytes(self, path: Path) -> tuple[int, int]:
        """(total, usable) bytes of the volume."""

    def lock(self, path: Path) -> object:
        """Take an exclusive POSIX lock on `path` (fcntl, which excludes Apache Kafka too) until the returned object is
        collected or closed; raises BlockingIOError when another process holds it."""


@dataclass(frozen=True, slots=True)
class Env:
    """What the outside world is to a broker; built once, in `broker/cli.py`. `boot_id` is another after each power cut; "": not known."""

    clock: Clock
    random: Random
    fs: FileSystem
    boot_id: str = ""


class SystemClock:
    """The real clock."""

    def time_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> float:
        return time.monotonic() * 1000.0


class SystemRandom:
    """The operating system's randomness."""

    def uuid(self) -> uuid.UUID:
        return uuid.UUID(bytes=os.urandom(16))

    def below(self, bound: int) -> int:
        return int.from_bytes(os.urandom(16)) % bound  # the bias is below 2^-64 for every bound in use


class OsFile:
    """A file descriptor with positioned reads and writes."""

    __slots__ = ("_fd", "_fs")

    def __init__(self, fd: int, fs: OsFileSystem) -> None:
        self._fd = fd
        self._fs = fs

    def pread(self, size: int, offset: int) -> bytes:
        return os.pread(self._fd, size, offset)

    def pwrite(self, buffers: Sequence[Buffer], offset: int) -> int:
        if len(buffers) == 1:  # a fifth less than a gathering write
            wanted = len(buffers[0])
            written = os.pwrite(self._fd, buffers[0], offset)
        else:
            wanted = sum(map(len, buffers))
            written = os.pwritev(self._fd, buffers, offset)
        while written < wanted:  # a full disk first writes short, then raises: let it
            rest = b"".join(buffers)[written:]
            written += os.pwrite(self._fd, rest, offset + written)
        return written

    def truncate(self, size: int) -> None:
        os.ftruncate(self._fd, size)

    def size(self) -> int:
        return os.fstat(self._fd).st_size

    def allocate(self, size: int) -> None:
        from oncelog.storage import fallocate

        fallocate.keep_size(self._fd, size)

    def datasync(self) -> None:
        if not self._fs.syncs_later:
            os.fdatasync(self._fd)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class OsFileSystem:
    """The real file system."""

    syncs_later = False  # within `synced_together`

    def open(self, path: Path, *, create: bool = False, writable: bool = True) -> OsFile:
        flags = os.O_RDWR if writable else os.O_RDONLY
        return OsFile(os.open(path, flags | (os.O_CREAT if create else 0) | os.O_CLOEXEC, 0o644), self)

    def read(self, path: Path) -> bytes:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)  # a third of what Path.read_bytes takes, for ten thousand small files at a start
        try:
            pieces = []
            size = os.fstat(fd).st_size
            while piece := os.read(fd, size + 1):
                pieces.append(piece)
            return b"".join(pieces)
        finally:
            os.close(fd)

    def write_atomic(self, path: Path, data: bytes, twin: Path | None = None) -> None:
        paths = (path,) if twin is None else (path, twin)
        for each in paths:
            self._write_draft(_draft(each), data)
        for each in paths:
            _take_place(_draft(each), each)
        self.sync_dir(path.parent)

    def _write_draft(self, draft: Path, data: bytes) -> None:
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(fd, view) :]
            if not self.syncs_later:
                os.fsync(fd)
        finally:
            os.close(fd)

    def exists(self, path: Path) -> bool:
        return os.path.exists(path)

    def is_dir(self, path: Path) -> bool:
        return os.path.isdir(path)

    def list(self, path: Path) -> list[str]:
        return sorted(os.listdir(path))

    def mkdir(self, path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)

    def rename(self, old: Path, new: Path) -> None:
        os.replace(old, new)

    def unlink(self, path: Path) -> None:
        os.unlink(path)

    def remove_tree(self, path: Path) -> None:
        import shutil  # brings compression libraries along, which a start can do without

        shutil.rmtree(path)

    def sync_dir(self, path: Path) -> None:
        if self.syncs_later:
            return
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def sync_volume(self, path: Path) -> bool:
        from oncelog.storage import syncfs

        return syncfs.sync_volume(path)

    @contextmanager
    def synced_together(self, path: Path) -> Iterator[None]:
        from oncelog.storage import syncfs

        self.syncs_later = syncfs.AVAILABLE
        try:
            yield
        finally:
            self.syncs_later = False
        syncfs.sync_volume(path)

    def mtime_ms(self, path: Path) -> int:
        return os.stat(path).st_mtime_ns // 1_000_000

    def set_mtime_ms(self, path: Path, value: int) -> None:
        os.utime(path, ns=(value * 1_000_000, value * 1_000_000))

    def usable_bytes(self, path: Path) -> tuple[int, int]:
        usage = os.statvfs(path)
        return usage.f_frsize * usage.f_blocks, usage.f_frsize * usage.f_bavail

    def lock(self, path: Path) -> object:
        file = open(path, "a+b")  # noqa: SIM115 - held open for as long as the lock is
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise
        return file


def _draft(path: Path) -> Path:
    return path.with_name(path.name + ".tmp")


def _take_place(draft: Path, path: Path) -> None:
    """A folder of that name gives way: it is none of ours. Raises OSError, which names it."""
    try:
        os.replace(draft, path)
    except IsADirectoryError:
        try:
            os.rmdir(path)
        except OSError:
            os.rename(path, path.with_name(path.name + ".damaged"))
        os.replace(draft, path)


def system_env() -> Env:
    """The real clock, randomness and file system."""
    return Env(SystemClock(), SystemRandom(), OsFileSystem(), _boot_id())


def _boot_id() -> str:
    """Linux only."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
