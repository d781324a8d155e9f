"""The text files of the data directory: offset checkpoints, leader epochs, partition.metadata, meta.properties, the clean marker.

A damaged one counts as absent, with one warning: none of them holds anything that the logs cannot tell again
(Kafka takes the whole directory offline). Format of a checkpoint: `0`, the number of lines, the lines.
"""

from __future__ import annotations

import json
import logging
import re
import uuid
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from oncelog.protocol.names import TopicPartition
from oncelog.protocol.primitives import crc32c, uuid_from_kafka, uuid_to_kafka
from oncelog.storage.env import FileSystem

RECOVERY_POINTS = "recovery-point-offset-checkpoint"
LOG_STARTS = "log-start-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
CLEANER_OFFSETS = "cleaner-offset-checkpoint"
LEADER_EPOCHS = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"
META_PROPERTIES = "meta.properties"
CLEAN_MARKER = ".kafka_cleanshutdown"

_log = logging.getLogger(__name__)
CRC_ROW = "oncelog::crc32c"
MAX_INT32 = 2**31 - 1
MAX_INT64 = 2**63 - 1
_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_METADATA = re.compile(r"version: 0\ntopic_id: ([A-Za-z0-9_-]{22})\s*")


def _read(fs: FileSystem, path: Path) -> str | None:
    try:
        return fs.read(path).decode()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        _log.warning("unreadable, taken for absent file=%s error=%s", path, error)
        return None


def _lines(fs: FileSystem, path: Path, fields: int) -> list[list[str]] | None:
    text = _read(fs, path)
    if text is None:
        return None
    if not text and path.name == CLEANER_OFFSETS:  # as Kafka leaves it before it cleans anything
        return []
    version, _, rest = text.partition("\n")
    count, _, body = rest.partition("\n")
    rows = [line.split() for line in body.splitlines()]
    problem = ""
    if version != "0" or count != str(len(rows)) or any(len(row) != fields for row in rows):
        problem = "version, count or number of words"
    elif not all(map(_is_number, (number for row in rows for number in row[-2:]))):
        problem = "a number that is none, negative or too large"
    if problem:
        _log.warning("damaged, taken for absent file=%s error=%s", path, problem)
        return None
    return rows


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[0-9]{1,19}", text) is not None and int(text) <= MAX_INT64


def _write(fs: FileSystem, path: Path, rows: list[str]) -> None:
    fs.write_atomic(path, "".join(f"{line}\n" for line in ("0", len(rows), *rows)).encode())


class OffsetCheckpoint(NamedTuple):
    """`vouched`: by a CRC of ours. Apache Kafka writes none, and neither did older versions: such numbers may be wrong."""

    offsets: dict[TopicPartition, int]
    vouched: bool


def read_checkpoint(fs: FileSystem, path: Path) -> OffsetCheckpoint | None:
    """`topic partition offset` lines; None when absent or damaged, which says less than a checkpoint without lines."""
    rows = _lines(fs, path, 3)
    if rows is None:
        return None
    crc = int(rows.pop()[2]) if rows and rows[-1][0] == CRC_ROW else None
    offsets = {TopicPartition(topic, int(partition)): int(offset) for topic, partition, offset in rows}
    if crc is not None and crc != _crc_of(" ".join(row) for row in rows):
        problem = "wrong CRC"
    elif len(offsets) < len(rows) or not all(_TOPIC.fullmatch(topic) and partition <= MAX_INT32 for topic, partition in offsets):
        problem = "a partition that is none, or stands there twice"
    else:
        return OffsetCheckpoint(offsets, crc is not None)
    _log.warning("damaged, taken for absent file=%s error=%s", path, problem)
    return None


def read_offsets(fs: FileSystem, path: Path) -> dict[TopicPartition, int] | None:
    """The offsets of `read_checkpoint`."""
    found = read_checkpoint(fs, path)
    return None if found is None else found.offsets


def write_offsets(fs: FileSystem, path: Path, offsets: Mapping[TopicPartition, int]) -> None:
    """The last line is a CRC-32C of the others under a name that no topic can have: Kafka, which asks by name, never sees it."""
    rows = [f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items()]
    _write(fs, path, [*rows, f"{CRC_ROW} 0 {_crc_of(rows)}"])


def _crc_of(rows: Iterable[str]) -> int:
    return crc32c("".join(f"{row}\n" for row in rows).encode())


def read_epochs(fs: FileSystem, path: Path) -> list[tuple[int, int]]:
    """(epoch, start offset) lines; [] when absent, damaged or not rising."""
    epochs = [(int(epoch), int(start)) for epoch, start in _lines(fs, path, 2) or ()]
    if all(a[0] < b[0] and a[1] <= b[1] for a, b in pairwise(epochs)) and all(epoch <= MAX_INT32 for epoch, _ in epochs):
        return epochs
    _log.warning("damaged, taken for absent file=%s error=epochs or offsets that do not rise, or are too large", path)
    return []


def write_epochs(fs: FileSystem, path: Path, epochs: Iterable[tuple[int, int]]) -> None:
    _write(fs, path, [f"{epoch} {start}" for epoch, start in epochs])


def read_topic_id(fs: FileSystem, path: Path) -> uuid.UUID | None:
    """The id in partition.metadata; None when absent or damaged."""
    text = _read(fs, path)
    if text is None:
        return None
    match = _METADATA.fullmatch(text)
    topic_id = uuid_from_kafka(match[1]) if match else None
    if topic_id is None or topic_id.int == 0:
        _log.warning("damaged, taken for absent file=%s", path)
        return None
    return topic_id


def topic_id_text(topic_id: uuid.UUID) -> bytes:
    return f"version: 0\ntopic_id: {uuid_to_kafka(topic_id)}".encode()


def read_meta_properties(fs: FileSystem, path: Path) -> dict[str, str]:
    """Keys of meta.properties; {} when absent or damaged. A key that stands there twice or a node id that is none is left out."""
    values: dict[str, str] = {}
    for line in (_read(fs, path) or "").splitlines():
        key, separator, value = (part.strip() for part in line.partition("="))
        if not separator or line.lstrip().startswith("#"):
            continue
        if values.setdefault(key, value) != value or (key in ("node.id", "broker.id") and not _is_int32(value)):
            _log.warning("damaged line ignored file=%s key=%s value=%.40s", path, key, value)
            values[key] = ""
    return {key: value for key, value in values.items() if value}


def _is_int32(text: str) -> bool:
    return re.fullmatch(r"[0-9]{1,10}", text) is not None and int(text) <= MAX_INT32


def write_meta_properties(fs: FileSystem, path: Path, values: Mapping[str, str]) -> None:
    fs.write_atomic(path, "".join(f"{key}={value}\n" for key, value in sorted(values.items())).encode())


def write_clean_marker(fs: FileSystem, path: Path) -> None:
    fs.write_atomic(path, json.dumps({"version": 0, "brokerEpoch": -1}, separators=(",", ":")).encode())
