"""The numbered conformance cases of EndTxn, without the wire."""

from __future__ import annotations

import pytest
from oncelog.coordinator.txn.producer_ids import FIRST_PRODUCER_ID as P
from oncelog.coordinator.txn.state import TransactionState as S
from oncelog.protocol.errors import ErrorCode as E
from support.txn_bench import Bench
from support.txn_cases import Q, at


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


def test_case_43_failed_append_changes_nothing() -> None:
    bench = at(S.ONGOING, 0, partitions=(0,))
    log = bench.service.runtime.log(bench.service.runtime.partition_for("t"))
    before = bench.txn()
    log.fail_with = E.NOT_ENOUGH_REPLICAS
    assert bench.end((P, 0), commit=True).error is E.COORDINATOR_NOT_AVAILABLE
    assert bench.txn() == before
    log.fail_with = None
    assert bench.end((P, 0), commit=True).error is E.NONE


def test_case_96_late_v3_end_hits_the_next_transaction(bench: Bench) -> None:
    """Unavoidable without an epoch for each transaction; this is what KIP-890 is for."""
    bench.init()
    bench.add((P, 0), 0)
    bench.end((P, 0), commit=True, version=3)
    bench.add((P, 0), 0)
    assert bench.end((P, 0), commit=True, version=3).error is E.NONE
