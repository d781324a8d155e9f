"""Which topics there are: `oncelog.topics`, one plain JSON file in the data directory that Kafka ignores, replaced atomically.

It is the truth: a partition exists once its topic is in it and is gone once it is out of it, whatever folders say. A directory without
it was written by Apache Kafka, or lost it: then topics are taken over from Kafka's metadata log and from the folders themselves.
"""

from __future__ import annotations

import json
import logging
import re
import uuid
from dataclasses import dataclass, field, replace
from pathlib import Path

from oncelog.protocol.primitives import uuid_from_kafka, uuid_to_kafka
from oncelog.storage import kafka_import
from oncelog.storage.checkpoints import PARTITION_METADATA, read_topic_id
from oncelog.storage.env import FileSystem

FILE_NAME = "oncelog.topics"
PARTITION_FOLDER = re.compile(r"(?P<topic>[a-zA-Z0-9._-]{1,249})-(?P<partition>\d{1,10})")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Topic:
    """`configs` holds overrides only, as text."""

    name: str
    topic_id: uuid.UUID
    partitions: int
    configs: dict[str, str] = field(default_factory=dict)


class TopicRegistry:
    """Topics by name and id. Every change is on disk when it returns; raises OSError, then nothing has changed."""

    def __init__(self, fs: FileSystem, data_dir: Path) -> None:
        self._fs = fs
        self._data_dir = data_dir
        self._path = data_dir / FILE_NAME
        self._by_name: dict[str, Topic] = {}
        self._by_id: dict[uuid.UUID, Topic] = {}
        self.generation = 0  # rises with every change, for caches of what was told about topics

    def get(self, name: str) -> Topic | None:
        return self._by_name.get(name)

    def by_id(self, topic_id: uuid.UUID) -> Topic | None:
        return self._by_id.get(topic_id)

    def all(self) -> list[Topic]:
        """By name."""
        return [self._by_name[name] for name in sorted(self._by_name)]

    def __len__(self) -> int:
        return len(self._by_name)

    def put(self, topic: Topic) -> None:
        """Add or replace."""
        self._save({**self._by_name, topic.name: topic})

    def remove(self, name: str) -> None:
        self._save({other: topic for other, topic in self._by_name.items() if other != name})

    def load(self) -> None:
        """Read the registry, or take over what Kafka or a lost registry left behind. Raises OSError."""
        try:
            self._set(_decode(self._fs.read(self._path)))
            return
        except FileNotFoundError:
            pass
        except (ValueError, KeyError, TypeError) as error:
            _log.error("topic registry damaged, topics are taken from their folders file=%s error=%s", self._path, error)
            self._fs.rename(self._path, self._path.with_name(f"{FILE_NAME}.damaged"))
        found = {topic.name: topic for topic in self._adopted()}
        if found:
            _log.info("topics taken over count=%d data_dir=%s", len(found), self._data_dir)
        self._save(found)

    def _adopted(self) -> list[Topic]:
        """Topics of Kafka's metadata log, then those that only have folders."""
        topics: dict[str, Topic] = {}
        try:
            for known in kafka_import.topics_from_kafka(self._data_dir, self._fs):
                topics[known.name] = Topic(known.name, known.topic_id, known.partitions, dict(known.configs))
        except kafka_import.MalformedMetadata as error:
            _log.error("metadata log of Kafka not readable error=%s", error)
        folders: dict[str, list[tuple[int, uuid.UUID | None]]] = {}
        for name in self._fs.list(self._data_dir):
            match = PARTITION_FOLDER.fullmatch(name)
            if match and match["topic"] != "__cluster_metadata" and self._holds_a_log(name):
                topic_id = read_topic_id(self._fs, self._data_dir / name / PARTITION_METADATA)
                folders.setdefault(match["topic"], []).append((int(match["partition"]), topic_id))
        for name, parts in folders.items():
            if name not in topics:
                ids = [topic_id for _, topic_id in parts if topic_id is not None]
                topics[name] = Topic(name, ids[0] if ids else _id_from_name(name), max(part for part, _ in parts) + 1)
        return list(topics.values())

    def _holds_a_log(self, folder: str) -> bool:
        path = self._data_dir / folder
        return self._fs.is_dir(path) and any(name.endswith(".log") or name == PARTITION_METADATA for name in self._fs.list(path))

    def _save(self, topics: dict[str, Topic]) -> None:
        self._fs.write_atomic(self._path, _encode(topics))
        self._set(topics)

    def _set(self, topics: dict[str, Topic]) -> None:
        self._by_name = topics
        self._by_id = {topic.topic_id: topic for topic in topics.values()}
        self.generation += 1


def with_configs(topic: Topic, configs: dict[str, str]) -> Topic:
    return replace(topic, configs=dict(configs))


def _id_from_name(name: str) -> uuid.UUID:
    """A folder without a usable partition.metadata keeps its data: any stable id will do."""
    return uuid.uuid5(uuid.NAMESPACE_URL, f"kafka-topic:{name}")


def _encode(topics: dict[str, Topic]) -> bytes:
    rows = [
        {"name": topic.name, "id": uuid_to_kafka(topic.topic_id), "partitions": topic.partitions, "configs": topic.configs}
        for topic in topics.values()
    ]
    return json.dumps({"version": 1, "topics": rows}, separators=(",", ":")).encode()


def _decode(data: bytes) -> dict[str, Topic]:
    content = json.loads(data)
    if content["version"] != 1:
        raise ValueError(f"version {content['version']}")
    return {
        row["name"]: Topic(str(row["name"]), uuid_from_kafka(row["id"]), int(row["partitions"]), dict(row["configs"]))
        for row in content["topics"]
    }
