"""The service on real logs: what readers see, what is left after kills and power cuts (K1-K6), which batches it admits."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from oncelog.coordinator.deferred import Deferred
from oncelog.coordinator.txn.config import TxnConfig
from oncelog.coordinator.txn.producer_ids import FIRST_PRODUCER_ID as P
from oncelog.coordinator.txn.producer_ids import kept_in
from oncelog.coordinator.txn.service import TxnService
from oncelog.protocol import records
from oncelog.protocol.errors import ErrorCode as E
from oncelog.protocol.errors import KafkaError
from oncelog.protocol.names import IsolationLevel, TopicPartition
from oncelog.storage.config import LogConfig
from oncelog.storage.directory.manager import LogManager
from oncelog.storage.env import Env, OsFileSystem
from oncelog.storage.files.metadata_store import MetadataStore
from oncelog.storage.log.flush import ThreadFlusher
from support.inline import SeededRandom
from support.txn_bench import TIMEOUT_MS, Bench, HandClock
from support.txn_cases import txn_records
from support.txn_machine import COMMITTED, Machine


def test_k1_new_instance_aborts_the_open_transaction_of_the_old(machine: Machine) -> None:
    old = machine.init()
    machine.produce(old, 0, 0, b"zombie")
    with pytest.raises(KafkaError) as busy:
        machine.init()
    assert busy.value.code is E.CONCURRENT_TRANSACTIONS
    new = machine.init()
    machine.produce(new, 0, 0, b"good")
    assert machine.end(old).error is E.PRODUCER_FENCED
    assert machine.end(new).error is E.NONE
    assert machine.committed(0) == [b"good"]


def test_k2_commit_is_visible_everywhere_after_it_was_answered(machine: Machine) -> None:
    pair = machine.init()
    for partition in range(machine.partitions):
        machine.produce(pair, partition, 0, b"%d" % partition)
        assert machine.committed(partition) == []
    result = machine.end(pair)
    for _ in range(2):
        assert [machine.committed(partition) for partition in range(4)] == [[b"0"], [b"1"], [b"2"], [b"3"]]
        machine.kill()
    machine.produce((result.producer_id, result.producer_epoch), 0, 0, b"next")
    assert machine.end((result.producer_id, result.producer_epoch)).error is E.NONE
    assert machine.committed(0) == [b"0", b"next"]


@pytest.mark.parametrize("version", [3, 5])
def test_k2_every_failing_write_inside_the_end(version: int) -> None:
    """The nth file call fails and the process is killed; whatever was reached, the outcome is the same on all partitions."""
    outcomes = set()
    for nth in range(1, 40):
        machine = Machine(seed=nth)
        pair = machine.init()
        for partition in range(machine.partitions):
            machine.produce(pair, partition, 0)
        machine.clock.now_ms += 5
        machine.fs.fail(nth)
        try:
            answered = machine.end(pair, version=version).error is E.NONE
        except (KafkaError, OSError):
            answered = False
        machine.fs.fail(None)
        machine.kill()
        machine.clock.now_ms += TIMEOUT_MS + 1
        machine.service.tick(machine.clock.now_ms)
        seen = {len(machine.committed(partition)) for partition in range(machine.partitions)}
        assert len(seen) == 1, f"torn at call {nth}"
        assert not answered or seen == {1}
        for partition in range(machine.partitions):
            assert machine.log(partition).last_stable_offset == machine.log(partition).log_end_offset
        outcomes |= seen
    assert 1 in outcomes


@pytest.mark.parametrize("seed", range(30))
def test_k2_power_cut(seed: int) -> None:
    machine = Machine(seed=seed)
    pair = machine.init()
    for partition in range(machine.partitions):
        machine.produce(pair, partition, 0)
    machine.clock.now_ms += 5
    committed = seed % 3 > 0
    if committed:
        assert machine.end(pair).error is E.NONE
    machine.power_cut()
    machine.clock.now_ms += TIMEOUT_MS + 1
    machine.service.tick(machine.clock.now_ms)
    assert [len(machine.committed(partition)) for partition in range(machine.partitions)] == [int(committed)] * machine.partitions


def test_k3_kill_with_an_open_transaction_hides_nothing_for_long(machine: Machine) -> None:
    pair = machine.init()
    machine.produce(pair, 0, 0, b"open")
    machine.kill()
    other = machine.init("u")
    machine.produce(other, 0, 0, b"later", id="u")
    assert machine.end(other, id="u").error is E.NONE
    assert machine.committed(0) == []
    machine.clock.now_ms += TIMEOUT_MS + 1
    machine.service.tick(machine.clock.now_ms)
    assert machine.committed(0) == [b"later"]


def test_k4_fenced_producer_stays_fenced(machine: Machine) -> None:
    old = machine.init()
    new = machine.init()
    for _ in range(2):
        for attempt in (lambda: machine.init(pair=old), lambda: machine.produce(old, 0, 0)):
            with pytest.raises(KafkaError) as refused:
                attempt()
            assert refused.value.code in (E.PRODUCER_FENCED, E.INVALID_PRODUCER_EPOCH)
        assert machine.end(old).error is E.PRODUCER_FENCED
        machine.kill()
    assert machine.produce(new, 0, 0) == 0


def test_k5_any_of_the_last_five_batches_is_recognised_after_a_restart(machine: Machine) -> None:
    pair = machine.init()
    offsets = [machine.produce(pair, 0, sequence) for sequence in range(6)]
    machine.kill()
    for sequence in range(1, 6):
        assert machine.produce(pair, 0, sequence) == offsets[sequence]
    with pytest.raises(KafkaError) as refused:
        machine.produce(pair, 0, 0)
    assert refused.value.code is E.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_case_47_late_produce_of_a_timed_out_transaction(machine: Machine) -> None:
    pair = machine.init()
    machine.produce(pair, 0, 0)
    machine.clock.now_ms += TIMEOUT_MS + 1
    machine.service.tick(machine.clock.now_ms)
    with pytest.raises(KafkaError) as refused:
        machine.produce(pair, 0, 1)
    assert refused.value.code is E.INVALID_PRODUCER_EPOCH


def test_case_58_tv2_transaction_begins_with_sequence_0(machine: Machine) -> None:
    with pytest.raises(KafkaError) as refused:
        machine.produce(machine.init(), 0, 17)
    assert refused.value.code is E.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_case_73_to_76_what_readers_see(machine: Machine) -> None:
    pair = machine.init()
    for number, commit in enumerate((False, True, False)):
        machine.produce(pair, 0, 0, b"%d" % number)
        result = machine.end(pair, commit)
        pair = result.producer_id, result.producer_epoch
    assert machine.committed(0) == [b"1"]
    data = machine.log(0).read(0, 1 << 20, isolation=COMMITTED, min_one_message=True)
    assert data.aborted is not None
    assert [each.first_offset for each in data.aborted] == [0, 4]
    assert machine.log(0).read(0, 1 << 20, isolation=IsolationLevel.READ_UNCOMMITTED, min_one_message=True).aborted is None


def test_k6_commit_racing_a_new_instance_ends_legally(tmp_path: Path) -> None:
    """Both wait for the same real disk; whoever is second is told 51, 90 or 48, and the data follows the answer."""

    async def race(machine: TxnService, logs: LogManager, clock: HandClock, number: int) -> None:
        pair = await _value(machine.init_producer_id("t", TIMEOUT_MS))
        while pair.error is E.CONCURRENT_TRANSACTIONS:
            pair = await _value(machine.init_producer_id("t", TIMEOUT_MS))
        producer = pair.producer_id, pair.producer_epoch
        place = TopicPartition("a", 0)
        machine.admit("t", *producer, [place], implicit_add=True)
        log = logs.log(place)
        assert log is not None
        batch = records.build_batch(
            [(clock.now_ms, b"k", b"v")], producer_id=producer[0], producer_epoch=producer[1], base_sequence=0, is_transactional=True
        )
        log.append(batch, clock.now_ms, verified=True, tv2=True)
        if number % 2:
            end, init = machine.end_txn("t", *producer, True, api_version=5), machine.init_producer_id("t", TIMEOUT_MS)
        else:
            init, end = machine.init_producer_id("t", TIMEOUT_MS), machine.end_txn("t", *producer, True, api_version=5)
        ended, opened = await _value(end), await _value(init)
        assert ended.error in (E.NONE, E.CONCURRENT_TRANSACTIONS)
        assert opened.error in (E.NONE, E.CONCURRENT_TRANSACTIONS)
        late = await _value(machine.end_txn("t", *producer, True, api_version=5))
        assert late.error is (E.NONE if ended.error is E.NONE else E.INVALID_TXN_STATE)
        assert log.last_stable_offset == log.log_end_offset

    async def scenario() -> None:
        clock = HandClock()
        env = Env(clock, SeededRandom(2), OsFileSystem())
        flusher = ThreadFlusher(asyncio.get_running_loop())
        logs = LogManager(env, tmp_path, LogConfig(), flusher)
        logs.start()
        logs.create_topic("a", 1)
        service = TxnService(env, logs, TxnConfig(state_log_num_partitions=2), kept_in(MetadataStore(env, tmp_path)))
        service.start()
        for number in range(10):
            await race(service, logs, clock, number)
        logs.stop()
        flusher.close()

    asyncio.run(scenario())


async def _value(reply: Any) -> Any:
    if not isinstance(reply, Deferred):
        return reply
    there = asyncio.Event()
    reply.when_done(lambda _reply: there.set())
    await there.wait()
    return reply.result()


def test_case_64_partition_not_added(bench: Bench) -> None:
    bench.init()
    assert bench.admit((P, 0), 0, implicit=False) is E.TRANSACTION_ABORTABLE
    assert bench.admit((P, 0), 0) is E.NONE
    assert bench.txn().client_transaction_version == 2


def test_verification_can_be_switched_off() -> None:
    bench = Bench(partition_verification_enable=False)
    bench.init()
    assert bench.admit((P, 0), 0, implicit=False) is E.NONE


def test_open_transaction_of_the_pair_needs_no_question(bench: Bench) -> None:
    bench.init()
    bench.produce((P, 0), 0)
    before = txn_records(bench)
    assert bench.admit((P, 0), 0, id="any other id") is E.NONE
    assert txn_records(bench) == before
