"""Rules about the disk: a `Watcher` of the file system under a broker."""

from __future__ import annotations

import errno
from pathlib import Path

from oncelog.broker.faults.engine import Faults


class DiskFaults:
    """Writes that find the disk full, and syncs that fail, where a rule says so. It raises OSError as the disk would."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults

    @property
    def watches(self) -> bool:
        return self._faults.about_disk

    def writing(self, path: Path, data: bytes) -> int | None:
        if self._hits("disk_full", path):
            raise OSError(errno.ENOSPC, f"no space left on device, by a rule: {path}")
        return None

    def syncing(self, path: Path) -> None:
        if self._hits("sync_fails", path):
            raise OSError(errno.EIO, f"sync failed, by a rule: {path}")

    def _hits(self, kind: str, path: Path) -> bool:
        topic, _, partition = path.parent.name.rpartition("-")
        return path.suffix == ".log" and partition.isdecimal() and self._faults.disk_rule_for(kind, topic, int(partition)) is not None

    def written(self, path: Path, data: bytes) -> None: ...

    def cut(self, path: Path) -> None: ...

    def synced(self, path: Path) -> None: ...

    def created(self, path: Path) -> None: ...

    def replacing(self, path: Path) -> None: ...

    def renamed(self, old: Path, new: Path) -> None: ...
