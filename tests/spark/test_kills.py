"""A slice of kills.py and ledger_kills.py, of which `make spark` runs more; and the judgement over a ledger, which must be able to fail."""

from __future__ import annotations

from pathlib import Path

import pytest
from oncelog.spark_jobs.demo_parts.children import Broker
from spark import kills, ledger_kills
from spark.ledger_watch import Posting, Transaction, Unbalanced, Verdict, judge


@pytest.mark.timeout(400)
def test_a_killed_driver_neither_loses_nor_repeats(bootstrap: str, seed: int, tmp_path: Path) -> None:
    (outcome,) = kills.run_all(bootstrap, [seed], 1, tmp_path)
    print(outcome)
    assert len(outcome.kills) == 1
    assert outcome.counted["exactly-once"].exactly_once
    assert not outcome.counted["stock"].missing


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_ledger_balances_while_broker_and_driver_are_killed(seed: int, tmp_path: Path) -> None:
    broker = Broker(tmp_path).start()
    try:
        (outcome,) = ledger_kills.run_all(broker, [seed], 3, tmp_path)
    finally:
        broker.stop()
    print(outcome)
    assert outcome.kills
    assert outcome.verdict.points >= outcome.verdict.committed


def transfer(name: str, offset: int, amount: int = 5) -> list[Posting]:
    """Debit in partition 0, credit in partition 1."""
    return [Posting(0, offset, name, -amount), Posting(1, offset, name, amount)]


def books() -> list[Transaction]:
    """Two committed transactions with an aborted one between them; a marker follows each."""
    return [
        Transaction(transfer("a", 0), {"commit"}),
        Transaction(transfer("b", 2), {"abort"}),
        Transaction(transfer("b", 4) + transfer("c", 5), {"commit"}),
    ]


RECEIVED = transfer("a", 0) + transfer("b", 4) + transfer("c", 5)
POINTS = [(0, 0), (2, 2), (4, 4), (7, 4), (7, 7)]


def test_sound_books() -> None:
    assert judge(books(), RECEIVED, POINTS, 3) == Verdict(committed=2, points=4, between=1)


def test_unsound_books() -> None:
    with pytest.raises(Unbalanced, match="transaction 0 shows in part"):
        judge(books(), RECEIVED, [(7, 0)], 3)
    with pytest.raises(Unbalanced, match="3 of 4 transfers"):
        judge(books(), RECEIVED, POINTS, 4)
    with pytest.raises(Unbalanced, match="other postings"):
        judge(books(), RECEIVED[1:], POINTS, 3)
    with pytest.raises(Unbalanced, match="other postings"):
        judge(books(), RECEIVED + transfer("b", 2), POINTS, 3)
    twice = [*books(), Transaction(transfer("a", 8), {"commit"})]
    with pytest.raises(Unbalanced, match="1 not once"):
        judge(twice, RECEIVED + transfer("a", 8), POINTS, 3)
    half = [*books(), Transaction(transfer("d", 8)[:1], {"commit"})]
    with pytest.raises(Unbalanced, match="not posted once on both sides"):
        judge(half, RECEIVED, POINTS, 4)
    torn = [*books(), Transaction(transfer("d", 8), {"commit", "abort"})]
    with pytest.raises(Unbalanced, match="ended as"):
        judge(torn, RECEIVED, POINTS, 4)
