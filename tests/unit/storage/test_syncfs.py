"""One sync for a whole volume, where the system has it."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from oncelog.storage import syncfs


@pytest.mark.skipif(sys.platform != "linux", reason="syncfs(2) is Linux's")
def test_the_volume_of_a_folder(tmp_path: Path) -> None:
    assert syncfs.AVAILABLE
    before = set(os.listdir("/proc/self/fd"))
    assert syncfs.sync_volume(tmp_path) is True
    with pytest.raises(FileNotFoundError):
        syncfs.sync_volume(tmp_path / "nowhere")
    (tmp_path / "f").write_text("")
    with pytest.raises(NotADirectoryError):
        syncfs.sync_volume(tmp_path / "f")
    assert set(os.listdir("/proc/self/fd")) == before


def test_a_disk_that_fails_is_told_with_its_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing:
        def syncfs(self, _fd: int) -> int:
            import ctypes

            ctypes.set_errno(errno.EIO)
            return -1

    monkeypatch.setattr(syncfs, "_libc", Failing())
    monkeypatch.setattr(syncfs, "AVAILABLE", True)
    with pytest.raises(OSError) as told:
        syncfs.sync_volume(tmp_path)
    assert (told.value.errno, told.value.filename) == (errno.EIO, str(tmp_path))


@pytest.mark.parametrize(("libc", "available"), [(None, False), (object(), False), (None, True)])
def test_without_such_a_call_nothing_is_claimed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, libc: Any, available: bool) -> None:
    monkeypatch.setattr(syncfs, "_libc", libc)
    monkeypatch.setattr(syncfs, "AVAILABLE", available)
    assert syncfs.sync_volume(tmp_path) is False
