"""The real file system, clock and randomness, where a slip would cost data: short writes, drafts, locks, delayed syncs."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from oncelog.storage import syncfs
from oncelog.storage.env import OsFileSystem, SystemClock, SystemRandom, system_env

FS = OsFileSystem()


def test_reads_and_writes_by_position(tmp_path: Path) -> None:
    file = FS.open(tmp_path / "f", create=True)
    assert file.pwrite([b"ab", bytearray(b"cd"), memoryview(b"ef")], 3) == 6
    assert file.pwrite([b"X"], 0) == 1
    assert (file.size(), file.pread(100, 0), file.pread(2, 4)) == (9, b"X\0\0abcdef", b"bc")
    file.truncate(4)
    assert FS.read(tmp_path / "f") == b"X\0\0a"
    file.close()
    file.close()
    with pytest.raises(OSError):
        file.size()


@pytest.mark.parametrize("pieces", [[b"abcdef"], [b"abc", b"def"], [b"", b"a", b"bcdef"]])
def test_a_short_write_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pieces: list[bytes]) -> None:
    """The system takes two bytes, then one, and so on."""
    pwritev, pwrite = os.pwritev, os.pwrite
    monkeypatch.setattr(os, "pwritev", lambda fd, buffers, at: pwritev(fd, [b"".join(buffers)[:2]], at))
    monkeypatch.setattr(os, "pwrite", lambda fd, data, at: pwrite(fd, data[:1], at))
    file = FS.open(tmp_path / "f", create=True)
    assert file.pwrite(pieces, 1) == 6
    assert file.pread(10, 1) == b"abcdef"


def test_a_disk_that_is_full_in_the_middle_of_a_write_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pwritev = os.pwritev
    monkeypatch.setattr(os, "pwritev", lambda fd, buffers, at: pwritev(fd, [b"".join(buffers)[:2]], at))

    def full(*_arguments: Any) -> int:
        raise OSError(28, "no space left")

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(OSError, match="no space left"):
        FS.open(tmp_path / "f", create=True).pwrite([b"abc"], 0)


def test_opening(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        FS.open(tmp_path / "f")
    FS.open(tmp_path / "f", create=True).pwrite([b"kept"], 0)
    assert FS.open(tmp_path / "f", create=True).pread(9, 0) == b"kept"
    with pytest.raises(OSError):
        FS.open(tmp_path / "f", writable=False).pwrite([b"x"], 0)


def test_a_file_that_grows_while_it_is_read_is_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, read = tmp_path / "f", os.read
    path.write_bytes(b"a" * 10)

    def grows(fd: int, size: int) -> bytes:
        data = read(fd, min(size, 4))
        if path.stat().st_size < 20:
            with path.open("ab") as more:
                more.write(b"b" * 10)
        return data

    monkeypatch.setattr(os, "read", grows)
    assert FS.read(path) == b"a" * 10 + b"b" * 10


def test_an_atomic_write_replaces_both_names_after_both_drafts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[str, str]] = []
    replace, fsync = os.replace, os.fsync

    def told(name: str, call: Any) -> Any:
        def instead(*arguments: Any) -> Any:
            where = os.readlink(f"/proc/self/fd/{arguments[0]}") if isinstance(arguments[0], int) else str(arguments[1])
            calls.append((name, Path(where).name))
            return call(*arguments)

        return instead

    monkeypatch.setattr(os, "replace", told("replace", replace))
    monkeypatch.setattr(os, "fsync", told("fsync", fsync))
    one, two = tmp_path / "one", tmp_path / "two"
    FS.write_atomic(one, b"x" * 100, two)
    synced = [("fsync", "one.tmp"), ("fsync", "two.tmp")]
    assert calls == [*synced, ("replace", "one"), ("replace", "two"), ("fsync", tmp_path.name)]
    assert one.read_bytes() == two.read_bytes() == b"x" * 100
    assert FS.list(tmp_path) == ["one", "two"]


def test_a_failing_draft_leaves_the_old_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FS.write_atomic(tmp_path / "f", b"old")

    def broken(_fd: int) -> None:
        raise OSError(5, "broken")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(OSError, match="broken"):
        FS.write_atomic(tmp_path / "f", b"newer")
    assert (tmp_path / "f").read_bytes() == b"old"


@pytest.mark.skipif(not syncfs.AVAILABLE, reason="one call for a volume is Linux's")
def test_what_is_synced_together_is_synced_once_at_the_end_and_after_a_failure_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, name, lambda _fd, name=name: calls.append(name))
    monkeypatch.setattr(syncfs, "sync_volume", lambda path: calls.append(f"volume {path.name}"))
    fs = OsFileSystem()

    def work() -> None:
        fs.open(tmp_path / "f", create=True).datasync()
        fs.write_atomic(tmp_path / "g", b"x")
        fs.sync_dir(tmp_path)

    with fs.synced_together(tmp_path):
        work()
    assert calls == [f"volume {tmp_path.name}"]
    calls.clear()
    with contextlib.suppress(KeyError), fs.synced_together(tmp_path):
        raise KeyError
    work()
    assert calls == ["fdatasync", "fsync", "fsync", "fsync"]


def test_where_a_volume_cannot_be_synced_each_file_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    monkeypatch.setattr(os, "fdatasync", lambda _fd: calls.append("fdatasync"))
    monkeypatch.setattr(syncfs, "AVAILABLE", False)
    fs = OsFileSystem()
    with fs.synced_together(tmp_path):
        fs.open(tmp_path / "f", create=True).datasync()
    assert calls == ["fdatasync"]


def test_a_lock_holds_against_another_process_until_it_is_let_go(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    take = "import fcntl, sys; fcntl.lockf(open(sys.argv[1], 'a+b'), fcntl.LOCK_EX | fcntl.LOCK_NB); print('taken')"

    def other() -> str:
        return subprocess.run([sys.executable, "-c", take, str(path)], capture_output=True, text=True, timeout=60).stdout

    held = FS.lock(path)
    assert other() == ""
    held.close()  # type: ignore[attr-defined]
    assert other() == "taken\n"


def test_a_lock_of_another_process_is_refused(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    hold = "import fcntl, sys; f = open(sys.argv[1], 'a+b'); fcntl.lockf(f, fcntl.LOCK_EX); print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", hold, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(BlockingIOError):
            FS.lock(path)
        holder.communicate()


def test_folders_and_names(tmp_path: Path) -> None:
    FS.mkdir(tmp_path / "a" / "b")
    FS.mkdir(tmp_path / "a" / "b")
    for name in ("z", "y"):
        (tmp_path / "a" / name).write_text(name)
    FS.rename(tmp_path / "a" / "z", tmp_path / "a" / "y")
    assert FS.list(tmp_path / "a") == ["b", "y"]
    assert FS.read(tmp_path / "a" / "y") == b"z"
    assert (FS.is_dir(tmp_path / "a" / "b"), FS.is_dir(tmp_path / "a" / "y"), FS.exists(tmp_path / "a" / "y")) == (True, False, True)
    FS.set_mtime_ms(tmp_path / "a" / "y", 1_700_000_000_123)
    assert FS.mtime_ms(tmp_path / "a" / "y") == 1_700_000_000_123
    FS.unlink(tmp_path / "a" / "y")
    FS.remove_tree(tmp_path / "a")
    assert not FS.exists(tmp_path / "a")
    total, usable = FS.usable_bytes(tmp_path)
    assert 0 < usable <= total


def test_the_system_around() -> None:
    env = system_env()
    assert (type(env.clock), type(env.random), type(env.fs)) == (SystemClock, SystemRandom, OsFileSystem)
    assert abs(env.clock.time_ms() - time.time() * 1000) < 60_000
    begin = env.clock.monotonic_ms()
    assert begin <= env.clock.monotonic_ms() < begin + 60_000
    assert abs(begin - time.monotonic() * 1000) < 60_000
    assert {env.random.below(3) for _ in range(200)} == {0, 1, 2}
    assert len({env.random.uuid() for _ in range(100)}) == 100
