"""Open files, the least recently used closed first: ten thousand partitions must not use up the process's descriptors."""

from __future__ import annotations

import errno
from collections import OrderedDict
from pathlib import Path

from oncelog.storage.env import File, FileSystem

DEFAULT_LIMIT = 512


class Descriptors:
    """Files by path. Used from the loop's thread only; a pinned file stays open, so that another thread may sync it."""

    def __init__(self, fs: FileSystem, limit: int = DEFAULT_LIMIT) -> None:
        self.fs = fs
        self._limit = limit
        self._open: OrderedDict[str, File] = OrderedDict()
        self._pins: dict[str, int] = {}
        self._closing: dict[str, list[File]] = {}

    def __len__(self) -> int:
        return len(self._open)

    def get(self, path: str, *, create: bool = False) -> File:
        """The open file. Raises OSError."""
        file = self._open.get(path)
        if file is not None:
            self._open.move_to_end(path)
            return file
        while len(self._open) >= self._limit and self._evict():
            pass
        try:
            file = self.fs.open(Path(path), create=create)
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE) or not self._evict():
                raise
            file = self.fs.open(Path(path), create=create)
        self._open[path] = file
        return file

    def pin(self, path: str) -> File:
        """`get`, and keep it open until `unpin`."""
        file = self.get(path)
        self._pins[path] = self._pins.get(path, 0) + 1
        return file

    @property
    def pins_are_many(self) -> bool:
        """Half of what may be open is held already: who can do without a pin should."""
        return len(self._pins) >= self._limit // 2

    def unpin(self, path: str) -> None:
        left = self._pins[path] - 1
        if left:
            self._pins[path] = left
            return
        del self._pins[path]
        for file in self._closing.pop(path, ()):
            file.close()

    def forget(self, path: str) -> None:
        """The file is renamed, deleted or closed for good."""
        file = self._open.pop(path, None)
        if file is None:
            return
        if path in self._pins:
            self._closing.setdefault(path, []).append(file)
        else:
            file.close()

    def close(self) -> None:
        for path in list(self._open):
            self.forget(path)

    def _evict(self) -> bool:
        for path in self._open:
            if path not in self._pins:
                self._open.pop(path).close()
                return True
        return False
