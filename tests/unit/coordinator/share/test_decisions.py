"""What a request to the share coordinator writes."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest
from oncelog.coordinator.share.decisions import (
    MOST_BATCHES,
    MOST_KNOWN,
    Change,
    Known,
    cold_snapshot,
    delete,
    initialize,
    read,
    summary,
    tombstone,
    write,
)
from oncelog.coordinator.share.state import PersistedState, SharePartitionKey, ShareState
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.internal.records import decode_key
from oncelog.protocol.internal.share_state import ShareSnapshotKey, ShareSnapshotValue, ShareUpdateKey, ShareUpdateValue
from oncelog.protocol.names import SHARE_GROUP_STATE
from support.share_bench import ACKNOWLEDGED, batch

KEY = SharePartitionKey("g", uuid.UUID(int=7), 0)
STATE = ShareState(
    snapshot_epoch=3,
    state_epoch=4,
    leader_epoch=2,
    highest_leader_epoch=2,
    start_offset=5,
    delivery_complete_count=1,
    batches=(batch(5, 9), batch(10, 10, ACKNOWLEDGED)),
    create_timestamp_ms=100,
    write_timestamp_ms=100,
    updates=1,
    snapshot_offset=0,
)
KNOWN, NEW, GONE = Known(KEY, STATE, exists=True), Known(KEY, None, exists=True), Known(KEY, STATE, exists=False)
NOW = 1000


def contents(result: object) -> list[object]:
    return [record.content[1] for record in result.records]  # type: ignore[attr-defined]


def test_initialize_forgets_what_was_in_flight() -> None:
    assert contents(initialize(NEW, 0, 5, NOW)) == [ShareSnapshotValue(0, 0, 0, 5, NOW, NOW, (), 0)]
    assert contents(initialize(NEW, 2, -1, NOW)) == [ShareSnapshotValue(0, 2, 0, -1, NOW, NOW, (), -1)]
    assert contents(initialize(KNOWN, 6, 0, NOW)) == [ShareSnapshotValue(4, 6, 0, 0, NOW, NOW, (), 0)]


def test_a_state_epoch_never_falls() -> None:
    assert initialize(KNOWN, 3, 0, NOW).response is ErrorCode.FENCED_STATE_EPOCH
    assert contents(initialize(KNOWN, -1, 0, NOW)) == [ShareSnapshotValue(4, 4, 0, 0, NOW, NOW, (), 0)]


def test_a_new_leader_that_reads_is_remembered() -> None:
    told = PersistedState(4, 5, 1, STATE.batches)
    assert read(KNOWN, 2, 500, NOW) == (told, (), ())
    newer = read(KNOWN, 3, 500, NOW)
    assert newer.response == told
    assert contents(newer) == [ShareUpdateValue(3, 3, 5, (), 1)]


def test_a_write_adds_an_update_with_the_epochs_that_are_known() -> None:
    change = Change(9, 9, -1, 2, (batch(6, 6, ACKNOWLEDGED), batch(5, 5, ACKNOWLEDGED)))
    written = write(KNOWN, change, 500, NOW)
    assert written.response is ErrorCode.NONE
    assert contents(written) == [ShareUpdateValue(3, 2, -1, (batch(5, 6, ACKNOWLEDGED),), 2)]


def test_after_enough_updates_a_write_is_a_snapshot_of_everything() -> None:
    change = Change(4, 2, 7, 2, (batch(7, 8, ACKNOWLEDGED),))
    expected = ShareSnapshotValue(4, 4, 2, 7, NOW, NOW, (batch(7, 8, ACKNOWLEDGED), batch(9, 9), batch(10, 10, ACKNOWLEDGED)), 2)
    assert contents(write(KNOWN, change, 1, NOW)) == [expected]
    assert contents(write(KNOWN, change, 0, NOW)) == [expected]
    kept = write(KNOWN, change._replace(start_offset=-1), 1, NOW)
    assert contents(kept)[0].start_offset == 5  # type: ignore[attr-defined]


@pytest.mark.parametrize("known", [GONE, Known(KEY, None, exists=False)])
def test_of_partitions_that_are_not_there_nothing_is_begun_read_or_written(known: Known) -> None:
    change = Change(4, 2, 0, 0, ())
    never = ErrorCode.INVALID_REQUEST if known.state is None else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert initialize(known, 4, 0, NOW) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, (), ())
    assert read(known, 2, 500, NOW) == (never, (), ())
    assert write(known, change, 500, NOW) == (never, (), ())


def test_a_write_of_too_many_batches_is_refused_before_anything_is_done_with_them() -> None:
    many = tuple(batch(2 * n, 2 * n) for n in range(MOST_BATCHES + 1))
    assert write(KNOWN, Change(4, 2, 0, 0, many), 500, NOW) == (ErrorCode.UNKNOWN_SERVER_ERROR, (), ())
    assert write(KNOWN, Change(4, 2, 0, 0, many[:-1]), 500, NOW).response is ErrorCode.NONE


def test_what_is_known_does_not_grow_beyond_what_a_snapshot_can_hold() -> None:
    full = replace(STATE, batches=tuple(batch(2 * n, 2 * n) for n in range(MOST_KNOWN)))
    one_more = Change(4, 2, -1, 0, (batch(0, 0, ACKNOWLEDGED),))
    assert write(KNOWN._replace(state=full), one_more, 500, NOW) == (ErrorCode.UNKNOWN_SERVER_ERROR, (), ())
    room = one_more._replace(start_offset=1)
    assert write(KNOWN._replace(state=full), room, 500, NOW).response is ErrorCode.NONE


def test_an_end_is_written_under_the_key_of_a_snapshot_and_only_once() -> None:
    (record,) = delete(KEY, STATE).records
    assert record == tombstone(KEY)
    assert decode_key(SHARE_GROUP_STATE, record.key) == ShareSnapshotKey(*KEY)
    assert record.value is None
    assert delete(KEY, None) == (ErrorCode.NONE, (), ())


def test_the_summary_of_nothing_is_nothing() -> None:
    assert summary(None) == (0, 0, -1, -1)
    assert summary(STATE) == (4, 2, 5, 1)


def test_a_cold_snapshot_says_the_same_once_more() -> None:
    value = cold_snapshot(KEY, STATE, NOW).content[1]
    assert value == ShareSnapshotValue(4, 4, 2, 5, 100, NOW, STATE.batches, 1)


def test_records_bear_their_content_as_it_will_be_read() -> None:
    (record,) = write(KNOWN, Change(4, 2, 0, 0, ()), 500, NOW).records
    key, value = record.content
    assert (key, ShareUpdateKey(*KEY)) == (ShareUpdateKey(*KEY), decode_key(SHARE_GROUP_STATE, record.key))
    assert ShareUpdateValue.decode(record.value or b"") == value
