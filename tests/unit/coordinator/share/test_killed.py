"""The share coordinator dies before every change of its disk, killed or by power cut: what it answered is so, and nothing is half done."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from oncelog.coordinator.deferred import Deferred
from oncelog.coordinator.share.config import ShareCoordinatorConfig
from oncelog.coordinator.share.persister import SharePartitionKey, SharePersister, StateBatch
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import SHARE_GROUP_STATE
from oncelog.storage.config import LogConfig
from oncelog.storage.directory.manager import LogManager
from oncelog.storage.env import Env
from support.inline import InlineFlusher, SeededRandom
from support.share_bench import ACKNOWLEDGED, ARCHIVED, AVAILABLE, batch
from support.simfs import Died, SimFileSystem
from support.txn_bench import HandClock

DATA = Path("/data")
MINUTE_MS = 60_000
CONFIG = ShareCoordinatorConfig(
    state_topic_num_partitions=2,
    snapshot_update_records_per_snapshot=3,
    state_topic_prune_interval_ms=MINUTE_MS,
    cold_partition_snapshot_interval_ms=MINUTE_MS,
)


class Seen(NamedTuple):
    """All of a share partition; offset -> (count, state)."""

    state_epoch: int
    leader_epoch: int
    start_offset: int
    complete: int
    offsets: tuple[tuple[int, int, int], ...]


World = dict[int, Seen]  # by partition of the topic


class Machine:
    """One disk, and the persisters that live on it one after the other."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.fs = SimFileSystem(1, now_ms=self.clock.time_ms)
        self.logs = self.open()
        self.topic_id = self.logs.create_topic("orders", 4).topic_id
        self.logs.create_topic(SHARE_GROUP_STATE, 2, {**CONFIG.topic_configs(), "internal.segment.bytes": "600"})
        self.persister = self.begin()

    @property
    def env(self) -> Env:
        return Env(self.clock, SeededRandom(1), self.fs)

    def open(self) -> LogManager:
        logs = LogManager(self.env, DATA, LogConfig(), InlineFlusher())
        logs.start()
        return logs

    def begin(self) -> SharePersister:
        persister = SharePersister(self.env, self.logs, CONFIG)
        persister.start()
        return persister

    def restart(self) -> None:
        self.logs = self.open()
        self.persister = self.begin()

    def key(self, partition: int) -> SharePartitionKey:
        return SharePartitionKey("g", self.topic_id, partition)

    def pass_time(self, ms: int) -> None:
        self.clock.now_ms += ms
        while (deadline := self.persister.next_deadline_ms()) is not None and deadline <= self.clock.now_ms:
            self.persister.tick(self.clock.now_ms)
        self.logs.maintenance(self.clock.now_ms)

    def seen(self) -> World:
        states = {key: state for shard in self.persister.runtime.shards() for key, state in shard.states.items()}
        return {
            key.partition: Seen(
                state.state_epoch, state.leader_epoch, state.start_offset, state.delivery_complete_count, single_offsets(state.batches)
            )
            for key, state in states.items()
        }


def single_offsets(batches: tuple[StateBatch, ...]) -> tuple[tuple[int, int, int], ...]:
    return tuple((n, one.delivery_count, one.delivery_state) for one in batches for n in range(one.first_offset, one.last_offset + 1))


class Step(NamedTuple):
    """What is asked, and what the world is once it was answered."""

    ask: Callable[[Machine], object]
    after: Callable[[World], World]


def initialize(partition: int, state_epoch: int, start: int) -> Step:
    def after(world: World) -> World:
        return {**world, partition: Seen(state_epoch, 0, start, -1 if start == -1 else 0, ())}

    return Step(lambda machine: machine.persister.initialize(machine.key(partition), state_epoch, start), after)


def write(partition: int, *batches: StateBatch, start: int, complete: int) -> Step:
    def after(world: World) -> World:
        before = world[partition]
        offsets = {offset: (count, state) for offset, count, state in before.offsets}
        for offset, count, state in single_offsets(batches):
            offsets[offset] = max(offsets.get(offset, (0, 0)), (count, state))
        kept = tuple((offset, *offsets[offset]) for offset in sorted(offsets) if offset >= start)
        return {**world, partition: before._replace(start_offset=start, complete=complete, offsets=kept)}

    return Step(lambda machine: machine.persister.write(machine.key(partition), -1, -1, start, complete, batches), after)


def read(partition: int, leader_epoch: int) -> Step:
    return Step(
        lambda machine: machine.persister.read(machine.key(partition), leader_epoch),
        lambda world: {**world, partition: world[partition]._replace(leader_epoch=leader_epoch)},
    )


def delete(partition: int) -> Step:
    return Step(
        lambda machine: machine.persister.delete([machine.key(partition)]),
        lambda world: {number: seen for number, seen in world.items() if number != partition},
    )


def pass_time(ms: int) -> Step:
    """Cold snapshots, cuts, old segments removed: none of it changes what is known."""
    return Step(lambda machine: machine.pass_time(ms), dict)


def session() -> list[Step]:
    """Deliveries, releases and acknowledgements of three partitions, with everything that is written for them."""
    steps = [initialize(0, 1, 0), initialize(1, 1, -1), initialize(2, 1, 5)]
    for n in range(6):
        steps += [
            write(0, batch(2 * n, 2 * n + 1, AVAILABLE, 1), start=max(2 * n - 2, 0), complete=0),
            write(1, batch(n, n, ACKNOWLEDGED, n % 3 + 1), batch(n + 1, n + 3, AVAILABLE, 1), start=n, complete=1),
            write(0, batch(2 * n, 2 * n, ACKNOWLEDGED, 1), batch(2 * n + 1, 2 * n + 1, ARCHIVED, 2), start=max(2 * n - 2, 0), complete=2),
        ]
    steps += [read(0, 3), pass_time(MINUTE_MS), write(2, batch(5, 8), start=5, complete=0), delete(1), initialize(0, 2, 3)]
    steps += [pass_time(MINUTE_MS), initialize(1, 1, 0), write(1, batch(0, 0, ACKNOWLEDGED), start=0, complete=1), pass_time(2 * MINUTE_MS)]
    return steps


def until_death(machine: Machine) -> tuple[list[World], int]:
    """The worlds that were promised, one a step; how many were answered."""
    worlds: list[World] = [{}]
    answered = 0
    try:
        for step in session():
            worlds.append(step.after(worlds[-1]))
            reply = step.ask(machine)
            if isinstance(reply, Deferred):
                assert reply.done
                reply = reply.result()
            assert reply is None or reply is ErrorCode.NONE or reply == [ErrorCode.NONE] or not isinstance(reply, ErrorCode), reply
            answered += 1
    except Died:
        pass
    return worlds, answered


def test_the_session_is_what_the_model_says() -> None:
    machine = Machine()
    worlds, answered = until_death(machine)
    assert answered == len(session())
    assert machine.seen() == worlds[-1]
    log_starts = {log.log_start_offset for log in machine.logs.logs() if log.topic_partition.topic == SHARE_GROUP_STATE}
    assert min(log_starts) > 0  # something was cut
    assert any(log.segments[0].base_offset > 0 for log in machine.logs.logs() if log.topic_partition.topic == SHARE_GROUP_STATE)


@pytest.mark.parametrize("how", ["killed", "power cut"])
def test_at_every_change_of_the_disk(how: str) -> None:
    deaths = 0
    for nth in range(1, 1000):
        machine = Machine()
        machine.fs.chance.seed(nth)
        machine.fs.die(nth)
        worlds, answered = until_death(machine)
        if not machine.fs.dead:
            break
        deaths += 1
        (machine.fs.kill if how == "killed" else machine.fs.crash)()
        machine.restart()
        found = machine.seen()
        assert found in worlds[answered:], f"death at change {nth}, after {answered} answers: {found}, promised {worlds[answered]}"
        for partition, seen in found.items():  # and it goes on
            assert machine.persister.initialize(machine.key(partition), seen.state_epoch - 1, 0) is ErrorCode.FENCED_STATE_EPOCH
            assert machine.persister.write(machine.key(partition), -1, -1, -1, 9, [batch(90, 91)]) is ErrorCode.NONE
        machine.pass_time(MINUTE_MS)
        promised = machine.seen()
        machine.fs.crash()
        machine.restart()
        assert machine.seen() == promised
    assert deaths > 100
