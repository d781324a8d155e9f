"""A data directory as its files are, read only: no lock taken, nothing repaired, works on ours and on Apache Kafka's.

`DataDirectory` lists the partition folders and the files of the directory, `PartitionFolder` the files of a partition,
`scan_log` walks the batches of one `.log` and ends at the first bytes that are no batch.
"""

from __future__ import annotations

import mmap
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from oncelog.protocol.records import HEADER_SIZE, BatchHeader, parse_header
from oncelog.storage.audit.raw_formats import parse_offset_checkpoint
from oncelog.storage.files.damaged_file import DamagedFile

CLEAN_MARKER = ".kafka_cleanshutdown"
RECOVERY_POINTS = "recovery-point-offset-checkpoint"
LOG_STARTS = "log-start-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
CLEANER_OFFSETS = "cleaner-offset-checkpoint"
CHECKPOINTS = (RECOVERY_POINTS, LOG_STARTS, HIGH_WATERMARKS, CLEANER_OFFSETS)
METADATA_LOG = "__cluster_metadata-0"
LOG_OVERHEAD = 12
_PARTITION = re.compile(r"(?P<topic>.+)-(?P<partition>\d+)")
_SET_ASIDE = re.compile(r".+-\d+\.[0-9a-f]{32}-(?P<why>delete|stray|future)")
_NUMBERED = re.compile(r"(?P<offset>\d{20})\.(?P<suffix>log|index|timeindex|txnindex|snapshot)")
_LEFTOVER = (".deleted", ".cleaned", ".swap", ".tmp")


class BatchAt(NamedTuple):
    """One whole batch: `view` covers its bytes, header included."""

    position: int
    header: BatchHeader
    view: memoryview


class Garbage(NamedTuple):
    """Bytes that are no batch, up to the end of the file. `torn`: a batch begins here and the file ends inside it."""

    position: int
    size: int
    reason: str
    torn: bool


def scan_log(data: memoryview, position: int = 0) -> Iterator[BatchAt | Garbage]:
    """The batches of a `.log`, by their length fields; a Garbage is always the last item. CRCs are the caller's to check."""
    size = len(data)
    while position < size:
        rest = size - position
        if rest < LOG_OVERHEAD + 5:
            yield Garbage(position, rest, f"{rest} bytes are no batch header", torn=True)
            return
        length, _epoch, magic = struct.unpack_from(">iib", data, position + 8)
        if magic != 2:
            yield Garbage(position, rest, f"magic {magic}", torn=False)
            return
        if length < HEADER_SIZE - LOG_OVERHEAD:
            yield Garbage(position, rest, f"batch length {length} is smaller than a batch header", torn=False)
            return
        end = position + LOG_OVERHEAD + length
        if end > size:
            yield Garbage(position, rest, f"batch of {length + LOG_OVERHEAD} bytes, {rest} left in the file", torn=True)
            return
        view = data[position:end]
        yield BatchAt(position, parse_header(view), view)
        position = end


def map_file(path: Path) -> memoryview:
    """The bytes of a file, mapped and not read. Raises OSError."""
    with path.open("rb") as file:
        if path.stat().st_size == 0:
            return memoryview(b"")
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


@dataclass(slots=True)
class PartitionFolder:
    """The files of one partition folder by kind. `bases` and `snapshots` ascend."""

    path: Path
    topic: str
    partition: int
    names: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def bases(self) -> list[int]:
        return self.offsets_of("log")

    @property
    def snapshots(self) -> list[int]:
        return self.offsets_of("snapshot")

    def offsets_of(self, suffix: str) -> list[int]:
        """Numbers of the files with that suffix."""
        matches = (_NUMBERED.fullmatch(name) for name in self.names)
        return sorted(int(match["offset"]) for match in matches if match and match["suffix"] == suffix)

    def file(self, offset: int, suffix: str) -> Path:
        return self.path / f"{offset:020d}.{suffix}"

    def has(self, offset: int, suffix: str) -> bool:
        return f"{offset:020d}.{suffix}" in self.names

    def misnamed(self) -> list[str]:
        """Files with a log suffix whose stem is no offset: Kafka's loader stops at them."""
        suffixes = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
        return [name for name in self.names if name.endswith(suffixes) and not _NUMBERED.fullmatch(name)]

    def leftovers(self) -> list[str]:
        """Files of an operation that was cut off, or that wait for their deletion."""
        return [name for name in self.names if name.endswith(_LEFTOVER)]


@dataclass(slots=True)
class DataDirectory:
    """One entry of log.dirs. `partitions` by name; the metadata log of KRaft is not among them."""

    path: Path
    partitions: dict[str, PartitionFolder]
    set_aside: dict[str, str]
    foreign: list[str]
    names: list[str]

    @property
    def clean(self) -> bool:
        """Was the last stop orderly?"""
        return CLEAN_MARKER in self.names

    def read(self, name: str) -> bytes | None:
        """A file of the directory, None when it is absent."""
        return (self.path / name).read_bytes() if name in self.names else None

    def checkpoint(self, name: str) -> dict[tuple[str, int], int]:
        """Offsets of a checkpoint; damaged or absent is empty (the auditor reports that apart)."""
        try:
            return parse_offset_checkpoint(self.read(name) or b"")
        except DamagedFile:
            return {}


def split_partition_name(name: str) -> tuple[str, int] | None:
    """`topic-7` → ("topic", 7): the partition is what follows the LAST dash."""
    match = _PARTITION.fullmatch(name)
    return (match["topic"], int(match["partition"])) if match else None


def open_data_directory(path: Path) -> DataDirectory:
    """List `path`.

    Raises NotADirectoryError when it is none, OSError when it cannot be read.
    """
    if not path.is_dir():
        raise NotADirectoryError(f"{path} is not a directory")
    partitions: dict[str, PartitionFolder] = {}
    set_aside: dict[str, str] = {}
    foreign, names = [], []
    for entry in sorted(path.iterdir()):
        if not entry.is_dir():
            names.append(entry.name)
            continue
        if entry.name == METADATA_LOG:
            continue
        if aside := _SET_ASIDE.fullmatch(entry.name):
            set_aside[entry.name] = aside["why"]
        elif parsed := split_partition_name(entry.name):
            partitions[entry.name] = open_partition_folder(entry, *parsed)
        else:
            foreign.append(entry.name)
    return DataDirectory(path, partitions, set_aside, foreign, names)


def open_partition_folder(path: Path, topic: str, partition: int) -> PartitionFolder:
    """List one partition folder."""
    return PartitionFolder(path, topic, partition, sorted(entry.name for entry in path.iterdir() if not entry.is_dir()))
