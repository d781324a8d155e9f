"""Keeps `oncelog.topic` in the partition folders and `oncelog.spare` as the registry has it: looks at all once after a start, then writes
what changes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from oncelog.protocol.topics import Topic
from oncelog.storage.directory.spare import SpareRegistry
from oncelog.storage.directory.topic import TOPIC_FILE, parse_topic_file, topic_file
from oncelog.storage.env import FileSystem
from oncelog.storage.files.damaged_file import DamagedFile

if TYPE_CHECKING:
    from concurrent.futures import Future

    from oncelog.storage.log.flush import Offload

_PIECE = 64  # folders

_log = logging.getLogger(__name__)


class TopicFiles:
    """`run` does one piece, on a worker thread where there is one. `folders_of` names the folders of a topic that are there."""

    def __init__(
        self, fs: FileSystem, folders_of: Callable[[Topic], Iterator[Path]], spare: SpareRegistry, offload: Offload | None
    ) -> None:
        self._fs = fs
        self._spare = spare
        self._folders_of = folders_of
        self._offload = offload
        self._queue: Iterator[tuple[Path, Topic]] = iter(())
        self._writing: Future[None] | None = None
        self._generation = 0

    def put(self, topics: list[Topic], generation: int) -> None:
        """These are as the registry has them at `generation`: their folders will tell so."""
        self._generation = generation
        self._queue = chain(self._queue, ((folder, topic) for topic in topics for folder in self._folders_of(topic)))

    def run(self) -> None:
        """Raises OSError as a worker's writing did."""
        if self._writing is not None:
            if not self._writing.done():
                return
            writing, self._writing = self._writing, None
            writing.result()
        piece = list(islice(self._queue, _PIECE))
        work = partial(_write, self._fs, piece, self._generation) if piece else self._spare.due()
        if work is None:
            return
        if self._offload is None:
            work()
        else:
            self._writing = self._offload(work)

    def settle(self) -> None:
        """The last word of an orderly stop; no worker is at it any more. Raises OSError."""
        work = self._spare.due()
        if work is not None:
            work()


def _write(fs: FileSystem, piece: list[tuple[Path, Topic]], generation: int) -> None:
    for folder, topic in piece:
        path = folder / TOPIC_FILE
        try:
            if parse_topic_file(fs.read(path))[1] == topic:
                continue
        except DamagedFile as error:
            _log.warning("damaged, written again file=%s error=%s", path, error)
        except FileNotFoundError:
            if not fs.exists(folder):
                continue  # the topic was deleted
        fs.write_atomic(path, topic_file(topic, generation))
