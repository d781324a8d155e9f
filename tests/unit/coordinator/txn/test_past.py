"""A partition lost its end, and with it markers of transactions whose ids went on: nothing aborted is committed by a later decision."""

from __future__ import annotations

from itertools import product

import pytest
from oncelog.coordinator.txn.producer_ids import FIRST_PRODUCER_ID as P
from oncelog.coordinator.txn.state import TransactionState as S
from oncelog.protocol.errors import ErrorCode as E
from oncelog.protocol.names import TRANSACTION_STATE, TopicPartition
from support.memory_logs import MemoryLogs
from support.txn_bench import TIMEOUT_MS, Bench

HIT = TopicPartition("a", 0)
OUTCOMES = ["".join(one) for length in (1, 2, 3) for one in product("ca", repeat=length)]


def write(bench: Bench, pair: tuple[int, int], version: int, *partitions: int) -> None:
    """Transactional data, as clients of EndTxn `version` send it."""
    bench.advance(5)
    if version == 5:
        bench.produce(pair, *partitions)
        return
    assert bench.add(pair, *partitions) is E.NONE
    for partition in partitions:
        bench.logs.at("a", partition).write(*pair, bench.clock.now_ms)


def ended(outcomes: str, version: int) -> tuple[Bench, tuple[int, int]]:
    """One transaction for each of `outcomes` (c, a) over two partitions; the pair to go on with."""
    bench = Bench()
    first = bench.init()
    pair = first.producer_id, first.producer_epoch
    for outcome in outcomes:
        write(bench, pair, version, 0, 1)
        bench.advance(5)
        answer = bench.end(pair, outcome == "c", version)
        assert answer.error is E.NONE
        pair = (answer.producer_id, answer.producer_epoch) if version == 5 else pair
    return bench, pair


def without_end(bench: Bench, kept: int, *, lost: bool = True) -> MemoryLogs:
    """`HIT` has its first `kept` writes only."""
    entries, seen = [], 0
    for place, batch in bench.logs.journal:
        seen += place == HIT
        if place != HIT or seen <= kept:
            entries.append((place, batch))
    left = bench.logs.rebuilt(entries)
    left.at(*HIT).segments.lost_acknowledged = lost
    return left


def ends(logs: MemoryLogs, partition: int = 0) -> str:
    return "".join("c" if marker.commit else "a" for marker in logs.at("a", partition).markers())


def forget(left: MemoryLogs, bench: Bench, kept: int) -> MemoryLogs:
    """Compaction left the newest `kept` records of the transaction log."""
    own = TopicPartition(TRANSACTION_STATE, bench.service.runtime.partition_for("t"))
    count = sum(place == own for place, _ in left.journal)
    entries, seen = [], 0
    for place, batch in left.journal:
        seen += place == own
        if place != own or seen > count - kept:
            entries.append((place, batch))
    after = left.rebuilt(entries)
    after.at(*HIT).segments.lost_acknowledged = left.at(*HIT).segments.lost_acknowledged
    return after


@pytest.mark.parametrize("lost", [True, False])
@pytest.mark.parametrize("version", [3, 5])
@pytest.mark.parametrize("outcomes", OUTCOMES)
def test_what_is_open_ends_as_its_own_transaction_did(outcomes: str, version: int, lost: bool) -> None:
    """Whichever of them it is, known as damaged or not."""
    bench, _ = ended(outcomes, version)
    for number in range(len(outcomes)):
        again = bench.restart(without_end(bench, 2 * number + 1, lost=lost))
        assert ends(again.logs) == outcomes[: number + 1]
        assert ends(again.logs, 1) == outcomes
        assert not again.logs.at(*HIT).open_transactions()


@pytest.mark.parametrize("running", [(1,), (0, 1)])
@pytest.mark.parametrize("version", [3, 5])
@pytest.mark.parametrize("outcomes", OUTCOMES)
def test_nor_does_a_running_transaction_take_it_along(outcomes: str, version: int, running: tuple[int, ...]) -> None:
    bench, pair = ended(outcomes, version)
    write(bench, pair, version, *running)
    for number in range(len(outcomes)):
        again = bench.restart(without_end(bench, 2 * number + 1))
        assert ends(again.logs) == outcomes[: number + 1]
        assert again.txn().state is S.ONGOING
        assert again.end(pair, True, version).error is E.NONE
        assert ends(again.logs, 1) == outcomes + "c"
        assert not again.logs.at(*HIT).open_transactions()


@pytest.mark.parametrize("outcomes", OUTCOMES)
def test_nor_one_that_is_prepared(outcomes: str) -> None:
    bench, pair = ended(outcomes, 3)
    write(bench, pair, 3, 0, 1)
    writes = len(bench.logs.journal) + 1  # up to the Prepare record
    bench.advance(5)
    bench.end(pair, True, 3)
    bench.logs.journal[writes:] = []
    for number in range(len(outcomes)):
        again = bench.restart(without_end(bench, 2 * number + 1))
        assert ends(again.logs)[: number + 1] == outcomes[: number + 1]
        assert ends(again.logs, 1) == outcomes + "c"
        assert again.txn().state is S.COMPLETE_COMMIT


@pytest.mark.parametrize("outcomes", ["ac", "cc", "ca"])
def test_what_nobody_knows_any_more_is_aborted(outcomes: str, caplog: pytest.LogCaptureFixture) -> None:
    """The epoch stayed, and compaction took the older decisions: one line says so."""
    bench, _ = ended(outcomes, 3)
    again = bench.restart(forget(without_end(bench, 1), bench, 1))
    assert ends(again.logs) == "a"
    assert "how a transaction ended is lost" in caplog.text or outcomes[-1] == "a"


def test_nothing_is_in_doubt_where_nothing_is_lost() -> None:
    """A power cut took the marker only."""
    bench, _ = ended("ac", 3)
    again = bench.restart(forget(without_end(bench, 3, lost=False), bench, 1))
    assert ends(again.logs) == "ac"


@pytest.mark.parametrize("kept", [1, 2])
def test_a_running_transaction_that_may_take_another_along_is_aborted_too(kept: int) -> None:
    bench, pair = ended("ac", 3)
    write(bench, pair, 3, 0, 1)
    again = bench.restart(forget(without_end(bench, 1), bench, kept))
    assert ends(again.logs) == "a"
    assert ends(again.logs, 1) == "aca"
    assert again.add(pair, 2) is not E.NONE


def test_an_older_epoch_is_no_matter_of_a_commit_that_kept_the_next() -> None:
    bench, pair = ended("a", 3)
    second = bench.init()
    pair = second.producer_id, second.producer_epoch
    assert pair == (P, 1)
    write(bench, pair, 3, 0, 1)
    bench.advance(5)
    assert bench.end(pair, True, 3).error is E.NONE
    for left in (without_end(bench, 1), forget(without_end(bench, 1), bench, 1)):
        again = bench.restart(left)
        assert ends(again.logs) == "a"
        assert not again.logs.at(*HIT).open_transactions()


def test_markers_that_contradict_the_decisions_prove_nothing(caplog: pytest.LogCaptureFixture) -> None:
    bench, _ = ended("cac", 3)
    left = without_end(bench, 5)
    entries = list(left.journal)
    places = [number for number, (place, _) in enumerate(entries) if place == HIT]
    entries[places[1]], entries[places[3]] = entries[places[3]], entries[places[1]]
    left = left.rebuilt(entries)
    left.at(*HIT).segments.lost_acknowledged = True
    again = bench.restart(left)
    assert ends(again.logs) == "aca"
    assert "how a transaction ended is lost" in caplog.text


def test_a_deadline_passes_over_what_was_settled() -> None:
    bench, _ = ended("ac", 3)
    again = bench.restart(without_end(bench, 1))
    again.advance(TIMEOUT_MS + 1)
    assert ends(again.logs) == "a"
