"""What records add up to."""

from __future__ import annotations

import uuid

from oncelog.coordinator.result import CoordinatorRecord
from oncelog.coordinator.share.decisions import snapshot_record, tombstone
from oncelog.coordinator.share.shard import ShareShard
from oncelog.coordinator.share.state import SharePartitionKey
from oncelog.protocol.internal.share_state import ShareSnapshotValue, ShareUpdateKey, ShareUpdateValue
from support.share_bench import ACKNOWLEDGED, batch

KEY = SharePartitionKey("g", uuid.UUID(int=7), 0)
OTHER = KEY._replace(partition=1)


def replayed(*records: CoordinatorRecord, as_found: bool = False, start: int = 0) -> ShareShard:
    """`as_found`: in the log, so without their content."""
    shard = ShareShard(0)
    for offset, record in enumerate(records, start):
        content = None if as_found else record.content
        shard.replay(record.key, record.value, offset=offset, producer_id=-1, producer_epoch=-1, timestamp_ms=0, content=content)
    return shard


def snapshot(key: SharePartitionKey = KEY, *, epoch: int = 0, leader: int = 0, start: int = 0) -> CoordinatorRecord:
    return snapshot_record(key, ShareSnapshotValue(epoch, 4, leader, start, 10, 10, (batch(5, 9),), 0))


def update(key: SharePartitionKey = KEY, *, leader: int = 0, start: int = -1) -> CoordinatorRecord:
    update_key, value = ShareUpdateKey(*key), ShareUpdateValue(0, leader, start, (batch(5, 6, ACKNOWLEDGED),), 2)
    return CoordinatorRecord(update_key.encode(), value.encode(), (update_key, value))


def test_updates_add_to_the_snapshot() -> None:
    for as_found in (False, True):
        state = replayed(snapshot(), update(leader=3), as_found=as_found).states[KEY]
        assert (state.state_epoch, state.leader_epoch, state.start_offset, state.delivery_complete_count) == (4, 3, 0, 2)
        assert state.batches == (batch(5, 6, ACKNOWLEDGED), batch(7, 9))
        assert (state.updates, state.snapshot_offset) == (1, 0)


def test_a_start_offset_prunes_and_may_fall() -> None:
    shard = replayed(snapshot(start=3), update(start=8))
    assert shard.states[KEY].start_offset == 8
    assert shard.states[KEY].batches == (batch(8, 9),)
    assert replayed(snapshot(start=3), update(start=8), update(start=2)).states[KEY].start_offset == 2


def test_a_new_life_does_not_let_an_old_leader_in_again() -> None:
    state = replayed(snapshot(), update(leader=3), snapshot(epoch=1)).states[KEY]
    assert (state.leader_epoch, state.highest_leader_epoch, state.updates) == (0, 3, 0)


def test_a_tombstone_ends_it() -> None:
    for as_found in (False, True):
        assert replayed(snapshot(), update(), tombstone(KEY), as_found=as_found).states == {}


def test_an_update_without_its_snapshot_says_more_than_nothing() -> None:
    state = replayed(update(leader=2, start=5), start=7).states[KEY]
    assert (state.start_offset, state.highest_leader_epoch, state.state_epoch, state.snapshot_offset) == (5, 2, 0, -1)
    assert replayed(update(), snapshot()).states == replayed(snapshot(), start=1).states


def test_what_is_needed_begins_at_the_oldest_snapshot() -> None:
    assert replayed().oldest_needed(9) == 9
    assert replayed(snapshot(), snapshot(OTHER), update(OTHER), snapshot(epoch=1), update()).oldest_needed(5) == 1
    assert replayed(snapshot(), snapshot(OTHER), tombstone(OTHER), snapshot(epoch=1)).oldest_needed(4) == 3


def test_other_types_of_records_are_passed_over() -> None:
    shard = replayed(snapshot(), CoordinatorRecord(bytes.fromhex("0002ab"), b"x"))
    assert list(shard.states) == [KEY]
    shard.replay_marker(1, 0, True, 5)
    assert list(shard.states) == [KEY]
