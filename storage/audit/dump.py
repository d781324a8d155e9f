"""What is in a file of a data directory, row by row: batches, records, indexes, snapshots, checkpoints, internal topics decoded.

Works on single files, partition folders and whole data directories, ours and Apache Kafka's, read only. Damage does not
stop a dump; it shows as a row of kind "garbage" or as an `error` field.
"""

from __future__ import annotations

import dataclasses
import json
import re
import uuid
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

from oncelog.protocol.compression import Codec, CompressionError
from oncelog.protocol.control_records import ControlRecordType
from oncelog.protocol.internal.records import decode_key, decode_value
from oncelog.protocol.names import INTERNAL_TOPICS
from oncelog.protocol.primitives import uuid_to_kafka
from oncelog.protocol.records import CorruptBatch, Record, check_crc, iter_records, parse_header
from oncelog.storage.audit.catalogue import METADATA, REGISTRY
from oncelog.storage.audit.raw_directory import CHECKPOINTS, CLEAN_MARKER, BatchAt, Garbage, map_file, scan_log, split_partition_name
from oncelog.storage.audit.raw_formats import (
    OFFSET_ENTRY,
    TIME_ENTRY,
    parse_clean_marker,
    parse_leader_epochs,
    parse_offset_checkpoint,
    parse_offset_index,
    parse_partition_metadata,
    parse_properties,
    parse_snapshot,
    parse_time_index,
    parse_txn_index,
    used_slots,
)
from oncelog.storage.directory.topic import TOPIC_FILE
from oncelog.storage.files.damaged_file import DamagedFile
from oncelog.storage.files.twin_file import COPY, parse_frame
from oncelog.storage.journal.frames import entries_of, whole_frames
from oncelog.storage.journal.journal import JOURNAL_FILES
from oncelog.storage.recovery.missing import MISSING_FILE, parse_missing

Row = dict[str, Any]
_BASE = re.compile(r"(\d{20})\.")
_LOG_LIKE = (".log", ".checkpoint")
SUFFIXES = (".log", ".index", ".timeindex", ".txnindex", ".snapshot", ".checkpoint")
OWN_FILES = (REGISTRY, REGISTRY + COPY, METADATA, METADATA + COPY, TOPIC_FILE, MISSING_FILE)
TEXT_FILES = (*CHECKPOINTS, "leader-epoch-checkpoint", "partition.metadata", "meta.properties", CLEAN_MARKER, *OWN_FILES)
KNOWN_FILES = (*TEXT_FILES, *JOURNAL_FILES)


def dump(path: Path, *, records: bool = True) -> Iterator[Row]:
    """Rows of a file, or of every known file under a directory, in the order of their names.

    Every row has `file` (relative to `path` when that is a directory) and `kind`. Raises OSError; ValueError for a file of
    unknown kind that was named itself.
    """
    if not path.is_dir():
        yield from dump_file(path, path.name, records=records)
        return
    for file in sorted(file for file in path.rglob("*") if file.is_file()):
        if file.name in KNOWN_FILES or file.suffix in SUFFIXES:
            yield from dump_file(file, str(file.relative_to(path)), records=records)


def dump_file(path: Path, name: str, *, records: bool = True) -> Iterator[Row]:
    """Rows of one file, each with `file` = `name`."""
    try:
        for row in _rows_of(path, records):
            yield {"file": name, **row}
    except DamagedFile as error:
        yield {"file": name, "kind": "damaged", "error": str(error)}


def _rows_of(path: Path, records: bool) -> Iterator[Row]:
    name, suffix = path.name, path.suffix
    if name in TEXT_FILES:
        yield from _text_rows(path)
    elif name in JOURNAL_FILES:
        yield from _journal_rows(path)
    elif suffix in _LOG_LIKE:
        yield from _log_rows(path, records)
    elif suffix == ".snapshot":
        yield from ({"kind": "producer", **entry._asdict()} for entry in parse_snapshot(path.read_bytes()))
    elif suffix == ".txnindex":
        yield from ({"kind": "aborted", **entry._asdict()} for entry in parse_txn_index(path.read_bytes()))
    elif suffix in (".index", ".timeindex"):
        yield from _index_rows(path, suffix)
    else:
        raise ValueError(f"{name}: not a file of a Kafka log (known are {', '.join((*SUFFIXES, *KNOWN_FILES))})")


def _index_rows(path: Path, suffix: str) -> Iterator[Row]:
    data = path.read_bytes()
    match = _BASE.match(path.name)
    if match is None:
        raise DamagedFile("no offset in its name")
    base = int(match[1])
    entries = parse_offset_index(data, base) if suffix == ".index" else parse_time_index(data, base)
    size = OFFSET_ENTRY.size if suffix == ".index" else TIME_ENTRY.size
    kind = "offset" if suffix == ".index" else "time"
    yield from ({"kind": kind, **entry._asdict()} for entry in entries)
    if padding := len(data) // size - used_slots(data, size):
        yield {"kind": "padding", "slots": padding}
    if torn := len(data) % size:
        yield {"kind": "garbage", "bytes": torn, "error": f"not a multiple of {size}"}


def _text_rows(path: Path) -> Iterator[Row]:
    data, name = path.read_bytes(), path.name
    if name in CHECKPOINTS:
        for (topic, partition), offset in parse_offset_checkpoint(data).items():
            yield {"kind": "checkpoint", "topic": topic, "partition": partition, "offset": offset}
    elif name == "leader-epoch-checkpoint":
        yield from ({"kind": "leader-epoch", "epoch": epoch, "start_offset": start} for epoch, start in parse_leader_epochs(data))
    elif name == "partition.metadata":
        yield {"kind": "topic-id", "topic_id": uuid_to_kafka(parse_partition_metadata(data))}
    elif name in OWN_FILES:
        yield from _own_rows(data, name.removesuffix(COPY))
    elif name == CLEAN_MARKER:
        yield {"kind": "clean-marker", "broker_epoch": parse_clean_marker(data)}
    else:
        yield {"kind": "properties", **parse_properties(data)}


def _own_rows(data: bytes, name: str) -> Iterator[Row]:
    """Of the metadata only what it tells about; the values may be secrets."""
    if name == MISSING_FILE:
        yield from ({"kind": "missing", "first_offset": first, "last_offset": end - 1} for first, end in parse_missing(data))
        return
    framed = parse_frame(name, data)
    content = json.loads(framed.payload)
    if name == METADATA:
        for section, values in content.items():
            yield from ({"kind": "metadata", "generation": framed.generation, "section": section, "key": key} for key in values)
    else:
        for row in content["topics"] if name == REGISTRY else [content]:
            yield {"kind": "topic", "generation": framed.generation, **row}


def _journal_rows(path: Path) -> Iterator[Row]:
    """The batches of all frames that are whole, those of an earlier use of the file too: their sequences are lower."""
    for frame in whole_frames(memoryview(path.read_bytes())):
        for topic_id, partition, batch in entries_of(frame):
            owner = {"sequence": frame.sequence, "topic_id": uuid_to_kafka(uuid.UUID(bytes=topic_id)), "partition": partition}
            yield {**_batch_row(BatchAt(frame.end, parse_header(batch), batch)), **owner, "kind": "journaled", "position": None}


def _log_rows(path: Path, records: bool) -> Iterator[Row]:
    parsed = split_partition_name(path.absolute().parent.name)
    topic = parsed[0] if parsed else ""
    for item in scan_log(map_file(path)):
        if isinstance(item, Garbage):
            yield {"kind": "garbage", "position": item.position, "bytes": item.size, "error": item.reason}
            continue
        yield _batch_row(item)
        if records:
            try:
                yield from [_record_row(item, record, topic) for record in iter_records(item.view)]
            except (CorruptBatch, CompressionError) as error:
                yield {"kind": "garbage", "position": item.position, "bytes": len(item.view), "error": str(error)}


def _batch_row(batch: BatchAt) -> Row:
    header = batch.header
    codecs = {codec.value: codec.name.lower() for codec in Codec}
    return {
        "kind": "batch",
        "position": batch.position,
        "size_bytes": header.size_bytes,
        "base_offset": header.base_offset,
        "last_offset": header.last_offset,
        "records_count": header.records_count,
        "base_sequence": header.base_sequence,
        "producer_id": header.producer_id,
        "producer_epoch": header.producer_epoch,
        "partition_leader_epoch": header.partition_leader_epoch,
        "is_transactional": header.is_transactional,
        "is_control": header.is_control,
        "delete_horizon_ms": header.base_timestamp if header.has_delete_horizon else None,
        "max_timestamp": header.max_timestamp,
        "timestamp_type": "LogAppendTime" if header.is_log_append_time else "CreateTime",
        "codec": codecs.get(header.codec, str(header.codec)),
        "magic": header.magic,
        "crc_valid": check_crc(batch.view),
    }


def _record_row(batch: BatchAt, record: Record, topic: str) -> Row:
    row: Row = {"kind": "record", "offset": record.offset, "timestamp": record.timestamp}
    if batch.header.is_control:
        return row | _control_fields(record)
    if record.sequence >= 0:
        row["sequence"] = record.sequence
    if topic in INTERNAL_TOPICS:
        return row | _internal_fields(record, topic)
    row |= {"key": _text(record.key), "value": _text(record.value)}
    if record.headers:
        row["headers"] = {name: _text(value) for name, value in record.headers}
    return row


def _control_fields(record: Record) -> Row:
    kind = int.from_bytes((record.key or b"")[2:4], signed=True)
    name = ControlRecordType(kind).name if kind in ControlRecordType._value2member_map_ else str(kind)
    row: Row = {"control": name}
    if kind in (ControlRecordType.ABORT, ControlRecordType.COMMIT):
        row["coordinator_epoch"] = int.from_bytes((record.value or b"")[2:6], signed=True)
    return row


def _internal_fields(record: Record, topic: str) -> Row:
    """A record of an internal topic by its schema; `value` None is a deletion."""
    try:
        key = decode_key(topic, record.key or b"")
        value = decode_value(key, record.value)
    except ValueError as error:
        return {"key": _text(record.key), "value": _text(record.value), "error": str(error)}
    return {"type": type(key).__name__.removesuffix("Key"), "key": plain(key), "value": plain(value)}


def plain(value: Any) -> Any:
    """Dataclasses, named tuples, enums, ids and bytes as JSON has them."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, uuid.UUID):
        return uuid_to_kafka(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return _text(bytes(value))
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: plain(item) for name, item in value._asdict().items()}
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    return value


def _text(data: bytes | None) -> str | None:
    """Bytes as text where they are text, else as `0x…`."""
    if data is None:
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return "0x" + data.hex()
    return text if text.isprintable() else "0x" + data.hex()
