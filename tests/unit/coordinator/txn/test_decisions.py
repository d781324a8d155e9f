"""AddPartitionsToTxn and AddOffsetsToTxn, what an instance that was fenced hears, and what a client's version does."""

from __future__ import annotations

import asyncio

import pytest
from oncelog.coordinator.txn.producer_ids import FIRST_PRODUCER_ID as P
from oncelog.coordinator.txn.state import TransactionState as S
from oncelog.protocol.errors import ErrorCode as E
from oncelog.protocol.names import CONSUMER_OFFSETS, TopicPartition
from support.memory_logs import MemoryLogs
from support.txn_bench import Bench
from support.txn_cases import Q, a, at, txn_records


def test_case_20_add_opens_a_transaction(bench: Bench) -> None:
    bench.init()
    assert bench.add((P, 0), 0, 1) is E.NONE
    txn = bench.txn()
    assert (txn.state, txn.partitions, txn.start_timestamp_ms) == (S.ONGOING, a(0, 1), bench.clock.now_ms)


def test_case_21_known_partition_writes_nothing(bench: Bench) -> None:
    bench.init()
    bench.add((P, 0), 0, 1)
    before = txn_records(bench)
    assert bench.add((P, 0), 0) is E.NONE
    assert txn_records(bench) == before


def test_start_is_that_of_the_first_partition(bench: Bench) -> None:
    bench.init()
    bench.add((P, 0), 0)
    start = bench.txn().start_timestamp_ms
    bench.advance(1000)
    bench.add((P, 0), 1)
    assert (bench.txn().start_timestamp_ms, bench.txn().partitions) == (start, a(0, 1))


def test_no_partitions_at_all_opens_a_transaction_all_the_same(bench: Bench) -> None:
    bench.init()
    assert bench.add((P, 0)) is E.NONE
    assert bench.brief() == ("Ongoing", P, 0, -1)
    assert bench.end((P, 0), commit=True).error is E.NONE


@pytest.mark.parametrize("epoch", [1, 3])
def test_case_23_wrong_epoch(epoch: int) -> None:
    assert at(S.EMPTY, 2).add((P, epoch), 0) is E.PRODUCER_FENCED


def test_case_24_wrong_producer_id_and_unknown_id() -> None:
    bench = at(S.EMPTY, 2)
    assert bench.add((Q, 2), 0) is E.INVALID_PRODUCER_ID_MAPPING
    assert bench.add((P, 2), 0, id="unknown") is E.INVALID_PRODUCER_ID_MAPPING


def test_case_27_verify_only() -> None:
    bench = at(S.ONGOING, 0, partitions=(0,))
    verdicts = bench.service.verify_partitions("t", P, 0, a(0, 1))
    assert verdicts == {TopicPartition("a", 0): E.NONE, TopicPartition("a", 1): E.TRANSACTION_ABORTABLE}
    assert set(bench.service.verify_partitions("t", P, 1, a(0)).values()) == {E.PRODUCER_FENCED}
    assert set(bench.service.verify_partitions("t", Q, 0, a(0)).values()) == {E.INVALID_PRODUCER_ID_MAPPING}
    assert set(bench.service.verify_partitions("x", P, 0, a(0)).values()) == {E.INVALID_PRODUCER_ID_MAPPING}


def test_case_29_offsets_partition(bench: Bench) -> None:
    bench.init()
    assert bench.add((P, 0), 3, topic=CONSUMER_OFFSETS) is E.NONE
    assert bench.txn().partitions == {TopicPartition(CONSUMER_OFFSETS, 3)}
    bench.logs.at(CONSUMER_OFFSETS, 3).write(P, 0)
    bench.end((P, 0), commit=True)
    assert bench.offsets_markers == [(3, P, 1, True, 1)]


def test_case_26_next_pair_is_known_but_busy() -> None:
    async def scenario() -> None:
        logs = MemoryLogs()
        logs.create_topic("a", 1)
        bench = Bench(logs)
        bench.force(S.ONGOING, 32766, partitions=(0,))
        logs.holds_syncs = True
        bench.service.end_txn("t", P, 32766, True, api_version=5)
        assert bench.brief() == ("PrepareCommit", P, 32767, 32766)
        assert bench.add((Q, 0), 0, client_version=2) is E.CONCURRENT_TRANSACTIONS

    asyncio.run(scenario())


def test_case_94_old_instance_is_fenced_everywhere(bench: Bench) -> None:
    bench.init()
    bench.init()
    assert bench.add((P, 0), 0) is E.PRODUCER_FENCED
    assert bench.end((P, 0), commit=True).error is E.PRODUCER_FENCED
    assert bench.end((P, 0), commit=True, version=3).error is E.PRODUCER_FENCED
    assert bench.admit((P, 0), 0) is E.INVALID_PRODUCER_EPOCH  # Produce never hears 90


@pytest.mark.parametrize("level", [0, 1, 2])
def test_client_version_follows_the_last_request(level: int) -> None:
    bench = Bench(transaction_version=level)
    bench.init()
    bench.add((P, 0), 0)
    assert bench.txn().client_transaction_version == 0
    result = bench.end((P, 0), commit=True)
    if level == 0:
        assert result.error is E.UNSUPPORTED_VERSION
        assert bench.brief() == ("Ongoing", P, 0, -1)  # and nothing is stuck
        assert bench.admit((P, 0), 1) is E.UNSUPPORTED_VERSION
        assert bench.end((P, 0), commit=True, version=3).error is E.NONE
    else:
        assert (result.error, bench.txn().client_transaction_version) == (E.NONE, 2)
