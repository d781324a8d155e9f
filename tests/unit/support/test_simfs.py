"""The forgetting file system forgets what it should, and only that."""

from __future__ import annotations

import contextlib
import errno
from pathlib import Path

import pytest
from support.simfs import SimFileSystem

FILE = Path("/d/f")


def filled(seed: int) -> SimFileSystem:
    fs = SimFileSystem(seed)
    fs.mkdir(Path("/d"))
    file = fs.open(FILE, create=True)
    file.pwrite([b"synced"], 0)
    file.datasync()
    fs.sync_dir(Path("/d"))
    return fs


@pytest.mark.parametrize("seed", range(50))
def test_synced_bytes_survive_and_later_ones_may_not(seed: int) -> None:
    fs = filled(seed)
    fs.open(FILE).pwrite([b"AB", b"CD"], 6)
    fs.crash()
    content = fs.read(FILE)
    assert content[:6] == b"synced"
    assert len(content) <= 10


def test_every_fate_of_an_unsynced_write_is_seen() -> None:
    seen = set()
    for seed in range(200):
        fs = filled(seed)
        fs.open(FILE).pwrite([b"ABCD"], 6)
        fs.crash()
        tail = fs.read(FILE)[6:]
        seen.add("lost" if not tail else "kept" if tail == b"ABCD" else "torn" if tail.rstrip(b"\0") in b"ABCD" else "garbled")
    assert seen == {"lost", "kept", "torn", "garbled"}


@pytest.mark.parametrize("seed", range(20))
def test_overwritten_and_truncated_bytes_come_back_or_not_at_all(seed: int) -> None:
    fs = filled(seed)
    file = fs.open(FILE)
    file.truncate(2)
    file.pwrite([b"xx"], 2)
    fs.crash()
    assert fs.read(FILE)[:2] == b"sy"


def test_names_keep_their_order() -> None:
    outcomes = set()
    for seed in range(100):
        fs = filled(seed)
        fs.rename(FILE, Path("/d/g"))
        fs.open(Path("/d/h"), create=True)
        fs.crash()
        outcomes.add(tuple(fs.list(Path("/d"))))
    assert outcomes == {("f",), ("g",), ("g", "h")}


def test_atomic_write_is_old_or_new() -> None:
    for seed in range(50):
        for nth in range(1, 8):
            fs = filled(seed)
            fs.fail(nth)
            with contextlib.suppress(OSError):
                fs.write_atomic(FILE, b"new content")
            fs.crash()
            assert fs.read(FILE) in (b"synced", b"new content")


def test_full_disk_writes_short_and_raises() -> None:
    fs = filled(0)
    fs.free_bytes = 3
    with pytest.raises(OSError, match="no space") as caught:
        fs.open(FILE).pwrite([b"ABCDE"], 6)
    assert caught.value.errno == errno.ENOSPC
    assert fs.read(FILE) == b"syncedABC"


def test_descriptors_die_with_the_process() -> None:
    fs = filled(0)
    file = fs.open(FILE)
    lock = fs.lock(Path("/d/.lock"))
    with pytest.raises(BlockingIOError):
        fs.lock(Path("/d/.lock"))
    fs.kill()
    assert lock is not None
    with pytest.raises(OSError, match="died"):
        file.pread(1, 0)
    fs.lock(Path("/d/.lock"))
