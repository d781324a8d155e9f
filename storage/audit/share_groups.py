"""What `__share_group_state` says of share partitions, against the logs they point into."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from oncelog.protocol.compression import CompressionError
from oncelog.protocol.internal.records import decode_key, decode_value
from oncelog.protocol.internal.share_state import ShareSnapshotKey, ShareSnapshotValue, ShareUpdateKey, ShareUpdateValue
from oncelog.protocol.names import SHARE_GROUP_STATE
from oncelog.protocol.records import CorruptBatch, Record, iter_records
from oncelog.storage.audit.findings import Findings, Kind
from oncelog.storage.audit.partition import PartitionFacts
from oncelog.storage.audit.raw_directory import BatchAt, PartitionFolder, map_file, scan_log


class SharePartition(NamedTuple):
    """A group's view of a partition."""

    group_id: str
    topic_id: uuid.UUID
    partition: int


@dataclass(frozen=True, slots=True)
class DeliveredUpTo:
    """`offset`: of the last record that anybody was given, -1: of none. Where the newest record about it stands."""

    offset: int
    recorded_at: int
    file: str


def replay_share_state(folder: PartitionFolder, findings: Findings) -> dict[SharePartition, DeliveredUpTo]:
    """Read one partition of `__share_group_state`; records that make no sense become findings."""
    state: dict[SharePartition, DeliveredUpTo] = {}
    for base in folder.bases:
        path = folder.file(base, "log")
        for item in scan_log(map_file(path)):
            if not isinstance(item, BatchAt) or item.header.is_control:
                continue
            try:
                for record in list(iter_records(item.view)):
                    _replay(record, state, findings, path.name)
            except (CorruptBatch, CompressionError):
                continue  # the log audit names it
    return state


def _replay(record: Record, state: dict[SharePartition, DeliveredUpTo], findings: Findings, file: str) -> None:
    try:
        key = decode_key(SHARE_GROUP_STATE, record.key or b"")
        value = decode_value(key, record.value)
    except ValueError as error:
        findings.error(Kind.SHARE_RECORD, str(error), offset=record.offset, file=file)
        return
    if not isinstance(key, ShareSnapshotKey | ShareUpdateKey):
        return
    about = SharePartition(*key)
    if isinstance(value, ShareSnapshotValue | ShareUpdateValue):
        before = state.get(about)
        added = isinstance(value, ShareUpdateValue) and before is not None
        delivered = max((batch.last_offset for batch in value.state_batches), default=-1)
        state[about] = DeliveredUpTo(max(delivered, before.offset if added and before is not None else -1), record.offset, file)
    else:
        state.pop(about, None)


def audit_share_state(
    state: Mapping[SharePartition, DeliveredUpTo],
    names: Mapping[uuid.UUID, str],
    partitions: Mapping[str, PartitionFacts],
    findings: Findings,
) -> None:
    """Nobody may have been given more than a partition holds. `names`: of topics, by id."""
    for about, entry in state.items():
        name = names.get(about.topic_id)
        facts = partitions.get(f"{name}-{about.partition}")
        who = f"share group {about.group_id!r} was given records up to {entry.offset} of"
        if facts is None:
            if name is None or entry.offset >= 0:  # else nothing was ever written to it
                what = f"share group {about.group_id!r} has a state of {name or about.topic_id}-{about.partition}, which does not exist"
                findings.note(Kind.SHARED_UNKNOWN_PARTITION, what, offset=entry.recorded_at, file=entry.file)
        elif entry.offset >= facts.log_end:
            what = f"{who} {name}-{about.partition}, which ends at {facts.log_end}"
            findings.error(Kind.SHARED_BEYOND_END, what, offset=entry.recorded_at, file=entry.file)
