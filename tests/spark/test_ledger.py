"""Postings and balances of a few transfers."""

from __future__ import annotations

from typing import Any

from oncelog.spark_jobs import ledger


def test_ledger(spark: Any) -> None:
    transfers = [
        '{"id": "t1", "debit": "alice", "credit": "bob", "amount_cents": 500}',
        '{"id": "t2", "debit": "bob", "credit": "carol", "amount_cents": 200}',
        '{"id": "bad", "debit": "bob", "credit": "carol", "amount_cents": -200}',
        '{"id": "bad", "credit": "carol", "amount_cents": 200}',
    ]
    posted = ledger.postings(ledger.transform(spark.createDataFrame([(each,) for each in transfers], "value STRING")))
    assert [tuple(row) for row in ledger.balances(posted).collect()] == [("alice", -500, 1), ("bob", 300, 2), ("carol", 200, 1)]
    assert ledger.unsound(posted).count() == 0
    assert ledger.unsound(posted.limit(1)).count() == 1
    assert ledger.unsound(posted.union(posted)).count() == 2
