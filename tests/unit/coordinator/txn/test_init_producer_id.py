"""The numbered conformance cases of InitProducerId, without the wire."""

from __future__ import annotations

import pytest
from oncelog.coordinator.txn.producer_ids import FIRST_PRODUCER_ID as P
from oncelog.coordinator.txn.state import TransactionState as S
from oncelog.protocol.errors import ErrorCode as E
from support.txn_bench import TIMEOUT_MS, Bench
from support.txn_cases import Q, at, txn_records


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


def test_failed_fence_does_not_bump_twice() -> None:
    bench = at(S.ONGOING, 3, partitions=(0,))
    log = bench.service.runtime.log(bench.service.runtime.partition_for("t"))
    log.fail_with = E.NOT_ENOUGH_REPLICAS
    assert [bench.init().error for _ in range(3)] == [E.COORDINATOR_NOT_AVAILABLE] * 3
    log.fail_with = None
    bench.init()
    assert bench.brief() == ("CompleteAbort", P, 4, 3)


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
