"""Requests that are kept: whose, how many, and what is told of them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from oncelog.broker.console import watching
from oncelog.broker.console.watching import WatchedHandler, Watching
from oncelog.broker.testkit import Broker
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import TopicPartition
from support.console_kit import ID, stuck_broker
from support.txn_client import TV2, Client

pytestmark = pytest.mark.unit


def watched(broker: Broker) -> Watching:
    found = broker._life.watching
    assert found is not None
    return found


def test_an_owner_is_who_got_the_newest_epoch() -> None:
    with stuck_broker() as stuck:
        assert watched(stuck.broker).owner(ID).client_host == "127.0.0.1"
        assert watched(stuck.broker).owner("nobody").client_host is None


def test_requests_of_newer_clients() -> None:
    place = TopicPartition("a", 0)
    with Broker(control=True) as broker, Client(broker.bootstrap) as client:
        client.create("a", 1)
        pair = client.init("t")
        assert client.produce(TV2, "t", pair, 0, place, b"x") is ErrorCode.NONE
        assert client.send_offsets(TV2, "t", pair, "g", [(place, 1)]) is ErrorCode.NONE
        client.end(TV2, "t", pair, True)
        told = broker._call(lambda: watched(broker).requests_of("t"))
    assert [(each["kind"], each["api"], each["error"]) for each in told] == [
        ("init", "InitProducerId", None),
        ("offsets", "TxnOffsetCommit", None),
        ("prepare_commit", "EndTxn", None),
    ]
    assert told[1]["group_id"] == "g"
    assert told[2]["sentence"].endswith("to commit was answered with producer 1099511627776 epoch 1.")


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = Watching()
    frame, answer = bytes([0, 26]) + bytes(100), bytes(50)
    monkeypatch.setattr(watching, "KEPT_REQUESTS", 10)
    for _ in range(30):
        seen.saw(1, "h", frame, answer)
    assert (len(seen._kept), seen._kept_bytes) == (10, 1520)
    monkeypatch.setattr(watching, "KEPT_BYTES", 400)
    seen.saw(1, "h", frame, answer)
    assert (len(seen._kept), seen._kept_bytes) == (2, 304)


def test_what_cannot_be_read_is_left_out() -> None:
    seen = Watching()
    seen.saw(1, "h", bytes([0, 22, 0, 4]) + b"name t torn", b"")
    assert seen.requests_of("t") == []


def test_fetches_behind_the_first_of_a_connection_do_not_come_past() -> None:
    watching, asked = Watching(), []

    class Handler:
        clock = SimpleNamespace(time_ms=lambda: 1)

        def handle(self, frame: memoryview, connection: object) -> bytes:
            asked.append(bytes(frame))
            return b"answer"

    ways = WatchedHandler(Handler(), watching).ways()  # type: ignore[arg-type]
    connection = SimpleNamespace(client_name="c", client_host="h", sasl=None)
    for number in range(3):
        assert ways[ApiKey.FETCH](memoryview(b"\x00\x01\x00\x0c%d" % number), connection) == b"answer"  # type: ignore[arg-type]
    assert len(asked) == 3
    assert [frame for _, _, frame in watching.samples(9)] == [asked[0]]
