"""A data directory that a reset may empty: one that held nothing when its broker was first started, unless more is allowed."""

from __future__ import annotations

import shutil
from pathlib import Path

LEFT_ALONE = "lost+found"  # a volume's own


class OwnFolder:
    """`path` as it is now, before anything is written there; `allowed`: by `control.reset.enable`, whatever it holds."""

    def __init__(self, path: Path, *, allowed: bool) -> None:
        self.path = path
        self._may_empty = allowed or not _held(path)

    def check(self) -> None:
        """Raises PermissionError: nobody loses a cluster to a test that was pointed at the wrong one."""
        if not self._may_empty:
            raise PermissionError(
                f"{self.path} held data when this broker was started, which a reset would delete; "
                "start it with an empty data directory, or with control.reset.enable=true"
            )

    def empty(self) -> None:
        """Delete what is in the folder, not the folder: it may be where a volume is mounted. Raises PermissionError, OSError."""
        self.check()
        for each in self.path.iterdir() if self.path.is_dir() else ():
            if each.name == LEFT_ALONE:
                continue
            if each.is_dir() and not each.is_symlink():
                shutil.rmtree(each)
            else:
                each.unlink()


def _held(folder: Path) -> bool:
    return folder.is_dir() and any(each.name != LEFT_ALONE for each in folder.iterdir())
