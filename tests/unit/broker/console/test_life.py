"""A time line from records, markers and requests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from oncelog.broker.console.life import Stored, record_events
from oncelog.coordinator.txn.state import TransactionMetadata, TransactionState
from oncelog.protocol.names import TopicPartition
from support.console_examples import EXAMPLES, misshapen
from support.console_kit import ID, Stuck, stuck_broker
from support.txn_client import TV2

pytestmark = pytest.mark.unit
PLACE = TopicPartition("t", 0)
S = TransactionState


@pytest.fixture(scope="module")
def stuck() -> Iterator[Stuck]:
    with stuck_broker() as made:
        yield made


def txn(state: TransactionState, epoch: int = 0, *, last: int = -1, version: int = 0) -> TransactionMetadata:
    places = frozenset({PLACE}) if state not in (S.EMPTY, S.COMPLETE_ABORT) else frozenset()
    return TransactionMetadata("t", 7, epoch, 60_000, state, 5, places, 4, last, client_transaction_version=version)


def kinds(*metadata: TransactionMetadata | None) -> list[str]:
    return [each["kind"] for each in record_events([Stored(at, at, one) for at, one in enumerate(metadata)])]


def test_kinds_of_records() -> None:
    assert kinds(txn(S.EMPTY), txn(S.ONGOING), txn(S.PREPARE_COMMIT), txn(S.COMPLETE_COMMIT)) == [
        *("init", "add", "prepare_commit", "complete_commit")
    ]
    assert kinds(txn(S.ONGOING), txn(S.PREPARE_ABORT, 1), txn(S.COMPLETE_ABORT, 1), None) == [
        *("add", "prepare_abort", "fenced", "complete_abort", "expired")
    ]
    assert kinds(txn(S.ONGOING), txn(S.PREPARE_ABORT)) == ["add", "prepare_abort"]
    assert kinds(txn(S.ONGOING, version=2), txn(S.PREPARE_ABORT, 1, last=0, version=2)) == ["add", "prepare_abort"]


def test_everything_that_happened_in_its_order(stuck: Stuck) -> None:
    told = stuck.get("transactions/orders%2F1%20%3Cb%3E/life").body
    assert misshapen(told, EXAMPLES["GET /api/v1/transactions/{id}/life"]) == []
    assert (told["complete"], told["transaction"]["transactional_id"], told["transaction"]["state"]) == (True, ID, "Ongoing")
    records = [each["kind"] for each in told["events"] if each["seen_in"] == "record"]
    assert records == [
        *("init", "add", "prepare_commit", "complete_commit", "add", "prepare_abort", "complete_abort", "add", "add", "offsets")
    ]
    markers = [(each["kind"], each["partitions"], each["offset"]) for each in told["events"] if each["seen_in"] == "marker"]
    place = [{"topic": "orders", "partition": 0}]
    assert markers == [("marker_commit", place, 1), ("marker_abort", place, 3)]
    requests = [each["kind"] for each in told["events"] if each["seen_in"] == "request"]
    assert requests[:3] == ["init", "add", "prepare_commit"]
    assert requests[-2:] == ["offsets", "offsets"]
    assert [each["time_ms"] for each in told["events"]] == sorted(each["time_ms"] for each in told["events"])


def test_refused_requests_and_a_bound(stuck: Stuck) -> None:
    stuck.client.end(TV2, ID, (stuck.pair[0], 9), True)
    told = stuck.get("transactions/orders%2F1%20%3Cb%3E/life?limit=1").body
    (event,) = told["events"]
    assert told["complete"] is False
    assert (event["kind"], event["error"], event["api"], event["version"]) == ("error", "PRODUCER_FENCED", "EndTxn", 5)


def test_nobody_knows_it(stuck: Stuck) -> None:
    assert stuck.get("transactions/nobody/life").status == 404
