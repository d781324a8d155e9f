"""One broker from its directory to open listeners and back: what is built, what is told, what a tick does, what a stop leaves."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from oncelog.broker.lifecycle import IDLE_CHECK_MS, MAINTENANCE_MS, PIECE_MS, Broker
from oncelog.broker.settings.changes import SET, Change
from oncelog.broker.settings.load import load
from oncelog.protocol.names import TopicPartition
from oncelog.protocol.records import build_batch
from oncelog.storage.directory import folders
from oncelog.storage.env import Env, system_env
from support.inline import InlineFlusher, SeededRandom
from support.simbroker import DATA, SETTINGS
from support.simfs import SimFileSystem
from support.simloop import SimClock, SimLoop
from support.txn_requests import begun
from support.whole_broker import WholeBroker

pytestmark = pytest.mark.unit


class Machine:
    """A disk and a clock that outlive brokers."""

    def __init__(self) -> None:
        self.clock = SimClock()
        self.loop = SimLoop()
        self.clock.attach(self.loop)
        self.fs = SimFileSystem(1, now_ms=self.clock.time_ms)
        self.lives = 0

    def broker(self, **settings: str) -> Broker:
        self.lives += 1
        env = Env(self.clock, SeededRandom(self.lives), self.fs)
        given = {key.replace("__", "."): value for key, value in settings.items()}
        return Broker(env, DATA, load({**SETTINGS, **given}), InlineFlusher())

    def recovered(self, **settings: str) -> Broker:
        made = self.broker(**settings)
        made.recover()
        return made

    def pass_ms(self, ms: float) -> None:
        self.loop.now_seconds += ms / 1000


@pytest.fixture
def machine() -> Iterator[Machine]:
    made = Machine()
    yield made
    made.loop.abandon()


# -- start


def test_a_broker_remembers_who_it_is(machine: Machine) -> None:
    first = machine.recovered(node__id="5")
    assert (first.context.node_id, bool(first.context.cluster_id)) == (5, True)
    first.close()
    again = machine.recovered()
    assert (again.context.node_id, again.context.cluster_id) == (5, first.context.cluster_id)
    again.close()
    with pytest.raises(ValueError, match="belongs to node 5, not to 6"):
        machine.recovered(node__id="6")


@pytest.mark.parametrize(
    ("given", "names"), [({}, False), ({"authorizer__class__name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}, True)]
)
def test_an_authorizer_only_where_one_is_named(machine: Machine, given: dict[str, str], names: bool) -> None:
    assert (machine.recovered(**given).context.authorizer is not None) is names


@pytest.mark.parametrize(
    ("setting", "unstable"), [("unstable__api__versions__enable", True), ("transaction__two__phase__commit__enable", True), ("", False)]
)
def test_unstable_versions_are_served_where_they_are_asked_for(machine: Machine, setting: str, unstable: bool) -> None:
    context = machine.recovered(**({setting: "true"} if setting else {})).context
    highest = {key: high for key, _low, high in context.apis.advertised()}
    assert (highest[22] == 6) is unstable


def test_what_was_altered_while_it_ran_is_in_force_after_a_restart(machine: Machine) -> None:
    first = machine.recovered()
    first.logs.create_topic("t", 1)
    log = first.logs.log(TopicPartition("t", 0))
    assert log is not None
    changes = [Change("log.segment.bytes", SET, "2000000"), Change("transaction.partition.verification.enable", SET, "false")]
    first.context.dynamic_configs.alter_incrementally(4, "", changes, lambda error: None)
    assert (log.config.segment_bytes, first.context.transactions.verifies_partitions) == (2_000_000, False)
    first.close()
    again = machine.recovered()
    log = again.logs.log(TopicPartition("t", 0))
    assert log is not None
    assert (log.config.segment_bytes, again.context.transactions.verifies_partitions) == (2_000_000, False)


def test_the_data_directory_that_is_in_force_is_shown(machine: Machine) -> None:
    entries = {entry.name: entry.value for entry in machine.recovered().context.dynamic_configs.describe(4, "1")}
    assert entries["log.dirs"] == str(DATA)


# -- run


def test_a_tick_says_when_there_may_be_more(machine: Machine) -> None:
    broker = machine.recovered()
    assert 0 < broker.tick() <= MAINTENANCE_MS
    machine.pass_ms(300)
    assert 0 < broker.tick() <= MAINTENANCE_MS - 300


def test_a_transaction_is_aborted_when_its_time_is_over() -> None:
    whole = WholeBroker({"t": 1}, {"log.retention.check.interval.ms": "300000"})
    begun(whole)
    whole.advance(59_000)
    assert whole.log("t").open_transactions() != []
    assert whole.broker.tick() <= 1_000
    whole.advance(1_001)
    assert whole.log("t").open_transactions() == []
    whole.close()


def test_folders_of_a_deleted_topic_go_in_pieces(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "PIECE_MS", -1.0)  # time stands still: one folder a piece
    broker = machine.recovered()
    broker.logs.create_topic("t", 3)
    for partition in range(3):  # without a record there is no folder
        log = broker.logs.log(TopicPartition("t", partition))
        assert log is not None
        log.append(build_batch([(0, None, b"v")]), 0)
    told: list[object] = []
    broker.logs.begin_delete_topic("t", told.append)
    pieces = 0
    while broker.logs.folders.busy:
        assert told == []
        assert broker.tick() <= PIECE_MS or not broker.logs.folders.busy
        machine.pass_ms(PIECE_MS)
        pieces += 1
    assert (told, pieces > 1) == ([None], True)


def test_idle_connections_are_looked_for_now_and_then(machine: Machine) -> None:
    broker = machine.recovered(connections__max__idle__ms="5000")
    asked: list[tuple[float, int]] = []

    class Listener:
        def reap_idle(self, now_ms: float, idle_ms: int) -> None:
            asked.append((now_ms, idle_ms))

    broker.listeners.append(Listener())  # type: ignore[arg-type]
    for _ in range(3):
        broker.tick()
        machine.pass_ms(IDLE_CHECK_MS / 2)
    assert asked == [(0.0, 5_000), (float(IDLE_CHECK_MS), 5_000)]


# -- listeners, and stop


def served(work: Callable[[Broker], Awaitable[None]], folder: Path, **settings: str) -> Broker:
    """A broker on a real loop and disk, whose listeners are on free ports of the loopback, while `work` is done."""
    given = {"listeners": "PLAINTEXT://127.0.0.1:0", **{key.replace("__", "."): value for key, value in settings.items()}}
    broker = Broker(system_env(), folder, load({**SETTINGS, **given}), InlineFlusher())

    async def life() -> None:
        await broker.start()
        try:
            await work(broker)
        finally:
            await broker.stop()

    try:
        asyncio.run(life())
    finally:
        gc.unfreeze()
    return broker


def test_the_addresses_that_were_bound_are_told(tmp_path: Path) -> None:
    async def work(broker: Broker) -> None:
        entries = {entry.name: entry.value for entry in broker.context.dynamic_configs.describe(4, str(broker.context.node_id))}
        first, second = (listener.port for listener in broker.listeners)
        assert first != second
        assert entries["listeners"] == f"PLAINTEXT://127.0.0.1:{first},EXTERNAL://127.0.0.1:{second}"
        assert entries["advertised.listeners"] == f"PLAINTEXT://127.0.0.1:{first},EXTERNAL://kafka.example:{second}"
        _reader, writer = await asyncio.open_connection("127.0.0.1", second)
        writer.close()

    served(
        work,
        tmp_path / "data",
        listeners="PLAINTEXT://127.0.0.1:0,EXTERNAL://127.0.0.1:0",
        listener__security__protocol__map="PLAINTEXT:PLAINTEXT,EXTERNAL:PLAINTEXT",
        advertised__listeners="EXTERNAL://kafka.example:0",
    )


def test_stopped_nobody_is_served_and_the_directory_needs_no_recovery(tmp_path: Path) -> None:
    ports: list[int] = []

    async def work(broker: Broker) -> None:
        ports.append(broker.listeners[0].port)
        broker.logs.create_topic("t", 1)

    served(work, tmp_path / "data")
    assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()

    async def refused() -> None:
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", ports[0])

    asyncio.run(refused())


def test_a_directory_that_could_not_be_opened_is_left_as_it_is(machine: Machine) -> None:
    """It may be another broker's: the mark of a clean stop is not ours to write."""
    machine.recovered().logs.create_topic("t", 1)
    machine.fs.kill()
    machine.fs.fail(1)
    broker = machine.broker()
    with pytest.raises(OSError):
        broker.recover()
    broker.close()
    assert not machine.fs.exists(DATA / ".kafka_cleanshutdown")
    again = machine.recovered()
    again.close()
    assert machine.fs.exists(DATA / ".kafka_cleanshutdown")


def test_a_port_that_is_taken_ends_the_start_and_nothing_is_left_open(tmp_path: Path) -> None:
    async def work(broker: Broker) -> None:
        names = {
            "listeners": f"PLAINTEXT://127.0.0.1:0,EXTERNAL://127.0.0.1:{broker.listeners[0].port}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,EXTERNAL:PLAINTEXT",
        }
        second = Broker(broker.env, tmp_path / "other", load({**SETTINGS, **names}), InlineFlusher())
        with pytest.raises(OSError):
            await second.start()
        (opened,) = second.listeners
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", opened.port)
        # its directory is not locked
        third = Broker(broker.env, tmp_path / "other", load({**SETTINGS, "listeners": "PLAINTEXT://127.0.0.1:0"}), InlineFlusher())
        await third.start()
        await third.stop()
        await second.stop()

    served(work, tmp_path / "data")
