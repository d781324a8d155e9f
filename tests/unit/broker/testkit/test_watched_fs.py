"""Calls are told before and after, may be cut or refused, and fail after death."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from oncelog.broker.testkit.watched_fs import WatchedFileSystem
from oncelog.storage.memory_fs import MemoryFileSystem

pytestmark = pytest.mark.unit
FILE = Path("/d/f.log")


class Notes:
    """A watcher that writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.keep: int | None = None

    def writing(self, path: Path, data: bytes) -> int | None:
        self.told.append(f"writing {data.decode()}")
        return self.keep

    def written(self, path: Path, data: bytes) -> None:
        self.told.append(f"written {data.decode()}")

    def cut(self, path: Path) -> None:
        raise OSError(errno.EIO, "cut")

    def syncing(self, path: Path) -> None:
        self.told.append("syncing")

    def synced(self, path: Path) -> None:
        self.told.append("synced")

    def created(self, path: Path) -> None:
        self.told.append(f"created {path.name}")

    def replacing(self, path: Path) -> None:
        self.told.append(f"replacing {path.name}")

    def renamed(self, old: Path, new: Path) -> None:
        self.told.append(f"renamed {old.name} {new.name}")


@pytest.fixture
def memory() -> MemoryFileSystem:
    made = MemoryFileSystem()
    made.mkdir(FILE.parent)
    return made


def test_changes_are_told_and_made(memory: MemoryFileSystem) -> None:
    fs, notes = WatchedFileSystem(memory), Notes()
    fs.watch(notes)
    file = fs.open(FILE, create=True)
    fs.open(FILE, create=True)
    assert file.pwrite([b"a", b"bc"], 0) == 3
    file.datasync()
    fs.write_atomic(Path("/d/s"), b"new")
    fs.rename(FILE, Path("/d/g.log"))
    assert notes.told == ["created f.log", "writing abc", "written abc", "syncing", "synced", "replacing s", "renamed f.log g.log"]
    assert (memory.read(Path("/d/g.log")), memory.read(Path("/d/s"))) == (b"abc", b"new")


def test_a_write_is_cut_where_the_watcher_says(memory: MemoryFileSystem) -> None:
    fs, notes = WatchedFileSystem(memory), Notes()
    file = fs.open(FILE, create=True)
    notes.keep = 2
    fs.watch(notes)
    with pytest.raises(OSError):
        file.pwrite([b"abc"], 0)
    assert memory.read(FILE) == b"ab"


def test_after_death_nothing_changes(memory: MemoryFileSystem) -> None:
    fs = WatchedFileSystem(memory)
    file = fs.open(FILE, create=True)
    fs.die()
    changes = (
        lambda: file.pwrite([b"x"], 0),
        lambda: file.truncate(0),
        file.datasync,
        lambda: fs.open(FILE),
        lambda: fs.write_atomic(FILE, b"x"),
        lambda: fs.rename(FILE, FILE),
        lambda: fs.mkdir(Path("/e")),
        lambda: fs.unlink(FILE),
        lambda: fs.remove_tree(FILE.parent),
        lambda: fs.set_mtime_ms(FILE, 1),
    )
    for change in changes:
        with pytest.raises(OSError) as dead:
            change()
        assert dead.value.errno == errno.EBADF
    assert memory.read(FILE) == b""


def test_a_file_that_was_open_before_is_watched_from_then_on_and_no_longer() -> None:
    fs = WatchedFileSystem(MemoryFileSystem())
    fs.mkdir(FILE.parent)
    file, notes = fs.open(FILE, create=True), Notes()
    file.pwrite([b"a"], 0)
    fs.watch(notes)
    file.pwrite([b"b"], 1)
    fs.watch(None)
    file.pwrite([b"c"], 2)
    assert (notes.told, file.pread(9, 0), file.size()) == (["writing b", "written b"], b"abc", 3)
    fs.die()
    with pytest.raises(OSError) as dead:
        file.pwrite([b"d"], 3)
    assert dead.value.errno == errno.EBADF
