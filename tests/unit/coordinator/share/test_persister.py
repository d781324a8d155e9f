"""The persister as those use it who serve share groups."""

from __future__ import annotations

import pytest
from oncelog.coordinator.deferred import Deferred
from oncelog.coordinator.share.persister import PersistedState, StateSummary
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.internal.share_state import ShareSnapshotKey, ShareUpdateKey
from oncelog.protocol.names import SHARE_GROUP_STATE
from support.memory_logs import MemoryLogs
from support.share_bench import ACKNOWLEDGED, AVAILABLE, ShareBench, batch

_E = ErrorCode


def test_a_life_from_beginning_to_end(bench: ShareBench) -> None:
    key = bench.key()
    assert bench.summary(key) == StateSummary(0, 0, -1, -1)
    assert bench.initialize(key, 0, 5) is _E.NONE
    assert bench.read(key) == PersistedState(0, 5, 0, ())
    batches = (batch(5, 9), batch(10, 14, ACKNOWLEDGED))
    assert bench.write(key, *batches, start=5, complete=5) is _E.NONE
    assert bench.read(key) == PersistedState(0, 5, 5, batches)
    assert bench.summary(key) == StateSummary(0, 0, 5, 5)
    assert bench.delete(key, key) == [_E.NONE, _E.NONE]
    assert bench.summary(key) == StateSummary()


def test_epochs_fence(bench: ShareBench) -> None:
    key = bench.key()
    assert bench.initialize(key, 3) is _E.NONE
    assert bench.write(key, state_epoch=2) is _E.FENCED_STATE_EPOCH
    assert bench.write(key, state_epoch=4) is _E.NONE
    assert bench.write(key, state_epoch=3) is _E.NONE
    assert bench.initialize(key, 2, -1) is _E.FENCED_STATE_EPOCH
    assert bench.initialize(key, 4) is _E.NONE
    assert bench.read(key, 2) == PersistedState(4, 0, 0, ())
    assert bench.write(key, state_epoch=4, leader_epoch=1) is _E.FENCED_LEADER_EPOCH
    assert bench.read(key, 1) is _E.FENCED_LEADER_EPOCH
    assert bench.write(key, state_epoch=4, leader_epoch=7) is _E.NONE
    assert bench.summary(key) == StateSummary(4, 2, 0, -1)
    for one in (bench, bench.restart()):
        assert one.write(key, state_epoch=4, leader_epoch=1) is _E.FENCED_LEADER_EPOCH
        assert one.write(key, state_epoch=3, leader_epoch=2) is _E.FENCED_STATE_EPOCH


def test_a_start_offset_prunes_and_minus_one_keeps_it(bench: ShareBench) -> None:
    key = bench.key()
    bench.initialize(key)
    bench.write(key, batch(0, 9))
    bench.write(key, start=5)
    assert bench.read(key) == PersistedState(0, 5, -1, (batch(5, 9),))
    bench.write(key, batch(8, 8, ACKNOWLEDGED), start=-1, complete=1)
    assert bench.read(key) == PersistedState(0, 5, 1, (batch(5, 7), batch(8, 8, ACKNOWLEDGED), batch(9, 9)))
    bench.write(key, start=2, complete=1)
    assert bench.read(key) == PersistedState(0, 2, 1, (batch(5, 7), batch(8, 8, ACKNOWLEDGED), batch(9, 9)))


def test_a_snapshot_comes_after_so_many_updates() -> None:
    bench = ShareBench(snapshot_update_records_per_snapshot=5)
    key = bench.key()
    bench.initialize(key)
    for n in range(12):
        bench.write(key, batch(n, n, ACKNOWLEDGED), start=n, complete=1)
    kinds = [type(key) for key, _ in bench.records()]
    snapshot, update = ShareSnapshotKey, ShareUpdateKey
    assert kinds == [snapshot, *[update] * 5, snapshot, *[update] * 5, snapshot]
    epochs = [value.snapshot_epoch for key, value in bench.records() if isinstance(key, snapshot)]  # type: ignore[union-attr]
    assert epochs == [0, 1, 2]
    assert bench.restart().read(key) == bench.read(key) == PersistedState(0, 11, 1, (batch(11, 11, ACKNOWLEDGED),))


def test_what_was_never_initialized_and_what_does_not_exist(bench: ShareBench) -> None:
    never, beyond = bench.key(), bench.key(4)
    assert bench.write(never, batch(0, 1)) is _E.INVALID_REQUEST
    assert bench.read(never) is _E.INVALID_REQUEST
    assert bench.initialize(beyond) is _E.UNKNOWN_TOPIC_OR_PARTITION
    assert bench.initialize(never._replace(partition=-1)) is _E.UNKNOWN_TOPIC_OR_PARTITION
    assert bench.delete(never, beyond) == [_E.NONE, _E.NONE]
    assert bench.logs.topics.get(SHARE_GROUP_STATE) is None  # none of it wrote anything


def test_the_topic_is_made_by_the_first_write(bench: ShareBench) -> None:
    bench.initialize(bench.key())
    topic = bench.logs.topics.get(SHARE_GROUP_STATE)
    assert topic is not None
    assert topic.partitions == 3
    assert (topic.configs["cleanup.policy"], topic.configs["retention.ms"]) == ("delete", "-1")


def test_answers_wait_for_the_disk_and_so_do_those_that_rest_on_them() -> None:
    bench = ShareBench()
    key = bench.key()
    bench.initialize(key)
    bench.logs.holds_syncs = True
    written = bench.persister.write(key, 0, 0, 0, 1, [batch(0, 0, ACKNOWLEDGED)])
    read = bench.persister.read(key, 0)
    summary = bench.persister.summary([key, bench.key(1)])
    waiting = [written, read, summary]
    assert all(isinstance(reply, Deferred) and not reply.done for reply in waiting)
    bench.logs.flush()
    assert [reply.result() for reply in waiting if isinstance(reply, Deferred)] == [
        _E.NONE,
        PersistedState(0, 0, 1, (batch(0, 0, ACKNOWLEDGED),)),
        [StateSummary(0, 0, 0, 1), StateSummary()],
    ]


def test_a_disk_that_fails_is_told_in_the_coordinators_words(bench: ShareBench) -> None:
    key = bench.key()
    bench.initialize(key)
    before = bench.read(key)
    log = bench.logs.at(SHARE_GROUP_STATE, bench.persister.runtime.partition_for(key.coordinator_key))
    log.fail_with = _E.KAFKA_STORAGE_ERROR
    assert bench.write(key, batch(0, 0)) is _E.NOT_COORDINATOR
    assert bench.delete(key) == [_E.NOT_COORDINATOR]
    assert bench.read(key) == before  # what could not be written is not so


def test_until_everything_is_read_nothing_is_said(bench: ShareBench) -> None:
    key = bench.key()
    bench.initialize(key)
    bench.persister.runtime.loading = True
    loading = _E.COORDINATOR_LOAD_IN_PROGRESS
    assert bench.initialize(key) is bench.read(key) is bench.write(key) is bench.summary(key) is loading
    assert bench.delete(key) == [loading]
    bench.persister.on_topic_deleted("orders")


def test_with_its_topic_everything_is_forgotten_and_goes_on_anew(bench: ShareBench) -> None:
    key = bench.key()
    bench.initialize(key, 7)
    bench.logs.delete_topic(SHARE_GROUP_STATE)
    bench.persister.on_topic_deleted(SHARE_GROUP_STATE)
    assert bench.summary(key) == StateSummary()
    bench.advance(300_000)
    assert bench.initialize(key, 0, 3) is _E.NONE
    assert bench.restart().read(key) == PersistedState(0, 3, 0, ())


@pytest.mark.parametrize("writes", range(0, 40, 3))
def test_a_kill_loses_nothing_that_was_answered(writes: int) -> None:
    """After any number of writes: what is there is what was answered, or one step further."""
    bench = ShareBench(snapshot_update_records_per_snapshot=3)
    keys = [bench.key(n) for n in range(3)]
    history = [[bench.summary(key) for key in keys]]
    for n in range(14):
        for key in keys:
            if n % 7 == 0:
                bench.initialize(key, n, 0)
            else:
                bench.write(key, batch(n, n, (AVAILABLE, ACKNOWLEDGED)[n % 2], n), state_epoch=n, start=n, complete=n)
            history.append([bench.summary(each) for each in keys])
    after = bench.restart(killed(bench.logs, writes))
    assert [after.summary(key) for key in keys] == history[writes]


def killed(logs: MemoryLogs, writes: int) -> MemoryLogs:
    """The same topics, ids too, as a kill after so many writes leaves them."""
    after = logs.after_kill(writes)
    after.topics.by_name.update(logs.topics.by_name)
    return after
