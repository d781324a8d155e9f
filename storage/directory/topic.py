"""One topic on disk: as its row stands in the registry, and as `oncelog.topic` tells it in each of its partition folders.

That file is one framed row (`twin_file.py`) with the generation of the registry it was written at; Kafka ignores it. It is for the day both
copies of the registry are gone, so nobody waits for it: a folder gets it when it is made, changes follow in the background.
"""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

from oncelog.protocol.names import CONSUMER_OFFSETS, TRANSACTION_STATE
from oncelog.protocol.primitives import uuid_from_kafka, uuid_to_kafka
from oncelog.protocol.topics import Topic
from oncelog.storage.env import FileSystem
from oncelog.storage.files.damaged_file import DamagedFile
from oncelog.storage.files.twin_file import frame, parse_frame

TOPIC_FILE = "oncelog.topic"
# without these, retention would delete groups and transactions; the coordinators bring the rest
FIXED_CONFIGS = {CONSUMER_OFFSETS: {"cleanup.policy": "compact"}, TRANSACTION_STATE: {"cleanup.policy": "compact"}}

_log = logging.getLogger(__name__)


def with_configs(topic: Topic, configs: dict[str, str]) -> Topic:
    """The topic with these overrides, which are known from now on."""
    return replace(topic, configs=dict(configs), configs_known=True)


def with_fixed_configs(topic: Topic) -> Topic:
    """An internal topic with what it can not do without; others as they are."""
    fixed = FIXED_CONFIGS.get(topic.name)
    return topic if fixed is None else replace(topic, configs={**fixed, **topic.configs}, configs_known=True)


def encode_topic(topic: Topic) -> bytes:
    row = {"name": topic.name, "id": uuid_to_kafka(topic.topic_id), "partitions": topic.partitions, "configs": topic.configs}
    if not topic.configs_known:
        row["configs_known"] = False
    return json.dumps(row, separators=(",", ":")).encode()


def decode_topic(row: Any) -> Topic:
    """A topic by its row, parsed JSON. Raises KeyError, TypeError, ValueError."""
    if not isinstance(row, dict):
        raise TypeError(f"no row of a topic: {row!r}")
    known = row.get("configs_known", True) is True
    return Topic(str(row["name"]), uuid_from_kafka(row["id"]), int(row["partitions"]), dict(row["configs"]), known)


def topic_file(topic: Topic, generation: int) -> bytes:
    """What stands in `oncelog.topic`."""
    return frame(TOPIC_FILE, generation, encode_topic(topic))


def parse_topic_file(data: bytes) -> tuple[int, Topic]:
    """(generation, topic). Raises DamagedFile."""
    framed = parse_frame(TOPIC_FILE, data)
    try:
        return framed.generation, decode_topic(json.loads(framed.payload))
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedFile(f"no topic: {error!r}") from error


def read_topic_file(fs: FileSystem, folder: Path) -> tuple[int, Topic] | None:
    """(generation, topic) by the file in a partition folder; None when absent or damaged, which is logged."""
    try:
        return parse_topic_file(fs.read(folder / TOPIC_FILE))
    except FileNotFoundError:
        return None
    except (OSError, DamagedFile) as error:
        _log.warning("damaged, taken for absent file=%s error=%s", folder / TOPIC_FILE, error)
        return None
