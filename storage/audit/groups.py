"""Committed offsets of `__consumer_offsets` against the logs they point into."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

from oncelog.protocol.compression import CompressionError
from oncelog.protocol.control_records import parse_end_transaction_marker
from oncelog.protocol.internal.records import OffsetCommitKey, OffsetCommitValue, decode_key, decode_value
from oncelog.protocol.names import CONSUMER_OFFSETS
from oncelog.protocol.records import CorruptBatch, iter_records
from oncelog.storage.audit.findings import Findings, Kind
from oncelog.storage.audit.partition import PartitionFacts
from oncelog.storage.audit.raw_directory import BatchAt, PartitionFolder, map_file, scan_log


class CommittedAt(NamedTuple):
    """A committed offset and where it is recorded. `offset` None is a deletion."""

    offset: int | None
    recorded_at: int
    file: str


# (group, topic, partition)
Position = tuple[str, str, int]


@dataclass(slots=True)
class GroupOffsets:
    """Offsets of one partition of `__consumer_offsets`; those of an open transaction wait for its marker."""

    committed: dict[Position, CommittedAt] = field(default_factory=dict)
    pending: dict[int, dict[Position, CommittedAt]] = field(default_factory=lambda: defaultdict(dict))


def replay_group_offsets(folder: PartitionFolder, findings: Findings) -> GroupOffsets:
    """Read one partition of `__consumer_offsets`; records that make no sense become findings."""
    state = GroupOffsets()
    for base in folder.bases:
        path = folder.file(base, "log")
        for item in scan_log(map_file(path)):
            if isinstance(item, BatchAt):
                try:
                    _replay_batch(item, state, findings, path.name)
                except (CorruptBatch, CompressionError):
                    continue  # the log audit names it
    return state


def _replay_batch(batch: BatchAt, state: GroupOffsets, findings: Findings, name: str) -> None:
    header = batch.header
    if header.is_control:
        marker = parse_end_transaction_marker(batch.view)
        if marker is not None:
            held = state.pending.pop(header.producer_id, {})
            state.committed.update(held if marker.commit else {})
        return
    target = state.pending[header.producer_id] if header.is_transactional else state.committed
    for record in list(iter_records(batch.view)):
        try:
            key = decode_key(CONSUMER_OFFSETS, record.key or b"")
            value = decode_value(key, record.value)
        except ValueError as error:
            findings.error(Kind.GROUP_RECORD, str(error), offset=record.offset, file=name)
            continue
        if isinstance(key, OffsetCommitKey):
            offset = value.offset if isinstance(value, OffsetCommitValue) else None
            target[(key.group, key.topic, key.partition)] = CommittedAt(offset, record.offset, name)


def audit_group_offsets(state: GroupOffsets, partitions: dict[str, PartitionFacts], findings: Findings) -> None:
    """No group may have committed more than its partition holds."""
    for (group, topic, partition), entry in state.committed.items():
        if entry.offset is None:
            continue
        facts = partitions.get(f"{topic}-{partition}")
        who = f"group {group!r} committed {entry.offset} of {topic}-{partition}"
        if facts is None:
            findings.note(Kind.COMMITTED_UNKNOWN_PARTITION, f"{who}, which does not exist", offset=entry.recorded_at, file=entry.file)
        elif entry.offset > facts.log_end:
            findings.error(Kind.COMMITTED_BEYOND_END, f"{who}, which ends at {facts.log_end}", offset=entry.recorded_at, file=entry.file)
