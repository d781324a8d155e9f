"""`oncelog.spare`: the topic registry once more, a few seconds old, for the day both copies of it are gone.

A topic that was written to is told of by its folders; one that nobody wrote to stands here only. Nobody waits for this file: it is written
behind the registry's changes, and by an orderly stop. So after a kill it may lack the newest changes, or name a topic that was deleted.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path

from oncelog.storage.env import FileSystem
from oncelog.storage.files.damaged_file import DamagedFile
from oncelog.storage.files.twin_file import Framed, frame, parse_frame

SPARE_FILE = "oncelog.spare"

_log = logging.getLogger(__name__)


class SpareRegistry:
    """`latest`: (generation, content) of the registry, None while it is being changed."""

    def __init__(self, fs: FileSystem, path: Path, latest: Callable[[], tuple[int, bytes] | None]) -> None:
        self.path = path
        self._fs = fs
        self._latest = latest
        self._generation = -1  # as it is on disk

    def read(self) -> Framed | None:
        """What it says; None when absent or damaged, which is logged. Raises OSError."""
        try:
            framed = parse_frame(SPARE_FILE, self._fs.read(self.path))
        except FileNotFoundError:
            return None
        except DamagedFile as error:
            _log.warning("damaged, written again file=%s error=%s", self.path, error)
            return None
        self._generation = framed.generation
        return framed

    def due(self) -> Callable[[], None] | None:
        """What is to be written, on any thread; None when nothing is. The call raises OSError."""
        latest = self._latest()
        return None if latest is None or latest[0] == self._generation else partial(self._write, *latest)

    def _write(self, generation: int, content: bytes) -> None:
        self._fs.write_atomic(self.path, frame(SPARE_FILE, generation, content))
        self._generation = generation
