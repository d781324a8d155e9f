"""The offline auditor behind `oncelog verify DIR`: reads a whole data directory, ours or Apache Kafka's, and changes nothing.

It shares no code with the log that serves clients: formats from `raw_formats.py`, producers by its own replay
(`audit/producers.py`), indexes recomputed (`audit/indexes.py`), transactions matched against `__transaction_state`
(`audit/transactions.py`), groups against log ends (`audit/groups.py`). Run it on a stopped broker; on a running one the newest
bytes may look torn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from oncelog.protocol.names import CONSUMER_OFFSETS, INTERNAL_TOPICS, SHARE_GROUP_STATE, TRANSACTION_STATE
from oncelog.storage.audit.catalogue import META_PROPERTIES, REGISTRY, audit_beside_log, audit_own_files, audit_topic_file, read_catalogue
from oncelog.storage.audit.consequences import fold
from oncelog.storage.audit.findings import Finding, Findings, Kind, Severity
from oncelog.storage.audit.groups import audit_group_offsets, replay_group_offsets
from oncelog.storage.audit.indexes import DEFAULT_INTERVAL_BYTES
from oncelog.storage.audit.journal import AuditedJournal, audit_journal
from oncelog.storage.audit.partition import PartitionContext, PartitionFacts, audit_partition
from oncelog.storage.audit.raw_directory import (
    CHECKPOINTS,
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_STARTS,
    RECOVERY_POINTS,
    DataDirectory,
    PartitionFolder,
    open_data_directory,
    split_partition_name,
)
from oncelog.storage.audit.raw_formats import is_vouched, parse_offset_checkpoint, parse_partition_metadata, parse_properties
from oncelog.storage.audit.share_groups import audit_share_state, replay_share_state
from oncelog.storage.audit.transactions import audit_transactions, replay_transaction_log
from oncelog.storage.files.damaged_file import DamagedFile
from oncelog.storage.moving.kafka_topics import KafkaTopic

PARTITION_METADATA = "partition.metadata"


class PartitionSummary(NamedTuple):
    """One line of the report for a partition that was read."""

    partition: str
    log_start: int
    log_end: int
    last_stable_offset: int
    batches: int
    open_transactions: int


@dataclass(frozen=True, slots=True)
class Report:
    """What an audit found. `sound` when nothing is worse than a note."""

    findings: tuple[Finding, ...]
    partitions: tuple[PartitionSummary, ...]
    clean: bool

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.severity is Severity.ERROR)

    @property
    def notes(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.severity is Severity.NOTE)

    @property
    def sound(self) -> bool:
        return not self.errors


def verify(path: Path, *, records: bool = True, progress: Callable[[str], None] = lambda _partition: None) -> Report:
    """Audit the data directory `path`. `records=False` leaves the inside of the batches alone (about ten times faster).

    `progress` learns which partition comes next.

    Raises NotADirectoryError, OSError when the directory cannot be read.
    """
    directory = open_data_directory(path)
    findings = Findings()
    topics = read_catalogue(path, findings)
    audit_own_files(path, findings)
    _audit_directory(directory, findings)
    journal = audit_journal(directory, topics, findings)
    if topics is not None:
        _audit_catalogue(directory, topics, findings)
    facts = {}
    for name, folder in directory.partitions.items():
        progress(name)
        audit_beside_log(folder, findings.of(name))
        facts[name] = audit_partition(folder, _context(directory, folder, topics, records), findings.of(name))
    _audit_checkpoints(directory, facts, topics, journal, findings)
    _audit_starts(directory, findings)
    transaction_log = replay_transaction_log(_folders_of(directory, TRANSACTION_STATE), findings)
    audit_transactions(transaction_log, facts, findings)
    for folder in _folders_of(directory, CONSUMER_OFFSETS):
        about = findings.of(folder.name)
        audit_group_offsets(replay_group_offsets(folder, about), facts, about)
    names = {topic.topic_id: name for name, topic in (topics or {}).items()}
    for folder in _folders_of(directory, SHARE_GROUP_STATE):
        about = findings.of(folder.name)
        audit_share_state(replay_share_state(folder, about), names, facts, about)
    summaries = [
        PartitionSummary(name, one.log_start, one.log_end, one.last_stable_offset, one.batches, len(one.open_transactions))
        for name, one in facts.items()
    ]
    return Report(tuple(fold(findings.items)), tuple(summaries), directory.clean)


def _folders_of(directory: DataDirectory, topic: str) -> list[PartitionFolder]:
    return [folder for folder in directory.partitions.values() if folder.topic == topic]


def _context(directory: DataDirectory, folder: PartitionFolder, topics: dict[str, KafkaTopic] | None, records: bool) -> PartitionContext:
    key = (folder.topic, folder.partition)
    internal = folder.topic in INTERNAL_TOPICS
    topic = (topics or {}).get(folder.topic)
    policy = topic.configs.get("cleanup.policy", "") if topic else ""
    compacted = folder.topic in (CONSUMER_OFFSETS, TRANSACTION_STATE) or "compact" in policy or key in directory.checkpoint(CLEANER_OFFSETS)
    recovery_point = directory.checkpoint(RECOVERY_POINTS).get(key, 0)
    interval = topic.configs.get("index.interval.bytes", "") if topic else ""
    return PartitionContext(
        directory.clean,
        compacted,
        internal,
        directory.checkpoint(LOG_STARTS).get(key),
        records,
        recovery_point,
        int(interval) if interval.isdecimal() else DEFAULT_INTERVAL_BYTES,
    )


def _audit_directory(directory: DataDirectory, findings: Findings) -> None:
    if not directory.clean:
        findings.note(Kind.UNCLEAN_STOP, "no clean shutdown marker: the next start checks and recovers the active segments")
    for name, why in directory.set_aside.items():
        findings.note(Kind.SET_ASIDE, f"set aside as {why}", file=name)
    for name in directory.foreign:
        findings.note(Kind.FOREIGN_FOLDER, "not a partition folder: Apache Kafka does not start with it", file=name)
    meta = directory.read(META_PROPERTIES)
    if meta is None:
        findings.error(Kind.META_PROPERTIES, "missing", file=META_PROPERTIES)
    else:
        try:
            properties = parse_properties(meta)
        except DamagedFile as error:
            findings.error(Kind.META_PROPERTIES, str(error), file=META_PROPERTIES)
        else:
            for key in {"cluster.id", "node.id"} - properties.keys():
                findings.error(Kind.META_PROPERTIES, f"no {key}", file=META_PROPERTIES)
    for name in CHECKPOINTS:
        data = directory.read(name)
        if data == b"" and name != CLEANER_OFFSETS:  # Kafka makes the files before it writes them
            ours = any(own.startswith(REGISTRY) for own in directory.names)
            findings.add(Severity.ERROR if ours else Severity.NOTE, Kind.CHECKPOINT_DAMAGED, "empty", file=name)
        try:
            parse_offset_checkpoint(data or b"")
        except DamagedFile as error:
            findings.error(Kind.CHECKPOINT_DAMAGED, str(error), file=name)
    for name in missing_checkpoints(directory.clean, [name for name in CHECKPOINTS if name in directory.names]):
        if directory.partitions:
            findings.note(Kind.CHECKPOINT_DAMAGED, "missing: what the logs tell will do", file=name)


def missing_checkpoints(clean: bool, present: list[str]) -> list[str]:
    """An orderly stop leaves all three; recovery points and log starts are written together, high watermarks more often."""
    if not clean and not set(present) & {RECOVERY_POINTS, LOG_STARTS}:
        return []
    return [name for name in (RECOVERY_POINTS, LOG_STARTS, HIGH_WATERMARKS) if name not in present]


def _audit_catalogue(directory: DataDirectory, topics: dict[str, KafkaTopic], findings: Findings) -> None:
    """Folders against the topics that the metadata knows, ids included. Ours come with the first write, as the checkpoints tell."""
    may_be_unwritten = any(name.startswith(REGISTRY) for name in directory.names)
    offsets = [directory.checkpoint(file) for file in CHECKPOINTS]
    for topic in topics.values():
        for partition in range(topic.partitions):
            name = f"{topic.name}-{partition}"
            written = not may_be_unwritten or any(known.get((topic.name, partition), 0) > 0 for known in offsets)
            if name not in directory.partitions and written:
                findings.of(name).error(Kind.PARTITION_MISSING, f"the topic has {topic.partitions} partitions, this folder is missing")
    for name, folder in directory.partitions.items():
        about = findings.of(name)
        known = topics.get(folder.topic)
        if known is None or folder.partition >= known.partitions:
            about.error(Kind.TOPIC_UNKNOWN, "not in the topic catalogue: a broker would set this folder aside")
        audit_topic_file(folder.path, known, about)
        path = folder.path / PARTITION_METADATA
        if not path.exists():
            about.error(Kind.PARTITION_METADATA, "missing: Apache Kafka would set this folder aside", file=PARTITION_METADATA)
            continue
        try:
            topic_id = parse_partition_metadata(path.read_bytes())
        except DamagedFile as error:
            about.error(Kind.PARTITION_METADATA, str(error), file=PARTITION_METADATA)
            continue
        if known is not None and topic_id != known.topic_id:
            about.error(Kind.PARTITION_METADATA, f"topic id {topic_id}, the catalogue says {known.topic_id}", file=PARTITION_METADATA)


def _audit_checkpoints(
    directory: DataDirectory,
    facts: dict[str, PartitionFacts],
    topics: dict[str, KafkaTopic] | None,
    journal: AuditedJournal,
    findings: Findings,
) -> None:
    """Offsets of the checkpoints against the logs and the journal; the high watermark is what notices a lost segment or folder."""
    for file in CHECKPOINTS:
        for (topic, partition), offset in directory.checkpoint(file).items():
            name = f"{topic}-{partition}"
            about = findings.of(name)
            if name not in facts:
                _missing_partition(name, offset, file, topics, about)
            elif offset > journal.log_end(topic, partition, facts[name].log_end):
                if file == HIGH_WATERMARKS:
                    message = f"high watermark {offset}, the log ends at {facts[name].log_end}: acknowledged records are gone"
                    about.error(Kind.LOG_END_BELOW_HIGH_WATERMARK, message, offset=facts[name].log_end, file=file)
                else:
                    message = f"says {offset}, the log ends at {facts[name].log_end}"
                    about.error(Kind.CHECKPOINT_BEYOND_END, message, offset=offset, file=file)


def _audit_starts(directory: DataDirectory, findings: Findings) -> None:
    """A first segment above the log start was not deleted by a broker, which writes the start first: where our CRC vouches for that."""
    if not is_vouched(directory.read(LOG_STARTS) or b"") or not is_vouched(directory.read(HIGH_WATERMARKS) or b""):
        return
    starts, watermarks = directory.checkpoint(LOG_STARTS), directory.checkpoint(HIGH_WATERMARKS)
    for name, folder in directory.partitions.items():
        key = (folder.topic, folder.partition)
        start, first = starts.get(key, 0), folder.bases[0] if folder.bases else 0
        if watermarks.get(key, 0) > 0 and start < first:
            message = f"offsets {start} to {first - 1} are in no segment"
            findings.of(name).error(Kind.SEGMENT_MISSING, message, offset=start, file=LOG_STARTS)


def _missing_partition(name: str, offset: int, file: str, topics: dict[str, KafkaTopic] | None, about: Findings) -> None:
    parsed = split_partition_name(name)
    if topics is not None and parsed and parsed[0] in topics:
        return  # reported against the catalogue
    message = f"{file} has offset {offset}, there is no such folder"
    # a topic that the catalogue does not know was deleted a moment before the stop
    severity = Severity.NOTE if topics is not None or file != HIGH_WATERMARKS or offset == 0 else Severity.ERROR
    about.add(severity, Kind.PARTITION_MISSING, message, offset=offset, file=file)
