"""Topics of an Apache Kafka data directory: ids, partition counts and configs, out of its KRaft metadata log.

A Kafka directory keeps no topic registry beside the logs; the truth is `__cluster_metadata-0`: the newest snapshot
(`<end offset>-<epoch>.checkpoint`) and the records of the log behind it. Every data record there is framed as
`frame version (uvarint 1) · api key (uvarint) · version (uvarint) · fields in flexible layout`. Only the fields that come
before a record's first version-dependent one are needed here, so any metadata.version can be read.
"""

from __future__ import annotations

import re
import struct
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

from oncelog.protocol.records import check_crc, iter_records, parse_header
from oncelog.storage.env import FileSystem, OsFileSystem

METADATA_LOG = "__cluster_metadata-0"
TOPIC_RESOURCE = 2
_SNAPSHOT = re.compile(r"(\d{20})-(\d{10})\.checkpoint")
_LOG = re.compile(r"(\d{20})\.log")


class RecordType(IntEnum):
    """Metadata records that say something about topics."""

    TOPIC = 2
    PARTITION = 3
    CONFIG = 4
    REMOVE_TOPIC = 9
    BEGIN_TRANSACTION = 23
    END_TRANSACTION = 24
    ABORT_TRANSACTION = 25


class KafkaTopic(NamedTuple):
    """A topic as the cluster metadata knows it."""

    name: str
    topic_id: uuid.UUID
    partitions: int
    configs: dict[str, str]


class MalformedMetadata(ValueError):
    """The metadata log holds bytes that are no metadata record."""


def topics_from_kafka(data_dir: Path, fs: FileSystem | None = None) -> list[KafkaTopic]:
    """Topics of the cluster that wrote `data_dir`, by name; [] when there is no metadata log.

    Raises MalformedMetadata, OSError.
    """
    files = fs or OsFileSystem()
    folder = data_dir / METADATA_LOG
    if not files.exists(folder):
        return []
    image = _Image()
    end = 0
    names = files.list(folder)
    snapshots = sorted(name for name in names if _SNAPSHOT.fullmatch(name))
    if snapshots:
        end = int(snapshots[-1][:20])
        for _, value in _data_records(files.read(folder / snapshots[-1])):
            image.apply(value)
    for name in sorted(name for name in names if _LOG.fullmatch(name)):
        for offset, value in _data_records(files.read(folder / name)):
            if offset >= end:
                image.apply(value)
    return image.topics()


def _data_records(data: bytes) -> Iterator[tuple[int, bytes]]:
    """(offset, value) of the records that are not control records, up to the first batch that is not whole or not intact."""
    view = memoryview(data)
    position = 0
    while position + 61 <= len(view):
        length = struct.unpack_from(">i", view, position + 8)[0]
        if length < 49 or position + 12 + length > len(view):
            return
        batch = view[position : position + 12 + length]
        if not check_crc(batch):
            return
        if not parse_header(batch).is_control:
            for record in iter_records(batch):
                if record.value is not None:
                    yield record.offset, bytes(record.value)
        position += 12 + length


@dataclass(slots=True)
class _TopicState:
    name: str
    partitions: set[int] = field(default_factory=set)


@dataclass(slots=True)
class _Image:
    """What the records add up to. Records of an open metadata transaction (KIP-868) wait for its end."""

    _topics: dict[uuid.UUID, _TopicState] = field(default_factory=dict)
    _configs: dict[str, dict[str, str]] = field(default_factory=dict)
    _pending: list[bytes] | None = None

    def apply(self, value: bytes) -> None:
        cursor = _Cursor(value)
        frame, kind, _version = cursor.uvarint(), cursor.uvarint(), cursor.uvarint()
        if frame != 1:
            raise MalformedMetadata(f"frame version {frame}")
        if kind == RecordType.BEGIN_TRANSACTION:
            self._pending = []
        elif kind in (RecordType.END_TRANSACTION, RecordType.ABORT_TRANSACTION):
            held, self._pending = self._pending or [], None
            for waiting in held if kind == RecordType.END_TRANSACTION else ():
                self.apply(waiting)
        elif self._pending is not None:
            self._pending.append(value)
        else:
            self._change(kind, cursor)

    def _change(self, kind: int, cursor: _Cursor) -> None:
        if kind == RecordType.TOPIC:
            name = cursor.string() or ""
            self._topics[cursor.uuid()] = _TopicState(name)
        elif kind == RecordType.PARTITION:
            partition, topic_id = cursor.int32(), cursor.uuid()
            if topic_id in self._topics:
                self._topics[topic_id].partitions.add(partition)
        elif kind == RecordType.REMOVE_TOPIC:
            gone = self._topics.pop(cursor.uuid(), None)
            if gone is not None:
                self._configs.pop(gone.name, None)
        elif kind == RecordType.CONFIG and cursor.int8() == TOPIC_RESOURCE:
            topic, option, setting = cursor.string() or "", cursor.string() or "", cursor.string()
            settings = self._configs.setdefault(topic, {})
            if setting is None:
                settings.pop(option, None)
            else:
                settings[option] = setting

    def topics(self) -> list[KafkaTopic]:
        ordered: Iterable[tuple[uuid.UUID, _TopicState]] = sorted(self._topics.items(), key=lambda item: item[1].name)
        return [
            KafkaTopic(state.name, topic_id, len(state.partitions), dict(self._configs.get(state.name, {}))) for topic_id, state in ordered
        ]


class _Cursor:
    """Reads the fields of one flexible message in order. Raises MalformedMetadata when they run out."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def _take(self, size: int) -> bytes:
        end = self._at + size
        if size < 0 or end > len(self._data):
            raise MalformedMetadata(f"{size} bytes wanted at {self._at}, {len(self._data)} in the record")
        piece, self._at = self._data[self._at : end], end
        return piece

    def uvarint(self) -> int:
        value = shift = 0
        while True:
            byte = self._take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 28:
                raise MalformedMetadata("a varint longer than five bytes")

    def int8(self) -> int:
        return int.from_bytes(self._take(1), signed=True)

    def int32(self) -> int:
        return int.from_bytes(self._take(4), signed=True)

    def uuid(self) -> uuid.UUID:
        return uuid.UUID(bytes=self._take(16))

    def string(self) -> str | None:
        """A compact string: length + 1, 0 for null."""
        size = self.uvarint()
        return None if size == 0 else self._take(size - 1).decode()
