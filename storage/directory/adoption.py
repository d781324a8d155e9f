"""Topics of a directory without a registry: Apache Kafka wrote it, or the registry is lost."""

from __future__ import annotations

import logging
import re
import uuid
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from oncelog.protocol.topics import Topic
from oncelog.storage.directory.topic import TOPIC_FILE, read_topic_file, with_fixed_configs
from oncelog.storage.env import FileSystem
from oncelog.storage.files.checkpoints import PARTITION_METADATA, read_topic_id
from oncelog.storage.moving import kafka_topics

PARTITION_FOLDER = re.compile(r"(?P<topic>[a-zA-Z0-9._-]{1,249})-(?P<partition>\d{1,10})")

_log = logging.getLogger(__name__)


class _Part(NamedTuple):
    """One partition folder. `told`: (registry generation, topic) of its `oncelog.topic`."""

    partition: int
    topic_id: uuid.UUID | None
    told: tuple[int, Topic] | None


class Adopted(NamedTuple):
    """Topics by name; `generation` is the newest of the registry that was met."""

    topics: dict[str, Topic]
    generation: int


def adopt(data_dir: Path, fs: FileSystem) -> Adopted:
    """Topics that only have folders, by what those tell, then those of Kafka's metadata log. Raises OSError.

    A topic whose configs nothing tells comes back with `configs_known` False.
    """
    topics: dict[str, Topic] = {}
    try:
        for known in kafka_topics.topics_from_kafka(data_dir, fs):
            topics[known.name] = Topic(known.name, known.topic_id, known.partitions, dict(known.configs))
    except kafka_topics.MalformedMetadata as error:
        _log.error("metadata log of Kafka not readable error=%s", error)
    generation = 0
    for name, parts in _folders(data_dir, fs).items():
        generation = max([generation, *(part.told[0] for part in parts if part.told)])
        if name not in topics:
            topics[name] = _from_folders(name, parts)
    return Adopted({name: with_fixed_configs(topic) for name, topic in topics.items()}, generation)


def has_topic_files(data_dir: Path, fs: FileSystem) -> bool:
    """Did a registry stand here once?"""
    return any(PARTITION_FOLDER.fullmatch(name) and fs.exists(data_dir / name / TOPIC_FILE) for name in fs.list(data_dir))


def _folders(data_dir: Path, fs: FileSystem) -> dict[str, list[_Part]]:
    found: dict[str, list[_Part]] = {}
    for name in fs.list(data_dir):
        match = PARTITION_FOLDER.fullmatch(name)
        folder = data_dir / name
        if match and match["topic"] != "__cluster_metadata" and _holds_a_log(fs, folder):
            part = _Part(int(match["partition"]), read_topic_id(fs, folder / PARTITION_METADATA), read_topic_file(fs, folder))
            found.setdefault(match["topic"], []).append(part)
    return found


def _holds_a_log(fs: FileSystem, folder: Path) -> bool:
    return fs.is_dir(folder) and any(name.endswith(".log") or name == PARTITION_METADATA for name in fs.list(folder))


def _from_folders(name: str, parts: list[_Part]) -> Topic:
    count = max(part.partition for part in parts) + 1
    ids = [part.topic_id for part in parts if part.topic_id is not None]
    told = [
        part.told
        for part in parts
        if part.told is not None and part.told[1].name == name and part.topic_id in (None, part.told[1].topic_id)
    ]
    if told:
        _, topic = max(told, key=lambda each: each[0])
        return replace(topic, partitions=max(topic.partitions, count))
    return Topic(name, ids[0] if ids else _id_from_name(name), count, configs_known=False)


def _id_from_name(name: str) -> uuid.UUID:
    """A folder without a usable partition.metadata keeps its data: any stable id will do."""
    return uuid.uuid5(uuid.NAMESPACE_URL, f"kafka-topic:{name}")
