"""Space is reserved on the disk, and the file is as long as before."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from oncelog.storage import fallocate

SIZE = 1 << 20


@pytest.mark.skipif(sys.platform != "linux", reason="fallocate(2) is Linux's")
def test_blocks_are_reserved_behind_the_end(tmp_path: Path) -> None:
    path = tmp_path / "f"
    with path.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, 1)  # the file system has it, or this raises
        file.truncate(3)
        fallocate.keep_size(file.fileno(), SIZE)
    found = path.stat()
    assert found.st_size == 3
    assert found.st_blocks * 512 >= SIZE


def test_it_is_a_hint_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bad descriptor, a size without sense, a system that has no such call: the write itself will tell."""
    fallocate.keep_size(-1, SIZE)
    with (tmp_path / "f").open("wb") as file:
        fallocate.keep_size(file.fileno(), -1)
        monkeypatch.setattr(fallocate, "_libc", None)
        fallocate.keep_size(file.fileno(), SIZE)
    assert (tmp_path / "f").stat().st_size == 0
