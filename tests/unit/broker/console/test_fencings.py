"""The journal's rows: shape, what comes again, bounds."""

from __future__ import annotations

import pytest
from oncelog.broker.console import fencings
from oncelog.broker.console.fencings import AGAIN_MS, FencingJournal
from oncelog.broker.net.told_causes import Cause
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import TopicPartition
from support.console_examples import EXAMPLES, misshapen

pytestmark = pytest.mark.unit
REFUSED = Cause("fenced", "why", ErrorCode.PRODUCER_FENCED, "EndTxn", "t", None, TopicPartition("a", 0), 7, 0, 1, None, "c", "h")
FENCED = Cause("fenced", "Producer 7 epoch 0 of t is fenced.", transactional_id="t", epoch_before=0, epoch_after=1, by_client_id="d")


def test_rows_newest_first() -> None:
    journal = FencingJournal()
    journal.add(FENCED, 1)
    journal.add(REFUSED, 2)
    rows = journal.rows()
    assert [(row["number"], row["error"], row["cause"]) for row in rows] == [(2, "PRODUCER_FENCED", "why"), (1, None, FENCED.sentence)]
    assert misshapen(rows, EXAMPLES["GET /api/v1/fencings"]) == []
    (event,) = journal.events_of("t")
    assert (event["kind"], event["seen_in"], event["by"]["client_id"], event["by"]["epoch_after"]) == ("fenced", "journal", "d", 1)


def test_the_same_again_is_one_row() -> None:
    journal = FencingJournal()
    for at in (0, 10, AGAIN_MS + 1):
        journal.add(REFUSED, at)
    journal.add(REFUSED._replace(client_id="other"), AGAIN_MS + 2)
    assert [(row["count"], row["time_ms"], row["last_ms"]) for row in reversed(journal.rows())] == [
        (2, 0, 10),
        (1, AGAIN_MS + 1, AGAIN_MS + 1),
        (1, AGAIN_MS + 2, AGAIN_MS + 2),
    ]
    journal.add(FENCED, AGAIN_MS + 3)
    journal.add(FENCED, AGAIN_MS + 3)
    assert len(journal.rows()) == 5


def test_rebalances_of_a_group() -> None:
    journal = FencingJournal()
    for number in range(3):
        journal.add(Cause("rebalance", f"g rebalances: {number}", group_id="g", epoch_after=number, member_id="m"), number)
    told = journal.rebalances_of("g")
    assert [each["epoch"] for each in told] == [2, 1, 0]
    assert misshapen(told, EXAMPLES["GET /api/v1/groups"][0]["rebalances"]) == []
    assert journal.rebalances_of("other") == []


def test_it_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fencings, "KEPT", 10)
    journal = FencingJournal()
    for number in range(50):
        journal.add(REFUSED._replace(sentence="x" * 5000 + str(number), transactional_id="y" * 5000, client_id=str(number)), number)
    rows = journal.rows()
    assert (len(rows), rows[0]["number"], len(rows[0]["cause"]), len(rows[0]["transactional_id"])) == (10, 50, 1000, 1000)
