"""The small files beside a log, parsed for auditors: no repair, no tolerance, no sharing with the code that writes them.

`FORMAT.md` shows the bytes. Every parser takes the whole file and either returns its entries or raises `DamagedFile`.
The live readers (offset_index.py, files/snapshot.py, …) are written apart on purpose: an auditor that shared their
code would share their bugs.
"""

from __future__ import annotations

import json
import re
import struct
import uuid
from typing import NamedTuple

from oncelog.protocol.primitives import crc32c, uuid_from_kafka
from oncelog.storage.files.damaged_file import DamagedFile

OFFSET_ENTRY = struct.Struct(">ii")
TIME_ENTRY = struct.Struct(">qi")
TXN_ENTRY = struct.Struct(">hqqqq")
SNAPSHOT_HEAD = struct.Struct(">hIi")
SNAPSHOT_ENTRY = struct.Struct(">qhiqiqiq")
SNAPSHOT_VERSION = 1
# bytes of a snapshot before the part that its CRC covers: version and the CRC itself
SNAPSHOT_CRC_START = 6


CHECKPOINT_CRC = "oncelog::crc32c"


class OffsetEntry(NamedTuple):
    offset: int
    position: int


class TimeEntry(NamedTuple):
    timestamp: int
    offset: int


class TxnEntry(NamedTuple):
    """One aborted transaction: `last_offset` is its marker, `last_stable_offset` the LSO once it was done."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class ProducerEntry(NamedTuple):
    """One producer of a `.snapshot`; −1 stands for "none" in sequence, offset, coordinator epoch and open transaction."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int
    coordinator_epoch: int
    current_txn_first_offset: int


def used_slots(data: bytes, entry_bytes: int) -> int:
    """Entries in front of the zero padding of a pre-sized index (Kafka trims it on roll and on a clean stop only)."""
    return min(-(-len(data.rstrip(b"\0")) // entry_bytes), len(data) // entry_bytes)


def parse_offset_index(data: bytes, base_offset: int) -> list[OffsetEntry]:
    """Entries of a `.index` with absolute offsets, padding left out."""
    used = data[: used_slots(data, OFFSET_ENTRY.size) * OFFSET_ENTRY.size]
    return [OffsetEntry(base_offset + relative, position) for relative, position in OFFSET_ENTRY.iter_unpack(used)]


def parse_time_index(data: bytes, base_offset: int) -> list[TimeEntry]:
    """Entries of a `.timeindex` with absolute offsets, padding left out."""
    used = data[: used_slots(data, TIME_ENTRY.size) * TIME_ENTRY.size]
    return [TimeEntry(timestamp, base_offset + relative) for timestamp, relative in TIME_ENTRY.iter_unpack(used)]


def parse_txn_index(data: bytes) -> list[TxnEntry]:
    """Entries of a `.txnindex`.

    Raises DamagedFile when an entry is torn or of another version.
    """
    if len(data) % TXN_ENTRY.size:
        raise DamagedFile(f"{len(data)} bytes are not a multiple of {TXN_ENTRY.size}: the last entry is torn")
    entries = []
    for number, (version, *fields) in enumerate(TXN_ENTRY.iter_unpack(data)):
        if version != 0:
            raise DamagedFile(f"entry {number} has version {version}")
        entries.append(TxnEntry(*fields))
    return entries


def parse_snapshot(data: bytes) -> list[ProducerEntry]:
    """Entries of a producer `.snapshot`.

    Raises DamagedFile on another version, a wrong CRC or a wrong length.
    """
    if len(data) < SNAPSHOT_HEAD.size:
        raise DamagedFile(f"{len(data)} bytes are shorter than the header")
    version, crc, count = SNAPSHOT_HEAD.unpack_from(data)
    if version != SNAPSHOT_VERSION:
        raise DamagedFile(f"version {version}")
    if crc32c(memoryview(data)[SNAPSHOT_CRC_START:]) != crc:
        raise DamagedFile("wrong CRC")
    if count < 0 or len(data) != SNAPSHOT_HEAD.size + count * SNAPSHOT_ENTRY.size:
        raise DamagedFile(f"{count} producers do not fill {len(data)} bytes")
    return [ProducerEntry(*fields) for fields in SNAPSHOT_ENTRY.iter_unpack(data[SNAPSHOT_HEAD.size :])]


def parse_checkpoint(data: bytes, fields: int) -> list[list[str]]:
    """Lines of a text checkpoint, each split into `fields` words; an empty file is an empty checkpoint.

    Raises DamagedFile on a wrong version, count or number of words (Kafka's CheckpointFile).
    """
    if not data:
        return []
    try:
        lines = data.decode().splitlines()
        version, count = int(lines[0]), int(lines[1])
    except (ValueError, IndexError) as error:
        raise DamagedFile("no version and count in the first two lines") from error
    if version != 0:
        raise DamagedFile(f"version {version}")
    rows = [line.split() for line in lines[2:]]
    if len(rows) != count:
        raise DamagedFile(f"{len(rows)} lines, {count} announced")
    for number, row in enumerate(rows, 3):
        if len(row) != fields:
            raise DamagedFile(f"line {number} has {len(row)} words instead of {fields}")
    return rows


def parse_offset_checkpoint(data: bytes) -> dict[tuple[str, int], int]:
    """`topic partition offset` lines; a last line of ours with a CRC of the others is checked and left out. Raises DamagedFile."""
    if not data.isascii():
        raise DamagedFile("bytes that are no ASCII")
    rows = parse_checkpoint(data, 3)
    vouched = bool(rows) and rows[-1][0] == CHECKPOINT_CRC
    try:
        crc = int(rows.pop()[2]) if vouched else None
        offsets = {(topic, int(partition)): int(offset) for topic, partition, offset in rows}
    except ValueError as error:
        raise DamagedFile(str(error)) from error
    if crc is not None and crc != crc32c("".join(f"{' '.join(row)}\n" for row in rows).encode()):
        raise DamagedFile("wrong CRC")
    if len(offsets) < len(rows):
        raise DamagedFile("a partition stands there twice")
    for name, offset in offsets.items():
        if not 0 <= offset < 2**63 or not 0 <= name[1] < 2**31 or not re.fullmatch(r"[a-zA-Z0-9._-]{1,249}", name[0]):
            raise DamagedFile(f"{name[0]} {name[1]} {offset} is out of range")
    return offsets


def is_vouched(data: bytes) -> bool:
    """Does an offset checkpoint carry a CRC of ours? Then a partition without a line is known to have none."""
    lines = data.splitlines()
    return len(lines) > 2 and lines[-1].startswith(CHECKPOINT_CRC.encode())


def parse_leader_epochs(data: bytes) -> list[tuple[int, int]]:
    """`epoch start_offset` lines. Raises DamagedFile."""
    try:
        return [(int(epoch), int(start)) for epoch, start in parse_checkpoint(data, 2)]
    except ValueError as error:
        raise DamagedFile(str(error)) from error


def parse_partition_metadata(data: bytes) -> uuid.UUID:
    """The topic id of a `partition.metadata`. Raises DamagedFile."""
    match = re.fullmatch(rb"version: 0\ntopic_id: ([A-Za-z0-9_-]{22})\s*", data)
    if match is None:
        raise DamagedFile("not `version: 0` and `topic_id: …`")
    topic_id = uuid_from_kafka(match[1].decode())
    if topic_id.int == 0:
        raise DamagedFile("the topic id is zero")
    return topic_id


def parse_properties(data: bytes) -> dict[str, str]:
    """A Java properties file without escapes (`meta.properties`). Raises DamagedFile."""
    values: dict[str, str] = {}
    for line in data.decode("utf-8", "replace").splitlines():
        text = line.strip()
        if text and not text.startswith("#"):
            key, separator, value = text.partition("=")
            if not separator:
                raise DamagedFile(f"no `=` in {text!r}")
            values[key.strip()] = value.strip()
    return values


def parse_clean_marker(data: bytes) -> int | None:
    """The broker epoch of `.kafka_cleanshutdown`, or None: only the existence of that file matters."""
    try:
        epoch = json.loads(data)["brokerEpoch"]
    except (ValueError, KeyError, TypeError):
        return None
    return int(epoch)
