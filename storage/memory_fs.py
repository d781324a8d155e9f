"""A file system in memory that forgets what was not synced: for brokers within a test's process, and for power cuts there.

* The content of a file is safe up to its last `datasync`. Names (create, rename, unlink, mkdir) are journalled in order and safe up to
  the last `sync_dir`.
* `power_cut` takes everything else back. `kill` keeps it, as the death of a process does. Either way descriptors and locks of before are
  dead: whatever still runs fails with EBADF.

Calls are those of `env.FileSystem`. One thread at a time.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from oncelog.storage.env import Buffer

_ENDLESS_BYTES = 1 << 40


class Inode:
    """Content, and how to take back what was not synced."""

    __slots__ = ("content", "mtime_ms", "undo")

    def __init__(self, mtime_ms: int = 0) -> None:
        self.content = bytearray()
        self.mtime_ms = mtime_ms
        self.undo: list[tuple[int, bytes, int]] = []  # (offset, bytes that stood there, size before)

    def change(self, offset: int, data: bytes, size: int) -> None:
        """Put `data` at `offset` of a file that is `size` long afterwards."""
        content = self.content
        before = len(content)
        start, stop = (size, before) if size < before else (offset, offset + len(data))
        self.undo.append((min(offset, size), bytes(content[start:stop]), before))
        if size > before:
            content.extend(bytes(size - before))
        content[offset : offset + len(data)] = data
        del content[size:]

    def sync(self) -> None:
        self.undo.clear()

    def take_back(self) -> None:
        """The content as it was when it was synced last."""
        content = self.content
        for offset, old, size in reversed(self.undo):
            if len(content) < size:
                content.extend(bytes(size - len(content)))
            content[offset : offset + len(old)] = old
            del content[size:]
        self.undo.clear()


Names = dict[str, Inode | None]  # None: a folder


class MemoryFile:
    """One open descriptor."""

    __slots__ = ("_fs", "_generation", "_open", "inode")

    def __init__(self, fs: MemoryFileSystem, inode: Inode) -> None:
        self.inode = inode
        self._fs = fs
        self._generation = fs.generation
        self._open = True

    def _used(self, call: str) -> Inode:
        if not self._open or self._fs.generation is not self._generation:
            raise OSError(errno.EBADF, "closed, or the descriptor of a process that has died")
        self._fs.called(call)
        return self.inode

    def pread(self, size: int, offset: int) -> bytes:
        return bytes(self._used("pread").content[offset : offset + size])

    def pwrite(self, buffers: Sequence[Buffer], offset: int) -> int:
        inode = self._used("pwrite")
        data = b"".join(buffers)
        kept, problem = self._fs.takes(data)
        if kept:
            inode.change(offset, data[:kept], max(len(inode.content), offset + kept))
            inode.mtime_ms = self._fs.now_ms()
        if problem is not None:
            raise problem
        return len(data)

    def truncate(self, size: int) -> None:
        self._used("truncate").change(size, b"", size)

    def size(self) -> int:
        return len(self.inode.content)

    def allocate(self, size: int) -> None:
        self._used("allocate")

    def datasync(self) -> None:
        inode = self._used("datasync")
        if not self._fs.syncs_later:
            inode.sync()

    def close(self) -> None:
        self._open = False


class MemoryFileSystem:
    """See the module. `now_ms` gives file times; `free_bytes` is what may still be written, None: no end of it."""

    def __init__(self, now_ms: Callable[[], int] = lambda: 0, new_inode: Callable[[int], Inode] = Inode) -> None:
        self.now_ms = now_ms
        self.names: Names = {"/": None}
        self.generation: object = object()
        self.syncs_later = False  # within `synced_together`
        self.free_bytes: int | None = None
        self._new_inode = new_inode
        self._safe_names: Names = dict(self.names)
        self._journal: list[Callable[[Names], None]] = []
        self._locks: set[str] = set()

    # -- the end of a process, and of power

    def kill(self) -> None:
        """Descriptors and locks die, every write stays."""
        self.generation = object()
        self._locks.clear()

    def power_cut(self) -> None:
        """The same, and what was not synced is lost."""
        self.names = dict(self._safe_names)
        self._journal.clear()
        for inode in {id(inode): inode for inode in self.names.values() if inode is not None}.values():
            inode.take_back()
        self.kill()

    def clear(self) -> None:
        """An empty disk for the next process."""
        self.names = {"/": None}
        self._safe_names = dict(self.names)
        self._journal.clear()
        self.kill()

    def save(self, root: Path, folder: Path) -> None:
        """Everything below `root`, written into the real `folder`. Raises OSError."""
        for name, inode in sorted(self.names.items()):
            path = Path(name)
            if path.is_relative_to(root):
                target = folder / path.relative_to(root)
                if inode is None:
                    target.mkdir(parents=True, exist_ok=True)
                else:
                    target.write_bytes(inode.content)

    # -- for those who let calls fail

    def called(self, call: str) -> None:
        """A call begins. May raise what it fails with."""

    def takes(self, data: bytes) -> tuple[int, BaseException | None]:
        """How many bytes of a write are taken, and what it raises then."""
        if self.free_bytes is None:
            return len(data), None
        room = min(len(data), self.free_bytes)
        self.free_bytes -= room
        return room, None if room == len(data) else OSError(errno.ENOSPC, "no space left on the device in memory")

    # -- FileSystem

    def _change(self, call: str, change: Callable[[Names], None]) -> None:
        self.called(call)
        change(self.names)
        self._journal.append(change)

    def open(self, path: Path, *, create: bool = False, writable: bool = True) -> MemoryFile:
        name = str(path)
        if name not in self.names:
            if not create:
                raise FileNotFoundError(errno.ENOENT, "no such file", name)
            if str(path.parent) not in self.names:
                raise FileNotFoundError(errno.ENOENT, "no such folder", name)
            inode = self._new_inode(self.now_ms())
            self._change("create", lambda names: names.__setitem__(name, inode))
        else:
            self.called("open")
        found = self.names[name]
        if found is None:
            raise IsADirectoryError(errno.EISDIR, "a folder", name)
        return MemoryFile(self, found)

    def read(self, path: Path) -> bytes:
        self.called("read")
        found = self.names.get(str(path))
        if found is None:
            raise FileNotFoundError(errno.ENOENT, "no such file", str(path))
        return bytes(found.content)

    def write_atomic(self, path: Path, data: bytes, twin: Path | None = None) -> None:
        paths = (path,) if twin is None else (path, twin)
        drafts = [each.with_name(each.name + ".tmp") for each in paths]
        for draft in drafts:
            file = self.open(draft, create=True)
            file.truncate(0)
            file.pwrite([data], 0)
            file.datasync()
        for draft, each in zip(drafts, paths, strict=True):
            self.rename(draft, each)
        self.sync_dir(path.parent)

    def exists(self, path: Path) -> bool:
        return str(path) in self.names

    def is_dir(self, path: Path) -> bool:
        name = str(path)
        return name in self.names and self.names[name] is None

    def list(self, path: Path) -> list[str]:
        self.called("list")
        prefix = str(path).rstrip("/") + "/"
        if not self.is_dir(path):
            raise FileNotFoundError(errno.ENOENT, "no such folder", str(path))
        return sorted(
            name[len(prefix) :] for name in self.names if name.startswith(prefix) and name != prefix and "/" not in name[len(prefix) :]
        )

    def mkdir(self, path: Path) -> None:
        missing = [each for each in (path, *path.parents) if str(each) not in self.names]
        for folder in reversed(missing):
            name = str(folder)
            self._change("mkdir", lambda names, name=name: names.__setitem__(name, None))  # type: ignore[misc]

    def rename(self, old: Path, new: Path) -> None:
        if str(old) not in self.names:
            raise FileNotFoundError(errno.ENOENT, "no such file", str(old))
        source, target = str(old), str(new)

        def change(names: Names) -> None:
            if names.get(source) is not None:  # a file
                names[target] = names.pop(source)
                return
            for name in _tree(names, source):
                names[target + name[len(source) :]] = names.pop(name)

        self._change("rename", change)

    def unlink(self, path: Path) -> None:
        if str(path) not in self.names:
            raise FileNotFoundError(errno.ENOENT, "no such file", str(path))
        self._change("unlink", lambda names: names.pop(str(path), None))  # type: ignore[arg-type]

    def remove_tree(self, path: Path) -> None:
        def change(names: Names) -> None:
            for name in _tree(names, str(path)):
                del names[name]

        self._change("remove_tree", change)

    def sync_dir(self, path: Path) -> None:
        self.called("sync_dir")
        if not self.syncs_later:
            self._sync_names()

    def sync_volume(self, path: Path) -> bool:
        self.called("sync_volume")
        self._sync_names()
        for inode in self.names.values():
            if inode is not None:
                inode.sync()
        return True

    @contextmanager
    def synced_together(self, path: Path) -> Iterator[None]:
        self.syncs_later = True
        try:
            yield
        finally:
            self.syncs_later = False
        self.sync_volume(path)

    def _sync_names(self) -> None:
        for change in self._journal:
            change(self._safe_names)
        self._journal.clear()

    def mtime_ms(self, path: Path) -> int:
        found = self.names.get(str(path))
        if found is None:
            raise FileNotFoundError(errno.ENOENT, "no such file", str(path))
        return found.mtime_ms

    def set_mtime_ms(self, path: Path, value: int) -> None:
        found = self.names.get(str(path))
        if found is not None:
            found.mtime_ms = value

    def usable_bytes(self, path: Path) -> tuple[int, int]:
        return _ENDLESS_BYTES, self.free_bytes if self.free_bytes is not None else _ENDLESS_BYTES

    def lock(self, path: Path) -> object:
        name = str(path)
        if name in self._locks:
            raise BlockingIOError(errno.EAGAIN, "locked", name)
        self.open(path, create=True)
        self._locks.add(name)
        return _Lock(self, name)

    def unlock(self, name: str, generation: object) -> None:
        """Called by the lock itself."""
        if generation is self.generation:
            self._locks.discard(name)


class _Lock:
    """Held until it is collected or closed."""

    def __init__(self, fs: MemoryFileSystem, name: str) -> None:
        self._fs, self._name, self._generation = fs, name, fs.generation

    def close(self) -> None:
        self._fs.unlock(self._name, self._generation)

    __del__ = close


class ProcessView:
    """The disk as one process sees it: after its death every call fails, as descriptors of before do."""

    def __init__(self, fs: MemoryFileSystem) -> None:
        self._fs = fs
        self._generation = fs.generation

    def __getattr__(self, name: str) -> Any:
        if self._fs.generation is not self._generation:
            raise OSError(errno.EBADF, "this process has died")
        return getattr(self._fs, name)


def _tree(names: Names, root: str) -> list[str]:
    return [name for name in names if name == root or name.startswith(root + "/")]
