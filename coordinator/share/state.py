"""What is known of a share partition, and what each request comes to, depending on how its epochs stand to those that are known.

State epoch: the life of the share partition; whoever begins one (`initialize`) fences writes of earlier ones. Leader epoch: that of the
topic partition; the first read of a new leader fences reads and writes of the one before.
"""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.internal.share_state import NO_COUNT, StateBatch
from oncelog.protocol.primitives import uuid_from_kafka, uuid_to_kafka

NOT_SET = -1  # a start offset that the group's reset strategy will decide; an epoch that is not to be compared
_NUMBER = re.compile(r"[+-]?\d{1,10}")
_E = ErrorCode


class SharePartitionKey(NamedTuple):
    """A group's view of a partition."""

    group_id: str
    topic_id: uuid.UUID
    partition: int

    @property
    def coordinator_key(self) -> str:
        """How FindCoordinator names it; its hash is the partition of `__share_group_state` that has its records."""
        return _named(self)


@lru_cache(maxsize=4096)
def _named(key: SharePartitionKey) -> str:
    return f"{key.group_id}:{uuid_to_kafka(key.topic_id)}:{key.partition}"


def is_coordinator_key(text: str) -> bool:
    """Is that a `coordinator_key` (Kafka's `SharePartitionKey.validate`)?"""
    group_id, topic_id, partition = ("", "", *text.rsplit(":", 2))[-3:]
    try:
        uuid_from_kafka(topic_id)
    except ValueError:
        return False
    return bool(group_id.strip()) and _NUMBER.fullmatch(partition) is not None and -(2**31) <= int(partition) < 2**31


@dataclass(frozen=True, slots=True)
class ShareState:
    """All of a share partition. `batches` are sorted and apart. Times in ms since 1970, of the newest snapshot.

    `leader_epoch` is the one last written; reads and writes are held against `highest_leader_epoch`, which a new life does not set back.
    `updates`: how many there were since the snapshot, which stands at `snapshot_offset` of the log; -1: it is not in the log any more.
    """

    snapshot_epoch: int
    state_epoch: int
    leader_epoch: int
    highest_leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    batches: tuple[StateBatch, ...]
    create_timestamp_ms: int
    write_timestamp_ms: int
    updates: int
    snapshot_offset: int


class PersistedState(NamedTuple):
    """What a leader that takes a share partition over is told. `start_offset` -1: not set."""

    state_epoch: int
    start_offset: int
    delivery_complete_count: int
    batches: tuple[StateBatch, ...]


class StateSummary(NamedTuple):
    """The same without the batches, for whoever describes a group. Of what was never initialized: 0, 0, -1, -1."""

    state_epoch: int = 0
    leader_epoch: int = 0
    start_offset: int = NOT_SET
    delivery_complete_count: int = NO_COUNT


class Asked(Enum):
    """The requests."""

    INITIALIZE = "initialize"
    READ = "read"
    WRITE = "write"
    SUMMARY = "summary"
    DELETE = "delete"


class Standing(Enum):
    """How a request finds the share partition."""

    UNINITIALIZED = "Uninitialized"
    CURRENT = "Initialized"
    NEWER_LEADER = "newer leader epoch"
    OLDER_LEADER = "older leader epoch"
    OLDER_STATE = "older state epoch"


class Writes(Enum):
    """What goes into the log; instead of one update too many a snapshot."""

    NOTHING = ""
    SNAPSHOT = "snapshot"
    UPDATE = "update"
    TOMBSTONE = "tombstone"


class Verdict(NamedTuple):
    """The answer, and what is written for it."""

    error: ErrorCode = _E.NONE
    writes: Writes = Writes.NOTHING


_FENCED_STATE, _FENCED_LEADER, _NEVER = Verdict(_E.FENCED_STATE_EPOCH), Verdict(_E.FENCED_LEADER_EPOCH), Verdict(_E.INVALID_REQUEST)
_FINE, _SNAPSHOT, _UPDATE = Verdict(), Verdict(writes=Writes.SNAPSHOT), Verdict(writes=Writes.UPDATE)

# what is not here cannot be: not every request has both epochs
VERDICTS: dict[tuple[Asked, Standing], Verdict] = {
    (Asked.INITIALIZE, Standing.UNINITIALIZED): _SNAPSHOT,
    (Asked.INITIALIZE, Standing.CURRENT): _SNAPSHOT,
    (Asked.INITIALIZE, Standing.OLDER_STATE): _FENCED_STATE,
    (Asked.READ, Standing.UNINITIALIZED): _NEVER,
    (Asked.READ, Standing.CURRENT): _FINE,
    (Asked.READ, Standing.NEWER_LEADER): _UPDATE,
    (Asked.READ, Standing.OLDER_LEADER): _FENCED_LEADER,
    (Asked.WRITE, Standing.UNINITIALIZED): _NEVER,
    (Asked.WRITE, Standing.CURRENT): _UPDATE,
    (Asked.WRITE, Standing.NEWER_LEADER): _UPDATE,
    (Asked.WRITE, Standing.OLDER_LEADER): _FENCED_LEADER,
    (Asked.WRITE, Standing.OLDER_STATE): _FENCED_STATE,
    (Asked.SUMMARY, Standing.UNINITIALIZED): _FINE,
    (Asked.SUMMARY, Standing.CURRENT): _FINE,
    (Asked.DELETE, Standing.UNINITIALIZED): _FINE,
    (Asked.DELETE, Standing.CURRENT): Verdict(writes=Writes.TOMBSTONE),
}


def verdict(asked: Asked, state: ShareState | None, *, leader_epoch: int | None = None, state_epoch: int | None = None) -> Verdict:
    """What `asked` comes to; an epoch is None when the request has none."""
    return VERDICTS[asked, _standing(asked, state, leader_epoch, state_epoch)]


def _standing(asked: Asked, state: ShareState | None, leader_epoch: int | None, state_epoch: int | None) -> Standing:
    if state is None:
        return Standing.UNINITIALIZED
    if leader_epoch is not None and (leader_epoch != NOT_SET or asked is Asked.READ):  # a leader that reads must know its epoch
        if leader_epoch < state.highest_leader_epoch:
            return Standing.OLDER_LEADER
    else:
        leader_epoch = None
    if state_epoch is not None and state_epoch != NOT_SET and state_epoch < state.state_epoch:
        return Standing.OLDER_STATE
    return Standing.NEWER_LEADER if leader_epoch is not None and leader_epoch > state.highest_leader_epoch else Standing.CURRENT
