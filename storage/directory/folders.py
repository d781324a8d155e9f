"""The partition folders of a data directory: made by the first write, set aside when their topic is deleted, removed later.

A partition that nobody wrote to has none: the topic registry tells of it. Whatever may concern thousands of folders goes in pieces.
"""

from __future__ import annotations

import logging
import re
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from oncelog.protocol.names import TopicPartition
from oncelog.protocol.primitives import uuid_to_kafka
from oncelog.protocol.topics import Topic
from oncelog.storage.directory.adoption import PARTITION_FOLDER
from oncelog.storage.directory.topic import TOPIC_FILE
from oncelog.storage.env import Env, FileSystem
from oncelog.storage.files.checkpoints import PARTITION_METADATA, read_topic_id, topic_id_text
from oncelog.storage.log.flush import FlushJob, Offload
from oncelog.storage.log.segment_file import file_name

if TYPE_CHECKING:
    from concurrent.futures import Future

PIECE_MS = 4.0  # of one turn of the loop
_SET_ASIDE = re.compile(r".+-\d+\.[0-9a-f]{32}-(delete|stray|future)")
_MAX_FOLDER_NAME = 255
_METADATA_LOG = "__cluster_metadata-0"

_log = logging.getLogger(__name__)


class NewFolder(NamedTuple):
    """A folder to be made. `topic_file`: what its `oncelog.topic` says."""

    path: Path
    topic_id: uuid.UUID
    topic_file: bytes


def make_folder(fs: FileSystem, wanted: NewFolder) -> None:
    """On any thread; what is there already stays as it is. Raises OSError."""
    folder = wanted.path
    fs.mkdir(folder)
    for name, content in ((PARTITION_METADATA, topic_id_text(wanted.topic_id)), (TOPIC_FILE, wanted.topic_file)):
        file = fs.open(folder / name, create=True)
        try:
            file.pwrite([content], 0)
        finally:
            file.close()
    fs.open(folder / file_name(0, ".log"), create=True).close()


class FolderMaker:
    """Makes many folders by the flusher, whose target it is; `done` when they are made, or as many as could be."""

    def __init__(self, fs: FileSystem, wanted: Sequence[NewFolder], done: Callable[[OSError | None], None]) -> None:
        self._fs = fs
        self._wanted = wanted
        self._done = done

    def begin_flush(self) -> FlushJob | None:
        return FlushJob(self._fs, 0, (), (), actions=(self._make,))

    def end_flush(self, job: FlushJob, error: OSError | None) -> None:
        self._done(error or job.problem)

    def _make(self) -> None:
        for wanted in self._wanted:
            make_folder(self._fs, wanted)


class _Leaving(NamedTuple):
    """What is left to rename of a deleted topic; `done` once nothing is."""

    topic: str
    folders: deque[str]
    due_ms: int
    done: Callable[[], None]


class PartitionFolders:
    """`offload` runs slow file work on a worker thread; None: here and now (tests, simulation)."""

    def __init__(self, env: Env, data_dir: Path, offload: Offload | None) -> None:
        self._env = env
        self._fs = env.fs
        self._data_dir = data_dir
        self._offload = offload
        self._present: set[str] = set()
        self._leaving: deque[_Leaving] = deque()
        self._doomed: list[tuple[int, Path]] = []
        self._removing: Future[None] | None = None

    def __contains__(self, topic_partition: TopicPartition) -> bool:
        return str(topic_partition) in self._present

    def of(self, topic: Topic) -> Iterator[Path]:
        """Those that a topic has."""
        names = (f"{topic.name}-{partition}" for partition in range(topic.partitions))
        return (self._data_dir / name for name in names if name in self._present)

    def has_any(self, topic: str) -> bool:
        """Was the topic written to?"""
        return any(name.rpartition("-")[0] == topic for name in self._present)

    def path(self, topic_partition: TopicPartition) -> Path:
        return self._data_dir / str(topic_partition)

    # -- start

    def look(self) -> None:
        """Take stock of the data directory. Raises OSError."""
        self._present = {name for name in self._fs.list(self._data_dir) if self._fs.is_dir(self._data_dir / name)}

    def report_unknown(self, known: Iterable[TopicPartition]) -> None:
        """Folders that belong to no topic: told, and left alone but for those that a deletion left behind."""
        for name in sorted(self._present.difference(map(str, known)) - {_METADATA_LOG}):
            match = _SET_ASIDE.fullmatch(name)
            if match and match[1] == "delete":
                self._doomed.append((self._env.clock.time_ms(), self._data_dir / name))
            elif match:
                _log.warning("folder set aside, not touched name=%s", name)
            elif PARTITION_FOLDER.fullmatch(name):
                _log.warning("partition folder of an unknown topic, kept and not served name=%s", name)
            else:
                _log.warning("foreign folder skipped name=%s", name)

    # -- making

    def make(self, wanted: NewFolder) -> None:
        """The folder with its partition.metadata, its oncelog.topic and an empty log. Raises OSError.

        Not synced: the first flush of its log does that, and the content can be told from the registry.
        """
        make_folder(self._fs, wanted)
        self._present.add(wanted.path.name)

    def made(self, topic_partition: TopicPartition, *, wanted: bool) -> None:
        """Another thread made the folder; not `wanted`: its topic was deleted meanwhile."""
        self._present.add(str(topic_partition))
        if not wanted:
            self._set_aside(str(topic_partition), self._env.clock.time_ms())

    def replace_lost(self, topic_partition: TopicPartition, topic_id: uuid.UUID) -> None:
        """An empty folder: what was in it recovery has to know. Raises OSError."""
        self._fs.mkdir(self.path(topic_partition))
        self._fs.write_atomic(self.path(topic_partition) / PARTITION_METADATA, topic_id_text(topic_id))
        self._present.add(str(topic_partition))

    def check_topic_id(self, topic_partition: TopicPartition, topic_id: uuid.UUID) -> None:
        """partition.metadata of a folder that was found: written when it is missing. Raises OSError."""
        path = self.path(topic_partition) / PARTITION_METADATA
        found = read_topic_id(self._fs, path)
        if found == topic_id:
            return
        if found is None and not self._fs.exists(path):
            _log.warning("missing, written again file=%s", path)
        if found is not None:
            _log.warning("partition.metadata names another topic id, kept by name folder=%s found=%s", path.parent, uuid_to_kafka(found))
        self._fs.write_atomic(path, topic_id_text(topic_id))

    def clear_the_way(self, topic: str, partitions: Iterable[int]) -> None:
        """Folders that a deletion could not rename, or of an unknown topic: a new topic must not serve what they hold. Raises OSError."""
        for partition in partitions:
            name = f"{topic}-{partition}"
            if name in self._present:
                target = self._aside_path(name, "stray")
                _log.warning("folder in the way of a new topic set aside name=%s to=%s", name, target.name)
                self._fs.rename(self._data_dir / name, target)
                self._present.discard(name)

    # -- deletion

    def is_leaving(self, topic: str) -> bool:
        """Folders still bear the name of a deleted topic."""
        return any(one.topic == topic for one in self._leaving)

    def leave(self, topic: str, partitions: int, delay_ms: int, done: Callable[[], None]) -> None:
        """Rename the folders of a deleted topic, now or in pieces to come, and remove them after `delay_ms`."""
        folders = deque(name for name in (f"{topic}-{partition}" for partition in range(partitions)) if name in self._present)
        self._leaving.append(_Leaving(topic, folders, self._env.clock.time_ms() + delay_ms, done))
        self.rename_some()

    @property
    def busy(self) -> bool:
        """Call `rename_some` again soon."""
        return bool(self._leaving)

    def rename_some(self) -> None:
        """One piece of the renaming."""
        stop = self._env.clock.monotonic_ms() + PIECE_MS
        while self._leaving:
            topic = self._leaving[0]
            while topic.folders:
                self._set_aside(topic.folders.popleft(), topic.due_ms)
                if self._env.clock.monotonic_ms() > stop:
                    return
            self._leaving.popleft()
            topic.done()

    def rename_all(self) -> None:
        """What `rename_some` would do in the end."""
        while self._leaving:
            self.rename_some()

    def _set_aside(self, name: str, due_ms: int) -> None:
        target = self._aside_path(name, "delete")
        try:
            self._fs.rename(self._data_dir / name, target)
        except OSError as error:
            _log.error("folder of a deleted topic not renamed name=%s error=%s", name, error)
            return
        self._present.discard(name)
        self._doomed.append((due_ms, target))

    def _aside_path(self, name: str, why: str) -> Path:
        suffix = f".{self._env.random.uuid().hex}-{why}"
        topic, _, partition = name.rpartition("-")
        return self._data_dir / f"{topic[: _MAX_FOLDER_NAME - len(suffix) - len(partition) - 1]}-{partition}{suffix}"

    def remove_due(self, now_ms: int) -> None:
        """Remove the folders whose time has come; many or large ones take a while."""
        if not self._doomed or (self._removing is not None and not self._removing.done()):
            return
        due = [folder for due_ms, folder in self._doomed if due_ms <= now_ms]
        if not due:
            return
        self._doomed = [item for item in self._doomed if item[0] > now_ms]
        if self._offload is None:
            self._remove(due)
        else:
            self._removing = self._offload(lambda: self._remove(due))

    def _remove(self, folders: Sequence[Path]) -> None:
        for folder in folders:
            try:
                self._fs.remove_tree(folder)
            except OSError as error:
                _log.warning("folder of a deleted topic not removed name=%s error=%s", folder.name, error)
