"""The file system in memory keeps what was synced, and after a power cut nothing else."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from oncelog.storage.memory_fs import MemoryFileSystem, ProcessView

pytestmark = pytest.mark.unit
FOLDER, FILE = Path("/d"), Path("/d/f")


@pytest.fixture
def fs() -> MemoryFileSystem:
    """One synced file."""
    made = MemoryFileSystem(lambda: 7)
    made.mkdir(FOLDER)
    file = made.open(FILE, create=True)
    file.pwrite([b"syn", b"ced"], 0)
    file.datasync()
    made.sync_dir(FOLDER)
    return made


def test_a_power_cut_takes_back_what_was_not_synced(fs: MemoryFileSystem) -> None:
    file = fs.open(FILE)
    file.pwrite([b"later"], 6)
    file.truncate(2)
    file.pwrite([b"XY"], 5)
    fs.rename(FILE, Path("/d/g"))
    fs.open(Path("/d/h"), create=True)
    assert fs.list(FOLDER) == ["g", "h"]
    assert fs.read(Path("/d/g")) == b"sy\0\0\0XY"
    fs.power_cut()
    assert fs.list(FOLDER) == ["f"]
    assert fs.read(FILE) == b"synced"


def test_a_kill_keeps_everything_but_descriptors_and_locks(fs: MemoryFileSystem) -> None:
    file, lock, view = fs.open(FILE), fs.lock(Path("/d/.lock")), ProcessView(fs)
    file.pwrite([b"later"], 6)
    fs.kill()
    with pytest.raises(OSError) as dead:
        file.pread(1, 0)
    assert dead.value.errno == errno.EBADF
    with pytest.raises(OSError):
        view.read(FILE)
    assert fs.read(FILE) == b"syncedlater"
    held = fs.lock(Path("/d/.lock"))
    del lock  # of the process that died: it does not free what the next one holds
    with pytest.raises(BlockingIOError):
        fs.lock(Path("/d/.lock"))
    del held
    fs.lock(Path("/d/.lock"))


def test_folders_move_with_what_is_in_them_and_vanish_with_it(fs: MemoryFileSystem) -> None:
    fs.rename(FOLDER, Path("/e"))
    assert (fs.exists(FOLDER), fs.list(Path("/e"))) == (False, ["f"])
    assert (fs.is_dir(Path("/e")), fs.is_dir(Path("/e/f"))) == (True, False)
    fs.remove_tree(Path("/e"))
    assert not fs.exists(Path("/e/f"))
    fs.power_cut()
    assert fs.read(FILE) == b"synced"


def test_what_is_not_there_and_what_is_a_folder(fs: MemoryFileSystem) -> None:
    for call in (fs.open, fs.read, fs.unlink, fs.mtime_ms, fs.list):
        with pytest.raises(FileNotFoundError):
            call(Path("/d/none"))
    with pytest.raises(FileNotFoundError):
        fs.open(Path("/none/f"), create=True)
    with pytest.raises(FileNotFoundError):
        fs.rename(Path("/d/none"), FILE)
    with pytest.raises(IsADirectoryError):
        fs.open(FOLDER)


def test_a_full_disk_takes_what_fits(fs: MemoryFileSystem) -> None:
    fs.free_bytes = 3
    file = fs.open(FILE)
    with pytest.raises(OSError) as full:
        file.pwrite([b"later"], 6)
    assert full.value.errno == errno.ENOSPC
    assert fs.read(FILE) == b"syncedlat"
    assert fs.usable_bytes(FOLDER)[1] == 0


def test_two_names_change_together_and_a_volume_is_synced_at_once(fs: MemoryFileSystem) -> None:
    fs.write_atomic(FILE, b"one", Path("/d/twin"))
    with fs.synced_together(FOLDER):
        fs.write_atomic(FILE, b"two")
    fs.open(FILE).pwrite([b"three"], 0)
    fs.power_cut()
    assert (fs.read(FILE), fs.read(Path("/d/twin"))) == (b"two", b"one")
    assert fs.mtime_ms(FILE) == 7
    fs.set_mtime_ms(FILE, 9)
    assert fs.mtime_ms(FILE) == 9


def test_it_is_saved_and_cleared(fs: MemoryFileSystem, tmp_path: Path) -> None:
    fs.open(FILE).pwrite([b"later"], 6)
    fs.mkdir(Path("/elsewhere"))
    fs.save(FOLDER, tmp_path)
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("f", b"syncedlater")]
    fs.clear()
    assert not fs.exists(FOLDER)
    fs.power_cut()
    assert not fs.exists(FOLDER)
