"""The log of the share coordinator is kept short, and nothing that counts is cut off."""

from __future__ import annotations

import pytest
from oncelog.coordinator.share.persister import SharePartitionKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import SHARE_GROUP_STATE
from support.memory_logs import MemoryLog, MemoryLogs
from support.share_bench import ACKNOWLEDGED, ShareBench, batch

FIVE_MINUTES = 300_000


def log_of(bench: ShareBench, key: SharePartitionKey) -> MemoryLog:
    return bench.logs.at(SHARE_GROUP_STATE, bench.persister.runtime.partition_for(key.coordinator_key))


@pytest.fixture
def bench() -> ShareBench:
    return ShareBench(state_topic_num_partitions=1, snapshot_update_records_per_snapshot=4)


def written(bench: ShareBench, key: SharePartitionKey, updates: int) -> None:
    assert bench.initialize(key) is ErrorCode.NONE
    for n in range(updates):
        assert bench.write(key, batch(n, n, ACKNOWLEDGED), start=n, complete=1) is ErrorCode.NONE


def test_what_a_snapshot_says_anew_is_cut_off(bench: ShareBench) -> None:
    key = bench.key()
    written(bench, key, 6)  # a snapshot, four updates, a snapshot, an update
    log = log_of(bench, key)
    before = bench.read(key)
    bench.advance(FIVE_MINUTES - 1)
    assert log.log_start_offset == 0
    bench.advance(1)
    assert log.log_start_offset == 7  # a snapshot was due: nobody had written one for so long
    assert log.log_end_offset == 8
    assert bench.restart().read(key) == before


def test_one_that_nobody_writes_to_does_not_hold_the_others_back(bench: ShareBench) -> None:
    cold, hot = bench.key(0), bench.key(1)
    written(bench, cold, 1)
    written(bench, hot, 20)
    bench.advance(FIVE_MINUTES)
    log = log_of(bench, cold)
    assert log.log_start_offset == log.log_end_offset - 2
    before = bench.read(cold), bench.read(hot)
    end = log.log_end_offset
    for _ in range(3):  # nothing would be gained
        bench.advance(FIVE_MINUTES)
    assert log.log_end_offset == end
    again = bench.restart()
    assert (again.read(cold), again.read(hot)) == before


def test_nothing_is_cut_before_what_replaces_it_is_on_disk(bench: ShareBench) -> None:
    key = bench.key()
    written(bench, key, 4)
    log = log_of(bench, key)
    log_end = log.log_end_offset
    bench.logs.holds_syncs = True
    bench.advance(FIVE_MINUTES)
    assert log.log_end_offset == log_end + 1
    assert log.log_start_offset == 0
    bench.logs.flush()
    assert log.log_start_offset == log_end


def test_what_is_written_meanwhile_is_not_cut(bench: ShareBench) -> None:
    key, other = bench.key(0), bench.key(1)
    written(bench, key, 4)
    log = log_of(bench, key)
    bench.logs.holds_syncs = True
    bench.advance(FIVE_MINUTES)
    written_now = bench.persister.initialize(other, 0, 3)
    bench.logs.flush()
    assert written_now is not None
    assert log.log_start_offset == 5
    assert bench.restart().summary(other) == bench.summary(other) == (0, 0, 3, 0)


def test_when_everything_is_deleted_everything_is_cut(bench: ShareBench) -> None:
    key = bench.key()
    written(bench, key, 2)
    assert bench.delete(key) == [ErrorCode.NONE]
    bench.advance(FIVE_MINUTES)
    log = log_of(bench, key)
    assert log.log_start_offset == log.log_end_offset == 4


def test_many_are_written_anew_a_few_in_a_turn(bench: ShareBench) -> None:
    keys = [bench.key(0, f"g-{n}") for n in range(250)]
    for key in keys:
        bench.initialize(key)
    bench.write(keys[0], batch(0, 0))
    turns = 0
    bench.clock.now_ms += FIVE_MINUTES
    while (deadline := bench.persister.next_deadline_ms()) is not None and deadline <= bench.clock.now_ms:
        before = log_of(bench, keys[0]).log_end_offset
        bench.persister.runtime.timers.fire(bench.clock.now_ms, lambda: True)
        assert log_of(bench, keys[0]).log_end_offset - before <= 100
        turns += 1
    assert turns > 3
    assert log_of(bench, keys[0]).log_end_offset == 251 + 250
    bench.advance(FIVE_MINUTES)
    assert log_of(bench, keys[0]).log_start_offset == 251


def test_a_disk_that_refuses_leaves_everything_as_it_is_and_is_told(bench: ShareBench, caplog: pytest.LogCaptureFixture) -> None:
    key = bench.key()
    written(bench, key, 3)
    log = log_of(bench, key)
    log.fail_with = ErrorCode.KAFKA_STORAGE_ERROR
    bench.advance(FIVE_MINUTES)
    assert log.log_start_offset == 0
    assert "share state not written anew" in caplog.text
    log.fail_with = None
    bench.advance(FIVE_MINUTES)
    assert log.log_start_offset > 0


def test_state_of_a_deleted_topic_is_forgotten_also_after_a_restart(bench: ShareBench) -> None:
    keys = [bench.key(0, f"g-{n}") for n in range(250)]
    for key in keys:
        bench.initialize(key)
    bench.logs.create_topic("other", 1)
    topics = bench.logs.topics
    gone = topics.by_name.pop("orders")
    after_restart = bench.restart(bench.logs.rebuilt(bench.logs.journal))
    for one in (bench, after_restart):
        one.persister.on_topic_deleted("orders")
        one.persister.on_topic_deleted("other")
        one.advance(0)
        assert not one.persister.runtime.shard(0).states
    assert gone.name not in topics.by_name


def test_nothing_is_made_where_nothing_was_written() -> None:
    bench = ShareBench(MemoryLogs())
    bench.advance(FIVE_MINUTES)
    assert bench.logs.topics.get(SHARE_GROUP_STATE) is None


def test_who_uses_no_share_groups_is_not_woken_for_them(bench: ShareBench) -> None:
    bench.advance(1)
    assert bench.persister.next_deadline_ms() is None
    written(bench, bench.key(), 1)
    assert bench.persister.next_deadline_ms() is not None
    again = bench.restart()
    again.advance(1)
    assert again.persister.next_deadline_ms() is not None
