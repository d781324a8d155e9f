"""A file system in memory that forgets: at a crash each write that was not synced is kept, dropped, torn or garbled.

Rules (those of ext4 in its default mode, made stricter where that is cheap):

* the content of a file is safe up to its last `datasync`; every later write or truncate may be kept or lost, each on its own, in any
  combination; a lost part reads as it was before, or as noise where the file had grown;
* names (create, rename, unlink, mkdir) are journalled in order: a crash keeps some prefix of them, at least up to the last `sync_dir`;
* `fail(n, error)` makes the n-th call from now raise; every call counts, so a test may go on until no call is left to fail;
* `die(n)` ends the process at the n-th changing call from now: `Died` is raised there and by every call after it, until `crash()` or
  `kill()` says what became of the disk. A write that is cut short leaves its beginning.
"""

from __future__ import annotations

import errno
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from oncelog.storage.env import Buffer

CHANGES = frozenset({"pwrite", "truncate", "datasync", "sync_dir", "sync_volume", "create", "mkdir", "rename", "unlink", "remove_tree"})


class Died(SystemExit):
    """The simulated process is gone. A SystemExit, because an event loop lets nothing else through."""


class Inode:
    """Content, and how to take back what was not synced."""

    __slots__ = ("content", "mtime_ms", "redo", "undo")

    def __init__(self, content: bytes = b"", mtime_ms: int = 0) -> None:
        self.content = bytearray(content)
        self.mtime_ms = mtime_ms
        self.undo: list[tuple[int, bytes, int]] = []  # (offset, bytes that stood there, size before)
        self.redo: list[tuple[int, bytes, int]] = []  # (offset, bytes written, size after); a truncate writes nothing

    def change(self, offset: int, data: bytes, size: int) -> None:
        content = self.content
        before = len(content)
        self.undo.append(
            (
                min(offset, size),
                bytes(content[min(offset, size) :]) if size < before else bytes(content[offset : offset + len(data)]),
                before,
            )
        )
        self.redo.append((offset, data, size))
        if size > before:
            content.extend(bytes(size - before))
        content[offset : offset + len(data)] = data
        del content[size:]

    def sync(self) -> None:
        self.undo.clear()
        self.redo.clear()

    def crash(self, chance: random.Random) -> None:
        """Back to the synced content, then keep, drop, tear or garble each change since."""
        if not self.undo:
            return
        content = self.content
        for offset, old, size in reversed(self.undo):
            if len(content) < size:
                content.extend(bytes(size - len(content)))
            content[offset : offset + len(old)] = old
            del content[size:]
        fate = chance.random()
        for offset, data, size in self.redo:
            kept = fate < 0.3 or (fate < 0.9 and chance.random() < 0.6)
            if not kept:
                continue
            if size > len(content):
                content.extend(bytes(size - len(content)))
            elif not data:
                del content[size:]
            part = data
            if data and fate > 0.3 and chance.random() < 0.3:
                cut = chance.randrange(len(data))
                part = data[:cut] if chance.random() < 0.6 else data[:cut] + chance.randbytes(len(data) - cut)
            content[offset : offset + len(part)] = part
        self.sync()


class SimFile:
    """One open descriptor."""

    __slots__ = ("_fs", "_generation", "_inode", "_open")

    def __init__(self, fs: SimFileSystem, inode: Inode) -> None:
        self._fs = fs
        self._inode = inode
        self._generation = fs.generation
        self._open = True

    def _used(self, call: str) -> Inode:
        if not self._open or self._fs.generation is not self._generation:
            raise OSError(errno.EBADF, "closed, or the descriptor of a process that has died")
        self._fs.called(call)
        return self._inode

    def pread(self, size: int, offset: int) -> bytes:
        return bytes(self._used("pread").content[offset : offset + size])

    def pwrite(self, buffers: Sequence[Buffer], offset: int) -> int:
        inode = self._used("pwrite")
        data = b"".join(bytes(buffer) for buffer in buffers)
        if self._fs.dies_here("pwrite"):
            part = data[: self._fs.chance.randrange(len(data) + 1)]
            inode.change(offset, part, max(len(inode.content), offset + len(part)) if part else len(inode.content))
            raise Died("died in pwrite")
        room = self._fs.room(len(data))
        if room < len(data):
            inode.change(offset, data[:room], max(len(inode.content), offset + room))
            raise OSError(errno.ENOSPC, "no space left on the simulated device")
        inode.change(offset, data, max(len(inode.content), offset + len(data)))
        inode.mtime_ms = self._fs.now_ms()
        return len(data)

    def truncate(self, size: int) -> None:
        self._used("truncate").change(size, b"", size)

    def size(self) -> int:
        return len(self._inode.content)

    def allocate(self, size: int) -> None:
        self._used("allocate")

    def datasync(self) -> None:
        inode = self._used("datasync")
        if not self._fs.syncs_later:
            inode.sync()

    def close(self) -> None:
        self._open = False


class SimFileSystem:
    """See the module. `now_ms` gives file times; `capacity` in bytes is checked on writes when set."""

    def __init__(self, seed: int = 0, now_ms: Callable[[], int] = lambda: 0) -> None:
        self.chance = random.Random(seed)
        self.now_ms = now_ms
        self.names: dict[str, Inode | None] = {"/": None}  # None: a folder
        self._safe_names: dict[str, Inode | None] = dict(self.names)
        self._journal: list[Callable[[dict[str, Inode | None]], None]] = []
        self.generation: object = object()
        self.syncs_later = False
        self.calls = 0
        self.free_bytes: int | None = None
        self._fail_at: int | None = None
        self._error = errno.EIO
        self._only: frozenset[str] | None = None
        self._locks: set[str] = set()
        self._die_in: int | None = None
        self.dead = False
        self.failed: str | None = None

    # --- faults ------------------------------------------------------------------------------------------------------

    def fail(self, nth: int | None, error: int = errno.EIO, only: Sequence[str] | None = None) -> None:
        """The nth call from now (1 = the next; of the kinds in `only`) raises OSError(error). None: no more faults."""
        self.calls = 0
        self.failed = None
        self._fail_at, self._error, self._only = nth, error, frozenset(only) if only else None

    def die(self, nth: int | None) -> None:
        """The nth changing call from now (1 = the next) is the last thing the process does. None: it lives on."""
        self._die_in = nth

    def dies_here(self, call: str) -> bool:
        """True when this call ends the process: the caller leaves half of its work behind and raises Died."""
        if self._die_in is not None and call in CHANGES:
            self._die_in -= 1
            self.dead = self._die_in <= 0
        return self.dead

    def called(self, call: str) -> None:
        if self.dead or (self._die_in is not None and call != "pwrite" and self.dies_here(call)):
            raise Died(f"died in {call}")
        if self._only is not None and call not in self._only:
            return
        self.calls += 1
        if self._fail_at is not None and self.calls == self._fail_at:
            self.failed = call
            raise OSError(self._error, f"simulated failure of {call}, call {self.calls}")

    def room(self, wanted: int) -> int:
        if self.free_bytes is None:
            return wanted
        granted = min(wanted, self.free_bytes)
        self.free_bytes -= granted
        return granted

    def crash(self) -> None:
        """Power cut: open descriptors die, the unsynced is kept, dropped or garbled by chance."""
        kept = self.chance.randrange(len(self._journal) + 1) if self._journal else 0
        for change in self._journal[:kept]:
            change(self._safe_names)
        self._journal.clear()
        self.names = dict(self._safe_names)
        for inode in {id(i): i for i in self.names.values() if i is not None}.values():
            inode.crash(self.chance)
        self._restart()

    def kill(self) -> None:
        """kill -9: descriptors and locks die, every write stays."""
        self._restart()

    def _restart(self) -> None:
        self.generation = object()
        self._locks.clear()
        self._fail_at = None
        self._die_in = None
        self.dead = False

    # --- FileSystem --------------------------------------------------------------------------------------------------

    def _change(self, call: str, change: Callable[[dict[str, Inode | None]], None]) -> None:
        self.called(call)
        change(self.names)
        self._journal.append(change)

    def open(self, path: Path, *, create: bool = False, writable: bool = True) -> SimFile:
        name = str(path)
        if name not in self.names:
            if not create:
                raise FileNotFoundError(errno.ENOENT, "no such file", name)
            if str(path.parent) not in self.names:
                raise FileNotFoundError(errno.ENOENT, "no such folder", name)
            inode = Inode(mtime_ms=self.now_ms())
            self._change("create", lambda names: names.__setitem__(name, inode))
        else:
            self.called("open")
        found = self.names[name]
        if found is None:
            raise IsADirectoryError(errno.EISDIR, "a folder", name)
        return SimFile(self, found)

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
        missing = [p for p in (path, *path.parents) if str(p) not in self.names]
        for folder in reversed(missing):
            name = str(folder)
            self._change("mkdir", lambda names, name=name: names.__setitem__(name, None))  # type: ignore[misc]

    def rename(self, old: Path, new: Path) -> None:
        if str(old) not in self.names:
            raise FileNotFoundError(errno.ENOENT, "no such file", str(old))
        source, target = str(old), str(new)

        def change(names: dict[str, Inode | None]) -> None:
            if names.get(source) is not None:  # a file
                names[target] = names.pop(source)
                return
            for name in [n for n in names if n == source or n.startswith(source + "/")]:
                names[target + name[len(source) :]] = names.pop(name)

        self._change("rename", change)

    def unlink(self, path: Path) -> None:
        if str(path) not in self.names:
            raise FileNotFoundError(errno.ENOENT, "no such file", str(path))
        self._change("unlink", lambda names: names.pop(str(path), None))  # type: ignore[arg-type,return-value]

    def remove_tree(self, path: Path) -> None:
        prefix = str(path)

        def change(names: dict[str, Inode | None]) -> None:
            for name in [n for n in names if n == prefix or n.startswith(prefix + "/")]:
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
        return 1 << 40, self.free_bytes if self.free_bytes is not None else 1 << 40

    def lock(self, path: Path) -> object:
        name = str(path)
        if name in self._locks:
            raise BlockingIOError(errno.EAGAIN, "locked", name)
        self.open(path, create=True)
        self._locks.add(name)
        return object()
