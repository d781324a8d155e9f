"""Transactions that ran out of time, and ids that nobody used for a week."""

from __future__ import annotations

from types import SimpleNamespace

from oncelog.coordinator.timers import Timers
from oncelog.coordinator.txn.config import TxnConfig
from oncelog.coordinator.txn.producer_ids import FIRST_PRODUCER_ID as P
from oncelog.coordinator.txn.shard import TxnShard
from oncelog.coordinator.txn.state import TransactionMetadata
from oncelog.coordinator.txn.state import TransactionState as S
from oncelog.coordinator.txn.timeouts import RETRY_MS, TxnTimeouts
from oncelog.protocol.errors import ErrorCode as E
from support.txn_bench import TIMEOUT_MS, Bench
from support.txn_cases import Q, at

DAY_MS = 86_400_000
START_MS = 1_000_000


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


def test_a_refused_abort_is_tried_again_after_a_pause() -> None:
    shard, timers, aborted = TxnShard(0), Timers(), list[float]()
    shard.transactions["t"] = TransactionMetadata("t", 7, 0, 300, S.ONGOING, START_MS, start_timestamp_ms=START_MS)
    now = START_MS
    runtime = SimpleNamespace(now_ms=lambda: now, schedule=timers.schedule, shards=lambda: [shard], shard_of=lambda _id: shard)
    TxnTimeouts(runtime, TxnConfig(), lambda _id: aborted.append(now), lambda: None).start()  # type: ignore[arg-type]
    for now in range(START_MS, START_MS + 1_000):
        timers.fire(now)
    due = START_MS + 300 + 1
    assert aborted == list(range(due, START_MS + 1_000, RETRY_MS))
