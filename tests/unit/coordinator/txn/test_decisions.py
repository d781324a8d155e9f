"""The numbered conformance cases of InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn and EndTxn, without the wire.

A state is written (state, producer id, epoch, last epoch); P is the first producer id, Q the one after a rotation.
"""

from __future__ import annotations

import asyncio

import pytest
from oncelog.coordinator.txn.producer_ids import FIRST_PRODUCER_ID as P
from oncelog.coordinator.txn.state import TransactionState as S
from oncelog.protocol.errors import ErrorCode as E
from oncelog.protocol.names import CONSUMER_OFFSETS, TopicPartition
from support.memory_logs import MemoryLogs
from support.txn_bench import TIMEOUT_MS, Bench

Q = P + 1
DAY_MS = 86_400_000


def txn_records(bench: Bench) -> int:
    return sum(tp.topic == "__transaction_state" for tp, _ in bench.logs.journal)


def a(*partitions: int) -> frozenset[TopicPartition]:
    return frozenset(TopicPartition("a", partition) for partition in partitions)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def at(state: S, epoch: int, last: int = -1, partitions: tuple[int, ...] = (), **config: int) -> Bench:
    bench = Bench(**config)
    bench.force(state, epoch, last=last, partitions=partitions)
    return bench


# -- InitProducerId


def test_case_01_null_id_logs_nothing(bench: Bench) -> None:
    first, second = bench.init(None), bench.init(None)
    assert (first.error, first.producer_id, first.producer_epoch) == (E.NONE, P, 0)
    assert second.producer_id == Q
    assert txn_records(bench) == 0


def test_case_01_null_id_ignores_timeout_and_pair_but_not_half_a_pair(bench: Bench) -> None:
    assert bench.init(None, (7, 3), timeout_ms=-1).producer_id == P
    assert bench.init(None, (7, -1)).error is E.INVALID_REQUEST


def test_case_02_empty_id(bench: Bench) -> None:
    assert bench.init("").error is E.INVALID_REQUEST


@pytest.mark.parametrize(("timeout_ms", "expected"), [(0, 50), (-5, 50), (900_001, 50), (900_000, 0)])
def test_case_03_timeout(bench: Bench, timeout_ms: int, expected: int) -> None:
    assert bench.init(timeout_ms=timeout_ms).error == expected


@pytest.mark.parametrize("pair", [(-1, 3), (7, -1)])
def test_case_04_half_a_pair(bench: Bench, pair: tuple[int, int]) -> None:
    assert bench.init(pair=pair).error is E.INVALID_REQUEST


def test_case_05_first_init(bench: Bench) -> None:
    result = bench.init()
    assert (result.error, result.producer_id, result.producer_epoch) == (E.NONE, P, 0)
    txn = bench.txn()
    assert (txn.state, txn.partitions, txn.start_timestamp_ms, txn.previous_producer_id) == (S.EMPTY, frozenset(), -1, P)


def test_case_06_second_init_without_pair(bench: Bench) -> None:
    bench.init()
    assert bench.init().producer_epoch == 1
    assert bench.brief() == ("Empty", P, 1, -1)


def test_case_07_init_with_pair() -> None:
    bench = at(S.EMPTY, 1)
    assert bench.init(pair=(P, 1)).producer_epoch == 2
    assert bench.brief() == ("Empty", P, 2, 1)


def test_case_08_lost_answer_is_repeated() -> None:
    bench = at(S.EMPTY, 2, last=1)
    assert (bench.init(pair=(P, 1)).producer_epoch, bench.brief()) == (2, ("Empty", P, 2, 1))


def test_case_08_also_after_a_restart() -> None:
    bench = at(S.EMPTY, 2, last=1).restart()
    assert bench.init(pair=(P, 1)).producer_epoch == 2


def test_case_09_older_epoch_is_fenced_and_stays_so_after_a_kill() -> None:
    bench = at(S.EMPTY, 2, last=1)
    assert bench.init(pair=(P, 0)).error is E.PRODUCER_FENCED
    assert bench.restart().init(pair=(P, 0)).error is E.PRODUCER_FENCED


def test_case_10_other_producer_id() -> None:
    assert at(S.EMPTY, 2).init(pair=(Q, 2)).error is E.PRODUCER_FENCED


def test_case_11_unknown_id_with_pair_starts_afresh(bench: Bench) -> None:
    result = bench.init(pair=(7, 5))
    assert (result.error, result.producer_id, result.producer_epoch) == (E.NONE, P, 0)


def test_case_12_init_on_ongoing_aborts_first() -> None:
    bench = at(S.ONGOING, 3, partitions=(0,))
    bench.logs.at("a").write(P, 3)
    assert bench.init().error is E.CONCURRENT_TRANSACTIONS
    assert bench.brief() == ("CompleteAbort", P, 4, 3)
    assert [marker[1:] for marker in bench.logs.at("a").markers()] == [(P, 4, False)]
    assert bench.init().producer_epoch == 5


def test_init_on_ongoing_ignores_the_expected_epoch_and_may_be_repeated() -> None:
    bench = at(S.ONGOING, 3, partitions=(0,))
    assert bench.init(pair=(P, 1)).error is E.CONCURRENT_TRANSACTIONS
    assert bench.init(pair=(P, 3)).producer_epoch == 4


def test_case_14_exhausted_epoch_rotates() -> None:
    bench = at(S.EMPTY, 32766)
    result = bench.init()
    assert (result.producer_id, result.producer_epoch) == (Q, 0)
    assert bench.txn().previous_producer_id == P


def test_case_15_exhausted_epoch_with_pair_can_be_repeated_once() -> None:
    bench = at(S.COMPLETE_COMMIT, 32766)
    for _ in range(2):
        result = bench.init(pair=(P, 32766))
        assert (result.error, result.producer_id, result.producer_epoch) == (E.NONE, Q, 0)
    assert bench.init(pair=(P, 32766)).error is E.PRODUCER_FENCED  # as Apache Kafka 4.3.0


def test_exhausted_epoch_with_last_epoch_answers_the_current_pair() -> None:
    assert at(S.EMPTY, 32766, last=32765).init(pair=(P, 32765)).producer_epoch == 32766


def test_case_16_fence_at_32766_rotates() -> None:
    bench = at(S.ONGOING, 32766, partitions=(0,))
    assert bench.init().error is E.CONCURRENT_TRANSACTIONS
    assert bench.brief() == ("CompleteAbort", Q, 0, 32766)
    assert bench.txn().previous_producer_id == P
    assert [marker[1:] for marker in bench.logs.at("a").markers()] == [(P, 32767, False)]
    assert bench.init().producer_epoch == 1


def test_id_stuck_at_32767_can_be_aborted_and_goes_on() -> None:
    bench = at(S.ONGOING, 32767, partitions=(0,))
    assert bench.init().error is E.CONCURRENT_TRANSACTIONS
    assert bench.txn().producer_id == Q


def test_case_18_two_phase_commit_switched_off(bench: Bench) -> None:
    assert bench.init(enable_2pc=True).error is E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert bench.init(keep_prepared=True).error is E.UNSUPPORTED_VERSION
    assert bench.init(enable_2pc=True, keep_prepared=True).error is E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


# -- AddPartitionsToTxn, AddOffsetsToTxn


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


# -- EndTxn


def test_case_30_and_31_v3_commit(bench: Bench) -> None:
    bench.init()
    bench.add((P, 0), 0)
    assert bench.end((P, 0), commit=True, version=3).error is E.NONE
    assert [marker[1:] for marker in bench.logs.at("a").markers()] == [(P, 0, True)]
    assert bench.brief() == ("CompleteCommit", P, 0, -1)
    assert bench.end((P, 0), commit=True, version=3).error is E.NONE
    assert bench.end((P, 0), commit=False, version=3).error is E.INVALID_TXN_STATE


@pytest.mark.parametrize("commit", [True, False])
def test_case_32_v3_end_of_nothing(bench: Bench, commit: bool) -> None:
    bench.init()
    assert bench.end((P, 0), commit, version=3).error is E.INVALID_TXN_STATE


def test_case_33_v3_wrong_epoch_and_higher_too() -> None:
    assert at(S.ONGOING, 0, partitions=(0,)).end((P, 1), commit=True, version=3).error is E.PRODUCER_FENCED


def test_case_34_v5_commit_bumps(bench: Bench) -> None:
    bench.init()
    bench.produce((P, 0), 0)
    result = bench.end((P, 0), commit=True)
    assert (result.error, result.producer_id, result.producer_epoch) == (E.NONE, P, 1)
    assert [marker[1:] for marker in bench.logs.at("a").markers()] == [(P, 1, True)]
    assert bench.brief() == ("CompleteCommit", P, 1, 0)


@pytest.mark.parametrize(
    ("state", "commit", "epoch", "expected", "after"),
    [
        (S.COMPLETE_COMMIT, True, 0, (0, P, 1), ("CompleteCommit", P, 1, 0)),  # case 36
        (S.COMPLETE_COMMIT, False, 0, (48, -1, -1), ("CompleteCommit", P, 1, 0)),
        (S.COMPLETE_COMMIT, True, 1, (48, -1, -1), ("CompleteCommit", P, 1, 0)),  # case 37
        (S.COMPLETE_COMMIT, False, 1, (0, P, 2), ("CompleteAbort", P, 2, 1)),
        (S.COMPLETE_ABORT, False, 0, (0, P, 1), ("CompleteAbort", P, 1, 0)),  # case 38
        (S.COMPLETE_ABORT, False, 1, (0, P, 2), ("CompleteAbort", P, 2, 1)),
        (S.COMPLETE_ABORT, True, 0, (48, -1, -1), ("CompleteAbort", P, 1, 0)),
        (S.EMPTY, False, 1, (0, P, 2), ("CompleteAbort", P, 2, 1)),  # case 39
        (S.EMPTY, True, 1, (48, -1, -1), ("Empty", P, 1, 0)),
        (S.EMPTY, False, 0, (90, -1, -1), ("Empty", P, 1, 0)),
        (S.ONGOING, False, 0, (90, -1, -1), ("Ongoing", P, 1, 0)),  # case 95
    ],
)
def test_case_36_to_39_and_95_v5_table(
    state: S, commit: bool, epoch: int, expected: tuple[int, int, int], after: tuple[str, int, int, int]
) -> None:
    bench = at(state, 1, last=0)
    result = bench.end((P, epoch), commit)
    assert (result.error, result.producer_id, result.producer_epoch) == expected
    assert bench.brief() == after
    assert not bench.logs.at("a").markers()


def test_case_40_and_41_v5_commit_at_32766() -> None:
    bench = at(S.ONGOING, 32766, partitions=(0,))
    for _ in range(2):
        result = bench.end((P, 32766), commit=True)
        assert (result.error, result.producer_id, result.producer_epoch) == (E.NONE, Q, 0)
    assert bench.end((P, 32766), commit=False).error is E.INVALID_TXN_STATE
    assert [marker[1:] for marker in bench.logs.at("a").markers()] == [(P, 32767, True)]
    assert bench.brief() == ("CompleteCommit", Q, 0, 32766)
    assert bench.txn().previous_producer_id == P
    bench.produce((Q, 0), 0)
    assert bench.end((Q, 0), commit=True).producer_epoch == 1


def test_case_42_deleted_topic_completes(bench: Bench) -> None:
    bench.logs.create_topic("gone", 1)
    bench.init()
    bench.add((P, 0), 0, topic="gone")
    bench.add((P, 0), 0)
    bench.logs.delete_topic("gone")
    assert bench.end((P, 0), commit=True).error is E.NONE
    assert bench.brief()[0] == "CompleteCommit"


def test_case_43_failed_append_changes_nothing() -> None:
    bench = at(S.ONGOING, 0, partitions=(0,))
    log = bench.service.runtime.log(bench.service.runtime.partition_for("t"))
    before = bench.txn()
    log.fail_with = E.NOT_ENOUGH_REPLICAS
    assert bench.end((P, 0), commit=True).error is E.COORDINATOR_NOT_AVAILABLE
    assert bench.txn() == before
    log.fail_with = None
    assert bench.end((P, 0), commit=True).error is E.NONE


def test_failed_fence_does_not_bump_twice() -> None:
    bench = at(S.ONGOING, 3, partitions=(0,))
    log = bench.service.runtime.log(bench.service.runtime.partition_for("t"))
    log.fail_with = E.NOT_ENOUGH_REPLICAS
    assert [bench.init().error for _ in range(3)] == [E.COORDINATOR_NOT_AVAILABLE] * 3
    log.fail_with = None
    bench.init()
    assert bench.brief() == ("CompleteAbort", P, 4, 3)


def test_partition_that_cannot_take_its_marker_delays_only_the_marker(bench: Bench) -> None:
    bench.init()
    bench.produce((P, 0), 0, 1)
    bench.logs.at("a", 1).fail_with = E.NOT_LEADER_OR_FOLLOWER
    assert bench.end((P, 0), commit=True).error is E.NONE  # decided, and durable
    assert bench.service.describe("t").partitions == a(1)
    assert bench.init().error is E.CONCURRENT_TRANSACTIONS
    bench.logs.at("a", 1).fail_with = None
    bench.advance(100)
    assert bench.brief()[0] == "CompleteCommit"
    assert [len(bench.logs.at("a", n).markers()) for n in (0, 1)] == [1, 1]


# -- timeouts and expiry


def timed_out(**config: int) -> Bench:
    bench = at(S.ONGOING, 3, partitions=(0,), **config)
    bench.service._timeouts.watch("t")
    bench.advance(TIMEOUT_MS)
    assert bench.txn().state is S.ONGOING  # strictly later
    bench.advance(1)
    return bench


def test_case_44_timeout() -> None:
    bench = timed_out()
    assert bench.brief() == ("CompleteAbort", P, 4, 3)
    assert [marker[1:] for marker in bench.logs.at("a").markers()] == [(P, 4, False)]


def test_case_45_late_ends() -> None:
    bench = timed_out()
    late = bench.end((P, 3), commit=False)
    assert (late.error, late.producer_epoch) == (E.NONE, 4)
    assert bench.end((P, 3), commit=True).error is E.INVALID_TXN_STATE
    assert bench.end((P, 3), commit=False, version=3).error is E.PRODUCER_FENCED


def test_case_46_init_with_the_old_pair_also_after_a_restart() -> None:
    assert timed_out().init(pair=(P, 3)).producer_epoch == 4
    assert timed_out().restart().init(pair=(P, 3)).producer_epoch == 4


def test_timeout_below_transaction_version_2_forgets_the_client() -> None:
    bench = timed_out(transaction_version=1)
    assert bench.brief() == ("CompleteAbort", P, 4, -1)
    assert bench.end((P, 3), commit=False).error is E.NONE  # v5 rules come from the request
    assert bench.init(pair=(P, 3)).error is E.PRODUCER_FENCED


def test_timeout_at_32766_rotates() -> None:
    bench = at(S.ONGOING, 32766, partitions=(0,))
    bench.service._timeouts.watch("t")
    bench.advance(TIMEOUT_MS + 1)
    assert bench.brief() == ("CompleteAbort", Q, 0, 32766)
    late = bench.end((P, 32766), commit=False)
    assert (late.error, late.producer_id, late.producer_epoch) == (E.NONE, Q, 0)
    assert bench.end((P, 32766), commit=True).error is E.INVALID_TXN_STATE
    assert bench.init(pair=(P, 32766)).producer_id == Q


def test_sweep_instead_of_deadlines_when_asked_for() -> None:
    bench = Bench(abort_timed_out_interval_ms=500)
    bench.init()
    bench.produce((P, 0), 0)
    bench.advance(TIMEOUT_MS + 1)
    bench.advance(500)
    assert bench.brief()[0] == "CompleteAbort"


def test_timeout_survives_a_restart() -> None:
    bench = Bench()
    bench.init()
    bench.produce((P, 0), 0)
    again = bench.restart()
    again.advance(TIMEOUT_MS + 1)
    assert again.brief()[0] == "CompleteAbort"


def test_case_48_expiry(bench: Bench) -> None:
    bench.init()
    bench.init("busy")
    bench.produce((Q, 0), 0, id="busy")
    bench.service._timeouts._abort = lambda id: None  # keep it open
    for _ in range(8):
        bench.advance(DAY_MS)
    assert bench.add((P, 0), 0) is E.INVALID_PRODUCER_ID_MAPPING
    assert bench.txn("busy").state is S.ONGOING
    assert bench.init(pair=(P, 0)).producer_id == Q + 1
    assert bench.restart().txn("t").producer_id == Q + 1


# -- what happens while the disk is busy


def held() -> Bench:
    logs = MemoryLogs(holds_syncs=True)
    logs.create_topic("a", 4)
    return Bench(logs)


async def begun(bench: Bench) -> None:
    reply = bench.service.init_producer_id("t", TIMEOUT_MS)
    assert isinstance(reply, asyncio.Future)
    assert bench.init().error is E.CONCURRENT_TRANSACTIONS  # case 17
    assert bench.add((P, 0), 0) is E.CONCURRENT_TRANSACTIONS
    bench.logs.flush()
    assert (await reply).producer_epoch == 0
    verdicts, position = bench.service.admit("t", P, 0, a(0, 1), implicit_add=True)
    assert set(verdicts.values()) == {E.NONE}
    assert position is not None
    for partition in (0, 1):
        bench.logs.at("a", partition).write(P, 0)
    durable: list[object] = []
    bench.service.when_durable(position, durable.append)
    assert not durable
    bench.logs.flush()
    assert durable == [None]


def test_case_17_25_35_everybody_is_told_51_until_all_of_it_is_durable() -> None:
    async def scenario() -> None:
        bench = held()
        await begun(bench)
        reply = bench.service.end_txn("t", P, 0, True, api_version=5)
        assert isinstance(reply, asyncio.Future)
        assert bench.txn().state is S.PREPARE_COMMIT
        assert not bench.logs.at("a").markers()  # no marker may outlive its Prepare
        for _ in range(2):
            for pair, commit, version in [((P, 0), True, 5), ((P, 0), False, 5), ((P, 1), False, 5), ((Q, 9), True, 5), ((P, 1), True, 3)]:
                assert bench.end(pair, commit, version).error is E.CONCURRENT_TRANSACTIONS
            assert bench.init().error is E.CONCURRENT_TRANSACTIONS  # case 13
            assert bench.add((P, 1), 0) is E.CONCURRENT_TRANSACTIONS  # case 25
            assert bench.admit((P, 1), 2) is E.CONCURRENT_TRANSACTIONS  # case 65
            assert not reply.done()
            bench.service.runtime.log(bench.service.runtime.partition_for("t")).flush()
        assert bench.txn().state is S.COMPLETE_COMMIT
        assert bench.end((P, 0), commit=False, version=3).error is E.PRODUCER_FENCED  # v3 looks at the epoch first
        bench.logs.flush()
        assert (await reply).producer_epoch == 1
        assert not bench.service.runtime.shard_of("t").is_pending("t")

    asyncio.run(scenario())


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


def test_failed_sync_of_the_decision_is_no_success() -> None:
    async def scenario() -> None:
        bench = held()
        await begun(bench)
        reply = bench.service.end_txn("t", P, 0, True, api_version=5)
        assert isinstance(reply, asyncio.Future)
        bench.service.runtime.log(bench.service.runtime.partition_for("t")).break_disk()
        assert (await reply).error is E.NOT_COORDINATOR
        assert bench.end((P, 0), commit=True).error is E.CONCURRENT_TRANSACTIONS
        assert not bench.logs.at("a").markers()

    asyncio.run(scenario())


@pytest.mark.parametrize("deleted", [False, True])
def test_a_marker_lost_by_the_disk_keeps_the_id_pending_till_the_next_start(deleted: bool) -> None:
    """The client is told what was decided; its next transaction would hide from the next start that this one was committed."""

    async def scenario() -> None:
        bench = held()
        await begun(bench)
        reply = bench.service.end_txn("t", P, 0, True, api_version=3)
        assert isinstance(reply, asyncio.Future)
        bench.service.runtime.log(bench.service.runtime.partition_for("t")).flush()
        written = bench.logs.at("a", 1)
        assert [marker.commit for marker in written.markers()] == [True]
        if deleted:  # then nothing is missing
            bench.logs.delete_topic("a")
        written.break_disk()
        bench.logs.flush()
        if deleted:
            for log in bench.logs.deleted:
                log.flush()
        assert (await reply).error is E.NONE
        assert bench.service.runtime.shard_of("t").is_pending("t") is not deleted
        assert bench.end((P, 0), commit=True, version=3).error is (E.NONE if deleted else E.CONCURRENT_TRANSACTIONS)

    asyncio.run(scenario())


# -- admission of produced batches


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


def test_case_94_old_instance_is_fenced_everywhere(bench: Bench) -> None:
    bench.init()
    bench.init()
    assert bench.add((P, 0), 0) is E.PRODUCER_FENCED
    assert bench.end((P, 0), commit=True).error is E.PRODUCER_FENCED
    assert bench.end((P, 0), commit=True, version=3).error is E.PRODUCER_FENCED
    assert bench.admit((P, 0), 0) is E.INVALID_PRODUCER_EPOCH  # Produce never hears 90


def test_case_96_late_v3_end_hits_the_next_transaction(bench: Bench) -> None:
    """Unavoidable without an epoch for each transaction; this is what KIP-890 is for."""
    bench.init()
    bench.add((P, 0), 0)
    bench.end((P, 0), commit=True, version=3)
    bench.add((P, 0), 0)
    assert bench.end((P, 0), commit=True, version=3).error is E.NONE


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


@pytest.mark.parametrize("level", [0, 1, 2])
def test_a_repeated_init_gets_its_epoch_again(level: int) -> None:
    """As Apache Kafka 4.3.0 answered it at each level."""
    bench = Bench(transaction_version=level)

    def init(epoch: int = -1) -> int | E:
        result = bench.init(pair=(P if epoch >= 0 else -1, epoch))
        return result.error or result.producer_epoch

    assert [init(), init(0), init(0), init(0), init(1), init(1)] == [0, 1, 1, 1, 2, 2]
    assert init(0) is E.PRODUCER_FENCED
    assert [init(2), init(2), init()] == [3, 3, 4]
    assert [init(2), init(3)] == [E.PRODUCER_FENCED] * 2  # the new instance fenced the one that might have repeated
    assert [init(4), init(4)] == [5, 5]
    bench.add((P, 5), 0)
    assert bench.end((P, 5), commit=True, version=4).error is E.NONE
    assert [init(4), init(5), init(5)] == [5, 6, 6]  # across a transaction
    bench = bench.restart()
    assert init(5) == (6 if level else E.PRODUCER_FENCED)  # the record of level 0 cannot tell
    assert init(6) == 7


# -- two-phase commit (KIP-939)


def test_prepared_transaction_is_kept_across_a_restart() -> None:
    bench = Bench(two_phase_commit_enable=True)
    assert bench.init(enable_2pc=True).error is E.NONE
    bench.produce((P, 0), 0)
    bench.advance(10 * TIMEOUT_MS)
    bench = bench.restart()
    kept = bench.init(enable_2pc=True, keep_prepared=True)
    assert (kept.producer_id, kept.producer_epoch, kept.ongoing_producer_id, kept.ongoing_producer_epoch) == (P, 1, P, 0)
    bench = bench.restart()
    assert bench.end((P, 0), commit=True).error is E.PRODUCER_FENCED  # the instance before
    assert bench.add((P, 1), 1) is E.INVALID_TXN_STATE
    result = bench.end((P, 1), commit=True)
    assert (result.error, result.producer_epoch) == (E.NONE, 2)
    assert [marker[1:] for marker in bench.logs.at("a").markers()] == [(P, 2, True)]
    assert bench.init(keep_prepared=True).error is E.INVALID_REQUEST


def test_prepared_transaction_kept_over_an_exhausted_epoch() -> None:
    bench = Bench(two_phase_commit_enable=True)
    bench.force(S.ONGOING, 32766, partitions=(0,))
    kept = bench.init(enable_2pc=True, keep_prepared=True)
    assert (kept.producer_id, kept.producer_epoch) == (Q, 0)
    bench = bench.restart()
    again = bench.init(enable_2pc=True, keep_prepared=True)
    assert (again.producer_id, again.producer_epoch, again.ongoing_producer_epoch) == (Q, 1, 32766)
    result = bench.end((Q, 1), commit=False)
    assert (result.error, result.producer_id, result.producer_epoch) == (E.NONE, Q, 2)
    assert [marker[1:] for marker in bench.logs.at("a").markers()] == [(P, 32767, False)]
    assert bench.brief() == ("CompleteAbort", Q, 2, 1)
