"""Which topics there are: `oncelog.topics` and its copy (`twin_file.py`), JSON in the data directory, replaced as a whole.

It is the truth: a partition exists once its topic is in it and is gone once it is out of it, whatever folders say; a partition nobody wrote
to has no folder. A directory without it was written by Apache Kafka, or lost it: then topics are taken over from Kafka's metadata log, from
the folders themselves and from `oncelog.spare`.
"""

from __future__ import annotations

import json
import logging
import threading
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from oncelog.protocol.names import TopicPartition
from oncelog.protocol.topics import Topic
from oncelog.storage.directory.adoption import adopt
from oncelog.storage.directory.spare import SPARE_FILE, SpareRegistry
from oncelog.storage.directory.topic import decode_topic, encode_topic, with_fixed_configs
from oncelog.storage.env import FileSystem
from oncelog.storage.files.damaged_file import DamagedFile
from oncelog.storage.files.twin_file import Framed, TwinFile, stood
from oncelog.storage.log.flush import Flusher, FlushJob, flush_now

FILE_NAME = "oncelog.topics"

_log = logging.getLogger(__name__)


Done = Callable[[OSError | None], None]


class _Change(NamedTuple):
    """`topic` None: the name goes."""

    version: int
    name: str
    topic: Topic | None
    done: Done


class TopicRegistry:
    """Topics by name and id, as they are on disk. What is to become of them shows once it is there, all or nothing.

    Changes that wait together are written together (group commit by the flusher, whose target this is); `wanted` tells what they add up to.
    """

    def __init__(self, fs: FileSystem, data_dir: Path, flusher: Flusher) -> None:
        self._fs = fs
        self._data_dir = data_dir
        self._file = TwinFile(fs, data_dir / FILE_NAME)
        self.spare = SpareRegistry(fs, data_dir / SPARE_FILE, self._latest)
        self._flusher = flusher
        self._by_name: dict[str, Topic] = {}
        self._by_id: dict[uuid.UUID, Topic] = {}
        self._wanted: dict[str, Topic] = {}
        self._rows: dict[str, bytes] = {}  # of `_wanted`, as they stand in the file
        self._leader_epochs: dict[str, dict[int, int]] = {}
        self._alike: dict[str, str] = {}  # names of `_wanted` with `_` for `.`
        self._pending: list[_Change] = []
        self._version = 0
        self._file_lock = threading.Lock()
        self._file_version = 0
        self.generation = 0

    def get(self, name: str) -> Topic | None:
        return self._by_name.get(name)

    def by_id(self, topic_id: uuid.UUID) -> Topic | None:
        return self._by_id.get(topic_id)

    def all(self) -> list[Topic]:
        """By name."""
        return [self._by_name[name] for name in sorted(self._by_name)]

    def has_partition(self, topic_partition: TopicPartition) -> bool:
        topic = self._by_name.get(topic_partition.topic)
        return topic is not None and 0 <= topic_partition.partition < topic.partitions

    def leader_epochs(self, name: str) -> Mapping[int, int]:
        return self._leader_epochs.get(name, {})

    def __len__(self) -> int:
        return len(self._by_name)

    def wanted(self, name: str) -> Topic | None:
        """The topic as it will be when everything under way is on disk."""
        return self._wanted.get(name)

    def alike(self, name: str) -> str | None:
        """A topic, perhaps still under way, whose name differs from `name` in `.` and `_` only; both could not have metrics."""
        return self._alike.get(_plain(name))

    # -- changes

    def has_leader_epoch(self, topic_partition: TopicPartition, leader_epoch: int) -> None:
        """What a partition's log says of its leader."""
        if leader_epoch > 0:
            self._leader_epochs.setdefault(topic_partition.topic, {})[topic_partition.partition] = leader_epoch

    def put(self, topic: Topic) -> None:
        """Add or replace; on disk when it returns. Raises OSError, then nothing has changed."""
        self._change_now(topic.name, topic)

    def remove(self, name: str) -> None:
        """As `put`."""
        self._change_now(name, None)

    def begin_put(self, topic: Topic, done: Done) -> None:
        """Add or replace; `done` is called when that is on disk and shows, or with the error, when nothing has changed."""
        self._stage(topic.name, topic, done)
        self._flusher.request(self)

    def begin_remove(self, name: str, done: Done) -> None:
        """As `begin_put`."""
        self._stage(name, None, done)
        self._flusher.request(self)

    def _change_now(self, name: str, topic: Topic | None) -> None:
        failed: list[OSError] = []
        self._stage(name, topic, lambda error: failed.append(error) if error is not None else None)
        flush_now(self)
        if failed:
            raise failed[0]

    def _stage(self, name: str, topic: Topic | None, done: Done) -> None:
        self._version += 1
        self._pending.append(_Change(self._version, name, topic, done))
        self._want(name, topic)

    def _want(self, name: str, topic: Topic | None) -> None:
        if topic is None:
            self._wanted.pop(name, None)
            self._rows.pop(name, None)
            self._alike.pop(_plain(name), None)
        else:
            self._wanted[name] = topic
            self._rows[name] = encode_topic(topic)
            self._alike[_plain(name)] = name

    def begin_flush(self) -> FlushJob | None:
        """The file as the changes so far want it."""
        if not self._pending:
            return None
        return FlushJob(self._fs, self._version, (), (), actions=(partial(self._write, self._version, self._content()),))

    def _latest(self) -> tuple[int, bytes] | None:
        return None if self._pending else (self._file.generation, self._content())

    def _content(self) -> bytes:
        return b'{"version":1,"topics":[' + b",".join(self._rows.values()) + b"]}"

    def _write(self, version: int, content: bytes) -> None:
        """On any thread: a change that would not wait may have overtaken the one that a flusher is at. Raises OSError."""
        with self._file_lock:
            if version > self._file_version:
                self._file.write(content)
                self._file_version = version

    def end_flush(self, job: FlushJob, error: OSError | None) -> None:
        """Show what is on disk now, and forget what could not be written."""
        error = error or job.problem
        with self._file_lock:
            written = job.end_offset if error is None else self._file_version
            self._file_version = max(self._file_version, job.end_offset)  # what is given up must not be written any more
        settled = [change for change in self._pending if change.version <= job.end_offset]
        self._pending = self._pending[len(settled) :]
        self._show([change for change in settled if change.version <= written])
        if error is not None:
            self._set(dict(self._by_name))
            for change in self._pending:
                self._want(change.name, change.topic)
        for change in settled:
            change.done(error if change.version > written else None)

    def _show(self, changes: Iterable[_Change]) -> None:
        for change in changes:
            before = self._by_name.pop(change.name, None)
            if before is not None:
                del self._by_id[before.topic_id]
            if change.topic is None:
                self._leader_epochs.pop(change.name, None)
            else:
                self._by_name[change.name] = self._by_id[change.topic.topic_id] = change.topic
        self.generation += 1

    # -- start

    def stood(self) -> bool:
        """Is there a trace of a registry in two copies, be it damaged? Then the metadata store was there too."""
        return stood(self._fs, self._file.path) or self._fs.exists(self.spare.path)

    @property
    def file_generation(self) -> int:
        """Rises with every write of the file."""
        return self._file.generation

    def load(self, *, expected: bool = False) -> None:
        """Read the registry, or take over what Kafka or a lost registry left behind. `expected`: there was one. Raises OSError."""
        lost, kept = "missing, and so is its copy" if expected else "", ""
        spare = self.spare.read()
        try:
            content = self._file.read()
            if content is not None:
                self._set(_decode(content))
                return
        except DamagedFile as error:
            lost, kept = str(error), ",".join(self._file.set_aside())
        topics, generation = adopt(self._data_dir, self._fs)
        if lost:
            generation = max(generation, self._take_from_spare(topics, spare))
            source = "and oncelog.spare" if spare is not None else "alone: those that nobody wrote to are lost"
            _log.error(
                "topic registry lost, topics are taken from their folders %s count=%d error=%s kept=%s", source, len(topics), lost, kept
            )
        elif topics:
            _log.info("topics taken over count=%d data_dir=%s", len(topics), self._data_dir)
        if unknown := sorted(name for name, topic in topics.items() if not topic.configs_known):
            _log.error(
                "configs of topics unknown, nothing of them is deleted or compacted before any is altered topics=%s", ",".join(unknown)
            )
        self._set(topics)
        self._file.generation = max(self._file.generation, generation)
        self._file.write(self._content())

    def _take_from_spare(self, topics: dict[str, Topic], spare: Framed | None) -> int:
        """Topics without folders, and configs that no folder tells; the generation they are of."""
        if spare is None:
            return 0
        for name, topic in _decode(spare.payload).items():
            known = topics.get(name)
            if known is None:
                topics[name] = topic
            elif not known.configs_known and known.topic_id == topic.topic_id:
                topics[name] = replace(topic, partitions=max(topic.partitions, known.partitions))
        return spare.generation

    def _set(self, topics: dict[str, Topic]) -> None:
        self._by_name = topics
        self._by_id = {topic.topic_id: topic for topic in topics.values()}
        self._wanted, self._rows, self._alike = {}, {}, {}
        for topic in topics.values():
            self._want(topic.name, topic)
        self.generation += 1


def _plain(name: str) -> str:
    return name.replace(".", "_")


def _decode(data: bytes) -> dict[str, Topic]:
    """Raises DamagedFile."""
    try:
        content = json.loads(data)
        if content["version"] != 1:
            raise DamagedFile(f"{FILE_NAME}: version {content['version']}")
        return {topic.name: with_fixed_configs(topic) for topic in map(decode_topic, content["topics"])}
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedFile(f"{FILE_NAME}: {error!r}") from error
