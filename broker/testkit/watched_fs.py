"""A file system that is looked at: where a broker may be made to die, a disk to be full or a sync to fail.

It stands between storage and any `FileSystem`; while nothing is armed, files read and write as if it were not there. Calls are told as they
begin; what is told may raise, and then the call is not made.
"""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol
from weakref import WeakSet

from oncelog.storage.env import Buffer, File, FileSystem


class Watcher(Protocol):
    """Told of calls that change the disk."""

    def writing(self, path: Path, data: bytes) -> int | None:
        """Before `data` is written to `path`; a number: only so many bytes of it, then `cut`. May raise."""

    def written(self, path: Path, data: bytes) -> None: ...

    def cut(self, path: Path) -> None:
        """A write was cut short as asked."""

    def syncing(self, path: Path) -> None: ...

    def synced(self, path: Path) -> None: ...

    def created(self, path: Path) -> None: ...

    def replacing(self, path: Path) -> None:
        """`write_atomic`: the draft stands beside `path`, not yet under its name."""

    def renamed(self, old: Path, new: Path) -> None: ...


class Armed(Watcher, Protocol):
    """One that is told only while it watches for something."""

    @property
    def watches(self) -> bool: ...


class Watchers:
    """Several as one; the first that cuts a write is told of the cut."""

    def __init__(self, watchers: Sequence[Armed]) -> None:
        self._watchers = watchers
        self._cuts: Watcher | None = None

    @property
    def watches(self) -> bool:
        return any(each.watches for each in self._watchers)

    def writing(self, path: Path, data: bytes) -> int | None:
        for each in self._watchers:
            kept = each.writing(path, data)
            if kept is not None:
                self._cuts = each
                return kept
        return None

    def cut(self, path: Path) -> None:
        assert self._cuts is not None
        self._cuts.cut(path)

    def written(self, path: Path, data: bytes) -> None:
        for each in self._watchers:
            each.written(path, data)

    def syncing(self, path: Path) -> None:
        for each in self._watchers:
            each.syncing(path)

    def synced(self, path: Path) -> None:
        for each in self._watchers:
            each.synced(path)

    def created(self, path: Path) -> None:
        for each in self._watchers:
            each.created(path)

    def replacing(self, path: Path) -> None:
        for each in self._watchers:
            each.replacing(path)

    def renamed(self, old: Path, new: Path) -> None:
        for each in self._watchers:
            each.renamed(old, new)


class WatchedFile:
    """A file whose changes are told. While nobody is, `pwrite` is the file's own: reads and writes cost nothing more."""

    pwrite: Callable[[Sequence[Buffer], int], int]

    def __init__(self, file: File, path: Path, fs: WatchedFileSystem) -> None:
        self._file = file
        self._path = path
        self._fs = fs
        self.pread = file.pread
        self.size = file.size
        self.rearm()

    def rearm(self) -> None:
        """The watcher has come or gone, or the process died."""
        self.pwrite = self._file.pwrite if self._fs.watcher is None and not self._fs.dead else self._watched_pwrite

    def _watched_pwrite(self, buffers: Sequence[Buffer], offset: int) -> int:
        self._fs.check()
        watcher = self._fs.watcher
        if watcher is None:
            return self._file.pwrite(buffers, offset)
        data = b"".join(buffers)
        kept = watcher.writing(self._path, data)
        if kept is not None:
            self._file.pwrite([data[:kept]], offset)
            watcher.cut(self._path)
        written = self._file.pwrite([data], offset)
        watcher.written(self._path, data)
        return written

    def truncate(self, size: int) -> None:
        self._fs.check()
        self._file.truncate(size)

    def allocate(self, size: int) -> None:
        self._file.allocate(size)

    def datasync(self) -> None:
        self._fs.check()
        watcher = self._fs.watcher
        if watcher is not None:
            watcher.syncing(self._path)
        self._file.datasync()
        with self._fs.counting:
            self._fs.syncs += 1
        if watcher is not None:
            watcher.synced(self._path)

    def close(self) -> None:
        self._file.close()


class WatchedFileSystem:
    """`fs`, watched. After `die` every change fails with EBADF, as the descriptors of a process that is gone."""

    def __init__(self, fs: FileSystem) -> None:
        self._fs = fs
        self.dead = False
        self.watcher: Watcher | None = None
        self.syncs = 0
        self.counting = threading.Lock()
        self._files: WeakSet[WatchedFile] = WeakSet()

    def die(self) -> None:
        self.dead = True
        self._rearm()

    def watch(self, watcher: Watcher | None) -> None:
        """From the next call on."""
        if watcher is not self.watcher:
            self.watcher = watcher
            self._rearm()

    def _rearm(self) -> None:
        with self.counting:
            files = list(self._files)
        for file in files:
            file.rearm()

    def check(self) -> None:
        """Raises OSError(EBADF) after `die`."""
        if self.dead:
            raise OSError(errno.EBADF, "this process has died")

    # -- what is told

    def open(self, path: Path, *, create: bool = False, writable: bool = True) -> WatchedFile:
        self.check()
        watcher = self.watcher if create else None
        new = watcher is not None and not self._fs.exists(path)
        file = WatchedFile(self._fs.open(path, create=create, writable=writable), path, self)
        with self.counting:
            self._files.add(file)
        file.rearm()  # who armed or died meanwhile, on another thread, may not have seen it
        if new and watcher is not None:
            watcher.created(path)
        return file

    def write_atomic(self, path: Path, data: bytes, twin: Path | None = None) -> None:
        self.check()
        watcher = self.watcher
        if watcher is not None:
            draft = path.with_name(path.name + ".tmp")
            file = self._fs.open(draft, create=True)
            try:
                file.truncate(0)
                file.pwrite([data], 0)
            finally:
                file.close()
            watcher.replacing(path)
        self._fs.write_atomic(path, data, twin)

    def rename(self, old: Path, new: Path) -> None:
        self.check()
        self._fs.rename(old, new)
        watcher = self.watcher
        if watcher is not None:
            watcher.renamed(old, new)

    # -- what is not

    def mkdir(self, path: Path) -> None:
        self.check()
        self._fs.mkdir(path)

    def unlink(self, path: Path) -> None:
        self.check()
        self._fs.unlink(path)

    def remove_tree(self, path: Path) -> None:
        self.check()
        self._fs.remove_tree(path)

    def set_mtime_ms(self, path: Path, value: int) -> None:
        self.check()
        self._fs.set_mtime_ms(path, value)

    @contextmanager
    def synced_together(self, path: Path) -> Iterator[None]:
        with self._fs.synced_together(path):
            yield

    def __getattr__(self, name: str) -> Any:
        return getattr(self._fs, name)
