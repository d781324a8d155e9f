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
from collections.abc import Callable, Sequence
from typing import cast

from oncelog.storage.memory_fs import Inode, MemoryFileSystem

CHANGES = frozenset({"pwrite", "truncate", "datasync", "sync_dir", "sync_volume", "create", "mkdir", "rename", "unlink", "remove_tree"})


class Died(SystemExit):
    """The simulated process is gone. A SystemExit, because an event loop lets nothing else through."""


class SimInode(Inode):
    """Knows too what was written since it was synced: of that a crash may keep any part."""

    __slots__ = ("redo",)

    def __init__(self, mtime_ms: int = 0) -> None:
        super().__init__(mtime_ms)
        self.redo: list[tuple[int, bytes, int]] = []  # (offset, bytes written, size after); a truncate writes nothing

    def change(self, offset: int, data: bytes, size: int) -> None:
        super().change(offset, data, size)
        self.redo.append((offset, data, size))

    def sync(self) -> None:
        super().sync()
        self.redo.clear()

    def crash(self, chance: random.Random) -> None:
        """Back to the synced content, then keep, drop, tear or garble each change since."""
        if not self.undo:
            return
        self.take_back()
        content = self.content
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


class SimFileSystem(MemoryFileSystem):
    """See the module. `now_ms` gives file times; `free_bytes` is checked on writes when set."""

    def __init__(self, seed: int = 0, now_ms: Callable[[], int] = lambda: 0) -> None:
        super().__init__(now_ms, SimInode)
        self.chance = random.Random(seed)
        self.calls = 0
        self._fail_at: int | None = None
        self._error = errno.EIO
        self._only: frozenset[str] | None = None
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

    def takes(self, data: bytes) -> tuple[int, BaseException | None]:
        if self.dies_here("pwrite"):
            return self.chance.randrange(len(data) + 1), Died("died in pwrite")
        return super().takes(data)

    def crash(self) -> None:
        """Power cut: open descriptors die, the unsynced is kept, dropped or garbled by chance."""
        kept = self.chance.randrange(len(self._journal) + 1) if self._journal else 0
        for change in self._journal[:kept]:
            change(self._safe_names)
        self._journal.clear()
        self.names = dict(self._safe_names)
        for inode in {id(i): i for i in self.names.values() if i is not None}.values():
            cast(SimInode, inode).crash(self.chance)
        self.kill()

    def kill(self) -> None:
        """kill -9: descriptors and locks die, every write stays."""
        super().kill()
        self._fail_at = None
        self._die_in = None
        self.dead = False
