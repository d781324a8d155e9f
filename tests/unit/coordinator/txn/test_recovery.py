"""A crash at every write, with and without losing what was not synced: all or none, one marker each, nothing stays open."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oncelog.coordinator.deferred import Deferred
from oncelog.coordinator.txn.producer_ids import FIRST_PRODUCER_ID as P
from oncelog.coordinator.txn.state import TransactionState as S
from oncelog.protocol.errors import ErrorCode as E
from oncelog.protocol.errors import KafkaError
from oncelog.protocol.names import TopicPartition
from support.memory_logs import MemoryLog, MemoryLogs
from support.txn_bench import TIMEOUT_MS, Bench

PARTITIONS = 40


def ended(version: int, commit: bool, epoch: int = 0) -> tuple[Bench, int, int]:
    """A transaction over many partitions, ended; the number of writes before the end began and after it was answered."""
    logs = MemoryLogs()
    logs.create_topic("a", PARTITIONS)
    bench = Bench(logs)
    bench.force(S.EMPTY, epoch)
    everything = range(PARTITIONS)
    if version == 5:
        bench.produce((P, epoch), *everything)
    else:
        bench.add((P, epoch), *everything)
        for partition in everything:
            logs.at("a", partition).write(P, epoch, bench.clock.now_ms)
    before = len(logs.journal)
    bench.advance(5)
    assert bench.end((P, epoch), commit, version).error is E.NONE
    return bench, before, len(logs.journal)


def outcomes(logs: MemoryLogs) -> set[tuple[bool, int]]:
    found = {(marker.commit, marker.epoch) for log in logs.logs() if log.topic_partition.topic == "a" for marker in log.markers()}
    counts = {len(log.markers()) for log in logs.logs() if log.topic_partition.topic == "a"}
    assert counts == {1}, "exactly one marker each"
    assert not [log for log in logs.logs() if log.open_transactions()]
    return found


@pytest.mark.parametrize(("version", "commit", "epoch"), [(5, True, 0), (5, False, 0), (3, True, 0), (3, False, 0), (5, True, 32766)])
def test_case_49_50_51_kill_at_every_write_of_the_end(version: int, commit: bool, epoch: int) -> None:
    bench, before, after = ended(version, commit, epoch)
    assert after - before == PARTITIONS + 2
    for writes in range(before, after + 1):
        bench.clock.now_ms += 10
        again = bench.restart(bench.logs.after_kill(writes))
        if writes == before:  # not decided: the timeout ends it
            assert again.txn().state is S.ONGOING
            again.advance(TIMEOUT_MS + 1)
            assert {commit for commit, _ in outcomes(again.logs)} == {False}
        else:
            marker_epoch = epoch + 1 if version == 5 else epoch
            assert outcomes(again.logs) == {(commit, marker_epoch)}
            assert again.txn().state is (S.COMPLETE_COMMIT if commit else S.COMPLETE_ABORT)
        assert not again.service.runtime.shard_of("t").is_pending("t")


def test_second_kill_inside_the_recovery() -> None:
    bench, before, after = ended(5, commit=True)
    for first in range(before + 1, after):
        bench.clock.now_ms += 10
        once = bench.restart(bench.logs.after_kill(first))
        for second in range(first, len(once.logs.journal), 7):
            twice = once.restart(once.logs.after_kill(second))
            assert outcomes(twice.logs) == {(True, 1)}


def test_partition_without_data_gets_its_marker_once() -> None:
    bench = Bench()
    bench.init()
    bench.add((P, 0), 0, 1)
    bench.logs.at("a", 0).write(P, 0, bench.clock.now_ms)
    before = len(bench.logs.journal)
    bench.end((P, 0), commit=True, version=3)
    for writes in range(before + 1, len(bench.logs.journal) + 1):
        bench.clock.now_ms += 10
        again = bench.restart(bench.logs.after_kill(writes))
        assert [len(again.logs.at("a", partition).markers()) for partition in (0, 1)] == [1, 1]


@pytest.mark.parametrize("version", [3, 5])
@pytest.mark.parametrize("broken", [False, True])
def test_a_marker_written_again_is_on_disk_before_the_id_goes_on(version: int, broken: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the next power cut takes it once more, and the id's next transaction hides that this one was committed."""
    bench, _, _ = ended(version, commit=True)
    left = bench.logs.after_power_cut(lambda tp, _synced, total: total - (tp == TopicPartition("a", 7)))
    assert left.at("a", 7).open_transactions()
    left.holds_syncs = True

    def refuse(log: MemoryLog) -> None:
        log.break_disk()
        raise KafkaError(E.KAFKA_STORAGE_ERROR)

    if broken:
        monkeypatch.setattr(MemoryLog, "flush", refuse)
    again = bench.restart(left)
    mended = left.at("a", 7)
    assert [marker.commit for marker in mended.markers()] == [True]
    assert (mended.high_watermark == mended.log_end_offset) is not broken
    assert again.service.runtime.shard_of("t").is_pending("t") is broken


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_power_cut_at_any_moment_keeps_what_was_answered(data: st.DataObject) -> None:
    """Every partition keeps a prefix of its own that is at least what it had synced; the outcome is the same everywhere."""
    version = data.draw(st.sampled_from([3, 5]))

    async def scenario() -> None:
        logs = MemoryLogs(holds_syncs=True)
        logs.create_topic("a", 4)
        bench = Bench(logs)
        opened = bench.service.init_producer_id("t", TIMEOUT_MS)
        logs.flush()
        assert isinstance(opened, Deferred)
        opened.result()
        partitions = [TopicPartition("a", n) for n in range(4)]
        if version == 5:
            bench.service.admit("t", P, 0, partitions, implicit_add=True)
        else:
            bench.service.add_partitions("t", P, 0, partitions)
            logs.flush()  # the client waits for this answer before it produces
        for n in range(4):
            logs.at("a", n).write(P, 0, bench.clock.now_ms)
        everybody = [log for log in logs.logs() if log.log_end_offset]
        some = data.draw(st.lists(st.sampled_from(everybody), max_size=6))
        for log in some:
            log.flush()
        answered = False
        if data.draw(st.booleans()):
            logs.flush()  # the client waits for its records before it commits
            bench.clock.now_ms += 5
            reply = bench.service.end_txn("t", P, 0, True, api_version=version)
            for log in data.draw(st.lists(st.sampled_from(everybody), max_size=8)):
                log.flush()
            answered = not isinstance(reply, Deferred) or reply.done
        left = logs.after_power_cut(lambda tp, synced, total: data.draw(st.integers(synced, total), label=str(tp)))
        left_open = {log.topic_partition.partition for log in left.logs() if log.open_transactions() or log.markers()}
        bench.clock.now_ms += 10
        after = bench.restart(left)
        found = {marker.commit for log in after.logs.logs() for marker in log.markers()}
        if answered:
            assert found == {True}
            assert left_open == {0, 1, 2, 3}
        after.advance(TIMEOUT_MS + 1)
        ends = {marker.commit for log in after.logs.logs() for marker in log.markers()}
        assert len(ends) <= 1, "all or none"
        assert not [log for log in after.logs.logs() if log.open_transactions()]

    asyncio.run(scenario())


def test_orphan_is_aborted_so_that_later_commits_are_visible() -> None:
    bench = Bench()
    bench.logs.at("a").write(77, 3)
    again = bench.restart()
    assert [marker[1:] for marker in again.logs.at("a").markers()] == [(77, 3, False)]
    assert not again.logs.at("a").open_transactions()


def test_marker_for_offsets_is_told_at_start_up_too() -> None:
    bench = Bench()
    bench.init()
    bench.add((P, 0), 3, topic="__consumer_offsets")
    bench.logs.at("__consumer_offsets", 3).write(P, 0)
    before = len(bench.logs.journal)
    bench.end((P, 0), commit=True)
    again = bench.restart(bench.logs.after_kill(before + 1))
    assert again.offsets_markers == [(3, P, 1, True, 1)]


def test_producer_ids_stay_clear_of_what_the_logs_know() -> None:
    bench = Bench()
    bench.logs.at("a").write(P + 5000, 0)
    again = Bench(bench.logs.after_kill(99), clock=bench.clock, next_id=None)
    assert again.init(None).producer_id == P + 5001
