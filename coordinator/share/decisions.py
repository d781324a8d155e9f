"""What a request to the share coordinator comes to: an answer, and the record that makes it true (Kafka's `ShareCoordinatorShard`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from oncelog.coordinator.result import CoordinatorRecord, Result
from oncelog.coordinator.share.batches import merged, pruned
from oncelog.coordinator.share.state import (
    NOT_SET,
    Asked,
    PersistedState,
    SharePartitionKey,
    ShareState,
    StateSummary,
    Writes,
    verdict,
)
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.internal.share_state import (
    NO_COUNT,
    ShareSnapshotKey,
    ShareSnapshotValue,
    ShareUpdateKey,
    ShareUpdateValue,
    StateBatch,
)

MOST_BATCHES = 10_000  # of one write, as many as records may be in flight; laying them over what is known takes some 20 ms
MOST_KNOWN = 2 * MOST_BATCHES  # with it; a snapshot of so many is still one record
_NONE, _GONE = ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class Change(NamedTuple):
    """What a leader wants written. `start_offset` -1: unchanged; epochs -1: not compared."""

    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    batches: Sequence[StateBatch]


class Known(NamedTuple):
    """What is there: the state, None before the first `initialize`, and whether the partition exists."""

    key: SharePartitionKey
    state: ShareState | None
    exists: bool


def initialize(known: Known, state_epoch: int, start_offset: int, now_ms: int) -> Result[ErrorCode]:
    """Begin a life: nothing is in flight, whatever was there. Refused: 124, 3."""
    error = verdict(Asked.INITIALIZE, known.state, state_epoch=state_epoch).error or (_NONE if known.exists else _GONE)
    if error:
        return Result(error)
    before = known.state
    value = ShareSnapshotValue(
        snapshot_epoch=0 if before is None else before.snapshot_epoch + 1,
        state_epoch=state_epoch if before is None else max(state_epoch, before.state_epoch),
        leader_epoch=0,
        start_offset=start_offset,
        create_timestamp=now_ms,
        write_timestamp=now_ms,
        state_batches=(),
        delivery_complete_count=NO_COUNT if start_offset == NOT_SET else 0,
    )
    return Result(_NONE, (snapshot_record(known.key, value),))


def read(known: Known, leader_epoch: int, per_snapshot: int, now_ms: int) -> Result[PersistedState | ErrorCode]:
    """All of it, for its leader; a new one is remembered. Refused: 42, 74, 3."""
    found = verdict(Asked.READ, known.state, leader_epoch=leader_epoch)
    if found.error or not known.exists:
        return Result(found.error or _GONE)
    state = known.state
    assert state is not None
    answer = PersistedState(state.state_epoch, state.start_offset, state.delivery_complete_count, state.batches)
    if found.writes is Writes.NOTHING:
        return Result(answer)
    change = Change(NOT_SET, leader_epoch, state.start_offset, state.delivery_complete_count, ())
    return Result(answer, (_changed(known.key, state, change, leader_epoch, per_snapshot, now_ms),))


def write(known: Known, change: Change, per_snapshot: int, now_ms: int) -> Result[ErrorCode]:
    """Add to it. Higher epochs are accepted and not kept. Refused: 42, 74, 124, 3; -1 what is too much for a record."""
    error = verdict(Asked.WRITE, known.state, leader_epoch=change.leader_epoch, state_epoch=change.state_epoch).error
    if error or not known.exists:
        return Result(error or _GONE)
    state = known.state
    assert state is not None
    if len(change.batches) > MOST_BATCHES or len(pruned(state.batches, change.start_offset)) + len(change.batches) > MOST_KNOWN:
        return Result(ErrorCode.UNKNOWN_SERVER_ERROR)
    return Result(_NONE, (_changed(known.key, state, change, state.leader_epoch, per_snapshot, now_ms),))


def summary(state: ShareState | None) -> StateSummary:
    """How far it is."""
    if state is None:
        return StateSummary()
    return StateSummary(state.state_epoch, state.leader_epoch, state.start_offset, state.delivery_complete_count)


def delete(key: SharePartitionKey, state: ShareState | None) -> Result[ErrorCode]:
    """Forget it; what is not there is no error."""
    gone = verdict(Asked.DELETE, state).writes is Writes.TOMBSTONE
    return Result(_NONE, (tombstone(key),) if gone else ())


def _changed(
    key: SharePartitionKey, state: ShareState, change: Change, leader_epoch: int, per_snapshot: int, now_ms: int
) -> CoordinatorRecord:
    """An update, or a snapshot when there were `per_snapshot` updates since the last."""
    if state.updates < per_snapshot:
        update = ShareUpdateValue(
            state.snapshot_epoch,
            leader_epoch,
            change.start_offset,
            merged((), change.batches, change.start_offset),
            change.delivery_complete_count,
        )
        update_key = ShareUpdateKey(*key)
        return CoordinatorRecord(update_key.encode(), update.encode(), (update_key, update))
    start_offset = state.start_offset if change.start_offset == NOT_SET else change.start_offset
    snapshot = ShareSnapshotValue(
        snapshot_epoch=state.snapshot_epoch + 1,
        state_epoch=state.state_epoch,
        leader_epoch=leader_epoch,
        start_offset=start_offset,
        create_timestamp=now_ms,
        write_timestamp=now_ms,
        state_batches=merged(state.batches, change.batches, start_offset),
        delivery_complete_count=change.delivery_complete_count,
    )
    return snapshot_record(key, snapshot)


def cold_snapshot(key: SharePartitionKey, state: ShareState, now_ms: int) -> CoordinatorRecord:
    """What is known, once more, so that the log below can be cut off. That nobody wrote it shows in its two times."""
    value = ShareSnapshotValue(
        snapshot_epoch=state.snapshot_epoch + 1,
        state_epoch=state.state_epoch,
        leader_epoch=state.leader_epoch,
        start_offset=state.start_offset,
        create_timestamp=state.create_timestamp_ms,
        write_timestamp=now_ms,
        state_batches=state.batches,
        delivery_complete_count=state.delivery_complete_count,
    )
    return snapshot_record(key, value)


def snapshot_record(key: SharePartitionKey, value: ShareSnapshotValue) -> CoordinatorRecord:
    """All of a share partition."""
    snapshot_key = ShareSnapshotKey(*key)
    return CoordinatorRecord(snapshot_key.encode(), value.encode(), (snapshot_key, value))


def tombstone(key: SharePartitionKey) -> CoordinatorRecord:
    """Its end; always under the key of a snapshot."""
    return CoordinatorRecord(ShareSnapshotKey(*key).encode(), None)
