"""Moves a stopped data directory into a real Apache Kafka: what to prepare there, and the copy itself.

The form that Kafka always accepts is bare logs: per partition one `.log` with all batches, leader epoch 0 in every batch,
coordinator epoch 0 in every end marker, no index, snapshot, epoch file or clean marker, and empty checkpoints. Kafka then
checks every CRC and rebuilds the rest. Only `log-start-offset-checkpoint` goes along, or DeleteRecords would be undone.

Three traps are why nothing is copied verbatim: a marker's coordinator epoch above the new coordinator's fences it, a leader
epoch above the new leader's truncates Kafka's epoch cache, and producer ids that the new cluster hands out a second time
meet their old sequences. Ours start at 2^40, which no Kafka reaches; lower ones (of an imported log) are reported.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from oncelog.protocol.control_records import parse_end_transaction_marker
from oncelog.protocol.names import CONSUMER_OFFSETS, INTERNAL_TOPICS, SHARE_GROUP_STATE, TRANSACTION_STATE
from oncelog.protocol.records import build_batch, check_crc, iter_records, rewrite_crc
from oncelog.storage.audit.catalogue import read_catalogue
from oncelog.storage.audit.findings import Findings
from oncelog.storage.audit.journal import AuditedJournal
from oncelog.storage.audit.raw_directory import (
    CLEAN_MARKER,
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_STARTS,
    RECOVERY_POINTS,
    BatchAt,
    DataDirectory,
    PartitionFolder,
    map_file,
    open_data_directory,
    scan_log,
)
from oncelog.storage.env import OsFileSystem
from oncelog.storage.moving.kafka_topics import KafkaTopic, topics_from_kafka
from oncelog.storage.moving.share_groups import Ids, MovedRecord, NamedShareTopics, moved_state, new_ids

PARTITION_METADATA = "partition.metadata"
MADE_BY_KAFKA = (CONSUMER_OFFSETS, TRANSACTION_STATE)  # as soon as somebody asks for a coordinator
# the largest .log that Kafka opens, and the largest distance of an offset from its base
MAX_LOG_BYTES = 2**31 - 1
MAX_RELATIVE_OFFSET = 2**31 - 1
OUR_PRODUCER_IDS_FROM = 2**40
EMPTY_CHECKPOINT = b"0\n0\n"
_CHUNK_BYTES = 1 << 20


class GraduationRefused(Exception):
    """Nothing was copied; `problems` say what has to be mended first."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class Plan:
    """What a source directory holds. `highest_foreign_id`: largest producer id that Kafka may hand out again, −1 for none.

    `log_ends` by partition name.
    """

    source: DataDirectory
    topics: tuple[KafkaTopic, ...]
    size_bytes: int
    highest_foreign_id: int
    log_ends: dict[str, int]

    def user_topics(self) -> list[KafkaTopic]:
        return [topic for topic in self.topics if topic.name not in INTERNAL_TOPICS]

    def topics_to_make(self) -> list[KafkaTopic]:
        """Those that somebody has to make in the target."""
        return [topic for topic in self.topics if topic.name not in MADE_BY_KAFKA]

    def partitions_of(self, topic: str) -> int:
        """0 when the source has no such topic."""
        return next((one.partitions for one in self.topics if one.name == topic), 0)


@dataclass(frozen=True, slots=True)
class Copied:
    """What a copy did, per partition."""

    partition: str
    batches: int
    size_bytes: int
    files: int


@contextmanager
def locked(*directories: Path) -> Iterator[None]:
    """Hold the `.lock` of data directories, as brokers do.

    Raises GraduationRefused when a broker (ours or Kafka's) is running on one of them.
    """
    with ExitStack() as stack:
        for directory in directories:
            try:
                held = OsFileSystem().lock(directory / ".lock")
            except BlockingIOError as error:
                raise GraduationRefused([f"a broker is running on {directory}: stop it first"]) from error
            stack.enter_context(closing(cast(IO[bytes], held)))
        yield


def plan(source: Path) -> Plan:
    """Read what is to be moved; headers of all batches are walked.

    Raises GraduationRefused when the topics are unknown or a log is damaged, OSError.
    """
    directory = open_data_directory(source)
    findings = Findings()
    topics = read_catalogue(source, findings)
    if topics is None:
        problems = [finding.message for finding in findings.items]
        raise GraduationRefused([*problems, f"{source} has no topic catalogue: it is not the data directory of a broker"])
    problems = []
    size = 0
    highest = -1
    ends = {}
    for name, folder in directory.partitions.items():
        ends[name] = max([0, *folder.bases])
        try:
            for batch in _batches(folder):
                ends[name] = batch.header.next_offset
                size += batch.header.size_bytes
                if batch.header.producer_id < OUR_PRODUCER_IDS_FROM:
                    highest = max(highest, batch.header.producer_id)
        except GraduationRefused as error:
            problems += error.problems
    journal = AuditedJournal(directory, topics)
    for name, folder in directory.partitions.items():
        if journal.log_end(folder.topic, folder.partition, ends[name]) > ends[name]:
            problems.append(f"{source} was not stopped, and its journal holds records of {name}: start oncelog on it and stop it")
    if problems:
        raise GraduationRefused(problems)
    return Plan(directory, tuple(sorted(topics.values(), key=lambda topic: topic.name)), size, highest, ends)


def check_target(plan: Plan, target: Path, *, force: bool = False) -> list[str]:
    """What keeps the logs from being copied into the stopped Kafka at `target`; [] when nothing does.

    `force` accepts a target whose partitions hold records already: they are replaced.
    """
    if not (target / "meta.properties").exists():
        return [f"{target} is no Kafka data directory (no meta.properties): give the one named in log.dirs"]
    known = {topic.name: topic for topic in topics_from_kafka(target)}
    if not known:
        return [f"{target}/__cluster_metadata-0 knows no topics: create them first"]
    problems = []
    for topic in plan.topics:
        there = known.get(topic.name)
        if there is None:
            problems.append(f"topic {topic.name} does not exist in the target")
        elif there.partitions != topic.partitions:
            problems.append(f"topic {topic.name} has {there.partitions} partitions in the target, {topic.partitions} here")
        else:
            problems += _check_folders(topic, target, force)
    usage = os.statvfs(target)
    usable = usage.f_frsize * usage.f_bavail
    if usable < plan.size_bytes:
        problems.append(f"{target} has {usable} bytes free, {plan.size_bytes} are needed")
    return problems


def _check_folders(topic: KafkaTopic, target: Path, force: bool) -> Iterator[str]:
    for partition in range(topic.partitions):
        folder = target / f"{topic.name}-{partition}"
        if not (folder / PARTITION_METADATA).exists():
            yield f"{folder} with its {PARTITION_METADATA} does not exist: start the target once more and stop it"
        elif not force and any(log.stat().st_size for log in folder.glob("*.log")):
            yield f"{folder} holds records already (--force replaces them)"


def copy(plan: Plan, target: Path, *, progress: Callable[[Copied], None] = lambda _done: None) -> list[Copied]:
    """Write the bare logs into a stopped Kafka's `target`. A copy that was cut off may be repeated.

    Raises OSError.
    """
    done = []
    # without the marker a start recovers everything; it must be gone before the first log changes
    (target / CLEAN_MARKER).unlink(missing_ok=True)
    _sync_folder(target)
    ids = new_ids(plan.topics, topics_from_kafka(target))
    for topic in plan.topics:
        for copied in (
            _write_share_state(plan, topic, target, ids) if topic.name == SHARE_GROUP_STATE else _copy_topic(plan, topic, target, ids)
        ):
            done.append(copied)
            progress(copied)
    for name in (RECOVERY_POINTS, HIGH_WATERMARKS, CLEANER_OFFSETS):
        _write_synced(target / name, EMPTY_CHECKPOINT)
    starts = {place: offset for place, offset in plan.source.checkpoint(LOG_STARTS).items() if place[0] != SHARE_GROUP_STATE}
    _write_synced(target / LOG_STARTS, _checkpoint(starts))
    _sync_folder(target)
    return done


def _copy_topic(plan: Plan, topic: KafkaTopic, target: Path, ids: Ids) -> Iterator[Copied]:
    for partition in range(topic.partitions):
        name = f"{topic.name}-{partition}"
        folder = plan.source.partitions.get(name, PartitionFolder(plan.source.path / name, topic.name, partition))
        yield _copy_partition(folder, target / name, NamedShareTopics(ids) if topic.name == CONSUMER_OFFSETS else None)


def _write_share_state(plan: Plan, topic: KafkaTopic, target: Path, ids: Ids) -> Iterator[Copied]:
    """Every share partition's records in their order, in the partition that its new topic id leads to."""
    starts = plan.source.checkpoint(LOG_STARTS)
    written: list[list[MovedRecord]] = [[] for _ in range(topic.partitions)]
    for partition in range(topic.partitions):
        folder = plan.source.partitions.get(f"{topic.name}-{partition}")
        for batch in _batches(folder) if folder is not None else ():
            for moved in moved_state(batch, ids, topic.partitions, starts.get((topic.name, partition), 0)):
                written[moved.partition].append(moved)
    for partition, records in enumerate(written):
        folder_there = target / f"{topic.name}-{partition}"
        _empty(folder_there)
        batches = [build_batch([one[1:]], base_offset=offset) for offset, one in enumerate(records)]
        _write_synced(folder_there / f"{0:020d}.log", b"".join(batches))
        _sync_folder(folder_there)
        yield Copied(folder_there.name, len(batches), sum(map(len, batches)), 1)


def _empty(folder: Path) -> None:
    for old in folder.iterdir():
        if old.is_file() and old.name != PARTITION_METADATA:
            old.unlink()


def _copy_partition(folder: PartitionFolder, target: Path, named: NamedShareTopics | None) -> Copied:
    _empty(target)
    batches = size = end = 0
    groups = segment_groups([(base, *_extent(folder, base)) for base in folder.bases])
    for group in groups:
        with (target / f"{group[0]:020d}.log").open("wb") as out:
            chunk = bytearray()
            for batch in _batches(folder, group):
                chunk += portable(batch)
                batches, end = batches + 1, batch.header.next_offset
                if named is not None:
                    named.see(batch)
                if len(chunk) >= _CHUNK_BYTES:
                    size += out.write(chunk)
                    chunk.clear()
            if named is not None and group is groups[-1] and (again := named.again(end)) is not None:
                chunk += again
                batches += 1
            size += out.write(chunk)
            out.flush()
            os.fsync(out.fileno())
    _sync_folder(target)
    return Copied(target.name, batches, size, len(groups))


def _extent(folder: PartitionFolder, base: int) -> tuple[int, int]:
    """(bytes, last offset) of a segment; an empty one ends in front of its base."""
    last = base - 1
    size = 0
    for item in scan_log(map_file(folder.file(base, "log"))):
        if isinstance(item, BatchAt):
            last, size = item.header.last_offset, size + item.header.size_bytes
    return size, last


def segment_groups(segments: list[tuple[int, int, int]]) -> list[list[int]]:
    """Bases of (base, bytes, last offset) segments that fit into one `.log` each: as few files as Kafka can open."""
    groups: list[list[int]] = []
    size = 0
    for base, segment_bytes, last_offset in segments:
        if groups and size + segment_bytes <= MAX_LOG_BYTES and last_offset - groups[-1][0] <= MAX_RELATIVE_OFFSET:
            groups[-1].append(base)
            size += segment_bytes
        else:
            groups.append([base])
            size = segment_bytes
    return groups


def portable(batch: BatchAt) -> bytearray:
    """The batch with leader epoch 0 and, in an end marker, coordinator epoch 0."""
    data = bytearray(batch.view)
    struct.pack_into(">i", data, 12, 0)
    marker = parse_end_transaction_marker(data) if batch.header.is_control else None
    if marker is not None and marker.coordinator_epoch != 0:
        (record,) = iter_records(data)
        assert record.value is not None
        # the value (int16 version, int32 coordinator epoch, …) is followed by the header count only, a zero byte
        struct.pack_into(">i", data, len(data) - 1 - len(record.value) + 2, 0)
        rewrite_crc(data)
    return data


def _batches(folder: PartitionFolder, bases: list[int] | None = None) -> Iterator[BatchAt]:
    """Batches of a partition. A torn tail of the last segment is left behind, as a recovery would; other damage is refused."""
    for base in folder.bases if bases is None else bases:
        path = folder.file(base, "log")
        for item in scan_log(map_file(path)):
            if isinstance(item, BatchAt):
                if not check_crc(item.view):
                    raise GraduationRefused([f"{path}: wrong CRC at byte {item.position} (`oncelog verify` tells more)"])
                yield item
            elif base != folder.bases[-1]:
                raise GraduationRefused([f"{path}: {item.reason} at byte {item.position} (`oncelog verify` tells more)"])


def _checkpoint(offsets: dict[tuple[str, int], int]) -> bytes:
    lines = ["0", str(len(offsets)), *(f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items())]
    return "".join(f"{line}\n" for line in lines).encode()


def _write_synced(path: Path, data: bytes) -> None:
    with path.open("wb") as out:
        out.write(data)
        out.flush()
        os.fsync(out.fileno())


def _sync_folder(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
