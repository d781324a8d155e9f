"""The broker sleeps until something is due, however it came to be due, and no longer."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from oncelog.broker.lifecycle import Broker
from oncelog.broker.process.wakeups import HEARTBEAT_MS, Wakeups
from oncelog.coordinator.groups.classic.join import JoinGroup
from oncelog.coordinator.groups.classic.state import MemberProtocol
from oncelog.coordinator.txn.state import TransactionState
from oncelog.protocol.names import TopicPartition
from oncelog.protocol.records import build_batch
from support.simbroker import SimCluster
from support.simloop import SimLoop


@pytest.fixture
def loop() -> Iterator[SimLoop]:
    made = SimLoop()
    yield made
    made.close()


class Ticked:
    """Notes when it is called; `waits` are what it answers, then a long one."""

    def __init__(self, loop: SimLoop, *waits: float) -> None:
        self.loop, self.waits, self.at = loop, list(waits), list[int]()
        self.wakeups = Wakeups(self.tick)
        loop.call_soon(self.wakeups.start)

    def tick(self) -> float:
        self.at.append(round(self.loop.time() * 1000))
        wait = self.waits.pop(0) if self.waits else 3_600_000.0
        if wait < 0:
            raise RuntimeError("planted")
        return wait

    def run(self, ms: int) -> list[int]:
        self.loop.call_later(ms / 1000, self.loop.stop)
        self.loop.run_forever()
        return self.at


def test_it_sleeps_as_long_as_it_was_told_and_a_heartbeat_at_most(loop: SimLoop) -> None:
    assert Ticked(loop, 250, 0, 17, 900).run(3_500) == [0, 250, 251, 268, 1168, 2168, 3168]


def test_an_earlier_deadline_wakes_it_a_later_one_does_not(loop: SimLoop) -> None:
    ticked = Ticked(loop)
    for at, wait in ((100, 500), (200, 700), (300, 50), (301, 60)):
        loop.call_later(at / 1000, ticked.wakeups.within, wait)
    assert ticked.run(1_000) == [0, 350]


def test_what_is_due_at_once_leaves_the_loop_to_others(loop: SimLoop) -> None:
    ticked = Ticked(loop)
    loop.call_later(0.1, ticked.wakeups.within, -5)
    assert ticked.run(500) == [0, 101]


def test_a_tick_that_fails_is_told_and_is_not_the_last(loop: SimLoop) -> None:
    told: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _loop, context: told.append(context))
    assert Ticked(loop, 10, -1, 10).run(500) == [0, 10, 11, 21]
    assert [str(context["exception"]) for context in told] == ["planted"]


def test_after_the_end_nothing_wakes_it(loop: SimLoop) -> None:
    ticked = Ticked(loop)
    loop.call_later(0.1, ticked.wakeups.stop)
    loop.call_later(0.2, ticked.wakeups.within, 1)
    assert ticked.run(5_000) == [0]


class Idle:
    """A broker on virtual time that is woken by its own `Wakeups`; `ticks` counts them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.cluster = SimCluster(1)
        self.cluster.start()
        assert self.cluster.broker is not None
        assert self.cluster._ticking is not None
        self.cluster._ticking.cancel()
        self.broker: Broker = self.cluster.broker
        self.ticks = 0
        tick = self.broker.tick

        def counted() -> float:
            self.ticks += 1
            return tick()

        monkeypatch.setattr(self.broker.wakeups, "_tick", counted)
        self.soon(self.broker.wakeups.start)
        self.run(2_500)  # away from the heartbeats of the start

    def soon(self, action: Any) -> None:
        self.cluster.loop.call_soon(action)

    def run(self, ms: float) -> None:
        assert self.cluster.run(ms / 1000)
        assert self.cluster.errors == []


@pytest.fixture
def idle(monkeypatch: pytest.MonkeyPatch) -> Iterator[Idle]:
    made = Idle(monkeypatch)
    yield made
    made.cluster.loop.abandon()


def test_a_broker_without_clients_sleeps(idle: Idle) -> None:
    before = idle.ticks
    idle.run(60_000)
    assert idle.ticks - before <= 60_000 / HEARTBEAT_MS + 1


def test_a_transaction_is_aborted_at_its_deadline(idle: Idle) -> None:
    service = idle.broker.context.transactions
    idle.soon(lambda: service.init_producer_id("t", 333))
    idle.run(100)
    txn = service.runtime.shard_of("t").transactions["t"]
    idle.soon(lambda: service.add_partitions("t", txn.producer_id, txn.producer_epoch, [TopicPartition("gone", 0)]))
    idle.run(100)
    open_txn = service.runtime.shard_of("t").transactions["t"]
    assert open_txn.deadline_ms is not None
    idle.run(open_txn.deadline_ms - idle.cluster.clock.time_ms() - 2)
    assert service.runtime.shard_of("t").transactions["t"].state is TransactionState.ONGOING
    idle.run(4)
    assert service.runtime.shard_of("t").transactions["t"].state is not TransactionState.ONGOING


def test_a_silent_member_is_out_at_its_deadline(idle: Idle) -> None:
    groups = idle.broker.context.groups
    request = JoinGroup("g", "", None, "client", "/sim", 6_543, 6_543, "consumer", (MemberProtocol("range", b""),), "m-1", False, False)
    idle.soon(lambda: groups.join_group(request))
    idle.run(0)
    joined_ms = idle.cluster.clock.time_ms()
    group = groups.runtime.shard_of("g").groups["g"]
    delay_ms = idle.broker.config.group.group_initial_rebalance_delay_ms
    idle.run(delay_ms + 3)
    assert group.generation_id == 1  # the wait for others ended at its own deadline
    idle.run(6_543 - 10)
    assert list(group.members) == ["m-1"]
    idle.run(joined_ms + delay_ms + 6_543 + 3 - idle.cluster.clock.time_ms())
    assert group.members == {}


def test_the_folders_of_a_large_topic_are_renamed_piece_by_piece(idle: Idle, monkeypatch: pytest.MonkeyPatch) -> None:
    logs = idle.broker.logs
    logs.create_topic("wide", 30, {})
    for partition in range(30):
        log = logs.log(TopicPartition("wide", partition))
        assert log is not None
        idle.soon(partial(log.append, build_batch([(idle.cluster.clock.time_ms(), b"k", b"v")]), idle.cluster.clock.time_ms()))
    idle.run(5_300)
    monkeypatch.setattr("oncelog.storage.directory.folders.PIECE_MS", -1.0)  # one folder a piece
    ended: list[Any] = []
    ticks = idle.ticks
    while idle.ticks == ticks:  # the next heartbeat is far away
        idle.run(10)
    idle.soon(lambda: logs.begin_delete_topic("wide", ended.append))
    idle.run(30)
    assert logs.folders.busy
    idle.run(30 * 25)
    assert (ended, logs.folders.busy) == ([None], False)
