"""The API, asked over HTTP of a broker with a consumer that stands still."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from oncelog.broker.console.model import Refused
from oncelog.broker.console.routes import ROUTES, Asked
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import TopicPartition
from support.console_examples import EXAMPLES, misshapen
from support.console_kit import FIRST, ID, SECOND, Stuck, stuck_broker
from support.txn_client import TV0

pytestmark = pytest.mark.unit


@pytest.fixture
def stuck() -> Iterator[Stuck]:
    with stuck_broker() as made:
        yield made


def test_every_route_is_described() -> None:
    described = {heading.split(" ", 1)[1] for heading in EXAMPLES}
    assert {path.replace(":path", "") for _, path in ROUTES} <= described


def test_a_stuck_consumer_is_explained_and_released(stuck: Stuck) -> None:
    rows = stuck.get("stuck").body
    assert misshapen(rows, EXAMPLES["GET /api/v1/stuck"]) == []
    by_place = {(row["topic"], row["partition"]): row for row in rows}
    assert {*by_place} == {FIRST, SECOND, *(place for place in by_place if place[0] == "__consumer_offsets")}
    row = by_place[FIRST]
    assert (row["last_stable_offset"], row["high_watermark"], row["transactional_id"], row["state"]) == (4, 6, ID, "Ongoing")
    assert (row["producer_id"], row["producer_epoch"], row["client_host"]) == (*stuck.pair, "127.0.0.1")
    assert row["age_ms"] >= 0

    told = stuck.abort(ID, token=stuck.token)
    assert told.status == 200
    assert misshapen(told.body, EXAMPLES["POST /api/v1/transactions/{id}/abort"]) == []
    assert (told.body["by"], told.body["command"].split()[-1]) == ("coordinator", "4")
    assert stuck.get("stuck").body == []
    assert stuck.client.end(TV0, ID, stuck.pair, True)[0] is ErrorCode.PRODUCER_FENCED
    assert [row["outcome"] for row in stuck.get("partitions/orders/1").body["batches"]] == ["aborted", None]


def test_without_the_token_nothing_changes_anything(stuck: Stuck) -> None:
    before = stuck.get("transactions").body[0]["state"]
    assert stuck.abort(ID).status == 401
    assert stuck.abort(ID, token="wrong").status == 401
    assert stuck.abort(ID, token=stuck.token, Origin="http://evil.example").status == 403
    assert stuck.abort(ID, token=stuck.token, Sec_Fetch_Site="cross-site").status == 403
    assert stuck.abort(ID, token=stuck.token, Host="evil.example").status == 403
    assert stuck.get("transactions").body[0]["state"] == before == "Ongoing"


def test_what_cannot_be_aborted(stuck: Stuck) -> None:
    assert stuck.abort("nobody", token=stuck.token).status == 404
    assert stuck.abort("-", {"topic": "orders"}, token=stuck.token).status == 400
    body = {"topic": "orders", "partition": 0, "producer_id": stuck.pair[0], "producer_epoch": stuck.pair[1]}
    assert "abort that id" in stuck.abort("-", body, token=stuck.token).body["error"]
    assert stuck.abort("-", {**body, "producer_id": 5}, token=stuck.token).status == 409
    assert stuck.abort(ID, token=stuck.token).status == 200
    assert stuck.abort(ID, token=stuck.token).status == 409


def test_a_hanging_one_is_closed(stuck: Stuck) -> None:
    """Left by an id that expired, or whose records were lost."""
    hanging = 4711
    stuck.broker._call(lambda: _append_open(stuck, hanging))
    body = {"topic": "orders", "partition": 1, "producer_id": hanging, "producer_epoch": 0}
    stuck.abort(ID, token=stuck.token)
    (row,) = stuck.get("stuck").body
    assert (row["state"], row["transactional_id"], row["producer_id"]) == ("Hanging", None, hanging)
    told = stuck.abort("-", body, token=stuck.token)
    assert (told.status, told.body["by"]) == (200, "WriteTxnMarkers")
    assert stuck.get("stuck").body == []


def _append_open(stuck: Stuck, producer_id: int) -> None:
    from oncelog.protocol.records import build_batch

    log = stuck.broker._life.running.logs.log(SECOND)
    assert log is not None
    batch = build_batch([(1, b"k", b"v")], producer_id=producer_id, producer_epoch=0, base_sequence=0, is_transactional=True)
    log.append(memoryview(batch), stuck.broker.clock.now_ms(), verified=True)


def test_lists_are_paged_and_filtered(stuck: Stuck) -> None:
    stuck.client.init("another")
    answer = stuck.get("transactions?limit=1&offset=1")
    assert ([row["transactional_id"] for row in answer.body], answer.headers["x-total-count"]) == (["another"], "2")
    assert [row["transactional_id"] for row in stuck.get("transactions?state=Ongoing").body] == [ID]
    assert [row["transactional_id"] for row in stuck.get("transactions?q=noth").body] == ["another"]
    assert [row["partition"] for row in stuck.get("partitions?q=orders").body] == [0, 1]
    assert misshapen(stuck.get("partitions").body, EXAMPLES["GET /api/v1/partitions"]) == []
    assert stuck.get("transactions?limit=x").status == 400


def test_overview_and_groups(stuck: Stuck) -> None:
    assert misshapen(stuck.get("overview").body, EXAMPLES["GET /api/v1/overview"]) == []
    group = stuck.get("groups/billing").body
    assert misshapen(group, EXAMPLES["GET /api/v1/groups"][0]) == []
    (offset,) = group["offsets"]
    (pending,) = offset["pending"]
    assert (offset["committed_offset"], pending["offset"], pending["transactional_id"]) == (None, 2, ID)
    assert stuck.get("groups").body == [group]
    assert stuck.get("groups/nobody").status == 404
    assert stuck.get("fencings").status == stuck.get("lint").status == 200


def test_the_broker_is_down(stuck: Stuck) -> None:
    stuck.broker.crash()
    assert stuck.get("stuck").status == 503
    stuck.broker.restart()
    assert stuck.get("stuck").status == 200


def test_numbers_and_places() -> None:
    asked = Asked({"topic": "t", "n": "3"}, {"limit": "5000"}, {})
    assert (asked.number("limit", 1, 1000), asked.number("offset", 7, 9), asked.place()) == (1000, 7, TopicPartition("t", 3))
    with pytest.raises(Refused):
        Asked({"topic": "t", "n": "٣"}, {}, {}).place()
