"""Connections and coordinators: what passes is tried again in growing pauses up to a deadline, what does not is raised at once."""

from __future__ import annotations

import socket
import struct
import threading
from typing import Any

import pytest
from oncelog.spark_jobs.sink import client, wire
from oncelog.spark_jobs.sink.client import RETRIABLE, BrokerError, Connection, FencedError, NotReachedError
from support.sink_broker import Broker, cluster

LOST = ConnectionError("lost")


@pytest.fixture
def broker() -> Broker:
    return Broker()


def end(made: client.Cluster) -> int:
    """Any question to a coordinator."""
    return made.ask_coordinator(
        wire.TRANSACTION, "q", wire.END_TXN, wire.end_txn_request("q", 1, 2, True), wire.error_answer, lambda code: code, "end"
    )


@pytest.mark.parametrize("code", sorted(RETRIABLE))
def test_what_passes_is_tried_again(broker: Broker, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    broker.on[wire.END_TXN] = [{"error_code": code}, {"error_code": code}, {"error_code": 0}]
    with cluster(broker, monkeypatch) as (made, passing):
        assert end(made) == 0
    assert passing.pauses == [0.01, 0.02]
    assert broker.count(wire.FIND_COORDINATOR) == (3 if code in (15, 16) else 1)  # only these say that it is somewhere else


@pytest.mark.parametrize(("code", "error"), [(90, FencedError), (47, FencedError), (48, BrokerError), (53, BrokerError)])
def test_what_is_final_is_raised_at_once(broker: Broker, monkeypatch: pytest.MonkeyPatch, code: int, error: type[BrokerError]) -> None:
    broker.on[wire.END_TXN] = [{"error_code": code}]
    with cluster(broker, monkeypatch) as (made, passing), pytest.raises(error) as told:
        end(made)
    assert (type(told.value), told.value.code, passing.pauses) == (error, code, [])
    assert str(told.value) == f"end: {client.NAMES[code]} ({code})"


def test_pauses_grow_up_to_a_second_and_end_at_the_deadline(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    broker.on[wire.END_TXN] = [{"error_code": 51}]
    with (
        cluster(broker, monkeypatch, patience=10) as (made, passing),
        pytest.raises(NotReachedError, match=r"gave up: end: CONCURRENT_TRANSACTIONS \(51\)"),
    ):
        end(made)
    assert passing.pauses[:8] == [0.01 * 2**n for n in range(7)] + [1.0]
    assert 9 < sum(passing.pauses) <= 10


def test_a_lost_connection_is_opened_again_and_the_coordinator_looked_for(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    broker.on[wire.END_TXN] = [LOST, {"error_code": 0}]
    with cluster(broker, monkeypatch) as (made, _):
        assert end(made) == 0
        assert end(made) == 0
    assert broker.count(wire.FIND_COORDINATOR) == 2
    assert len(broker.connections) == 2
    assert broker.connections[0].closed


def test_a_coordinator_that_cannot_be_told_yet(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    here = broker.on[wire.FIND_COORDINATOR][0]
    broker.on[wire.FIND_COORDINATOR] = [{"error_code": 15, "node_id": -1, "host": "", "port": -1}, {**here, "port": 9093}]
    broker.on[wire.END_TXN] = [{"error_code": 0}]
    with cluster(broker, monkeypatch) as (made, _):
        assert end(made) == 0
    assert broker.asked[-1][0] == ("h", 9093)


def test_any_bootstrap_server_will_do(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    broker.down = {("h", 9092)}
    with cluster(broker, monkeypatch) as (made, _):
        assert list(made.metadata(["t"]).topics) == ["t"]
        assert broker.asked[-1][0] == ("h", 9093)
    broker.down = {("h", 9092), ("h", 9093)}
    with cluster(broker, monkeypatch, patience=1) as (made, _), pytest.raises(NotReachedError, match="is down"):
        made.metadata(["t"])


def test_a_topic_without_leader_is_waited_for(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    led = broker.on[wire.METADATA][0]
    broker.topics({"t": [0, -1]})
    broker.on[wire.METADATA] = [broker.on[wire.METADATA][0], led]
    leaderless = broker.on[wire.METADATA][0]["topics"][0].partitions[1]
    leaderless.error_code = 5
    with cluster(broker, monkeypatch) as (made, passing):
        assert made.leader("t", 0) == ("h", 9092)
    assert passing.pauses == [0.01]


def test_the_leader_of_a_partition(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    broker.topics({"t": [0, 1]})
    with cluster(broker, monkeypatch) as (made, _):
        assert [made.leader("t", partition) for partition in (0, 1)] == [("h", 9092), ("h", 9093)]


@pytest.mark.parametrize(("patience", "waits"), [(60, 5), (1, 1)])
def test_a_missing_topic_is_waited_for_a_moment_only(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, patience: float, waits: float
) -> None:
    broker.topics({}, {"none": 3})
    with (
        cluster(broker, monkeypatch, patience=patience) as (made, passing),
        pytest.raises((BrokerError, NotReachedError), match="topic none"),
    ):
        made.metadata(["none"])
    assert waits - 1 <= sum(passing.pauses) <= waits + 1


def test_a_topic_that_may_not_be_seen(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    broker.topics({}, {"t": 29})
    with cluster(broker, monkeypatch) as (made, passing), pytest.raises(BrokerError, match="TOPIC_AUTHORIZATION_FAILED"):
        made.metadata(["t"])
    assert passing.pauses == []


def test_addresses() -> None:
    made = client.Cluster("a:1, b.c:22,[::1]:3")
    assert made.bootstrap == [("a", 1), ("b.c", 22), ("::1", 3)]


def test_errors_have_names() -> None:
    assert str(BrokerError(87, "t-0")) == "t-0: INVALID_RECORD (87)"
    assert str(BrokerError(77, "t-0")) == "t-0: error (77)"


# -- one connection, on a pair of sockets


class Peer:
    """The other end of a connection: reads what was sent, answers what it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        mine, self.socket = socket.socketpair()
        mine.settimeout(30)
        monkeypatch.setattr(socket, "create_connection", lambda _address, _timeout: Pair(mine))
        self.connection = Connection(("h", 1), {}, 30)

    def answer(self, *pieces: bytes) -> None:
        threading.Thread(target=lambda: [self.socket.sendall(piece) for piece in pieces]).start()


class Pair:
    """A Unix socket that takes TCP's options."""

    def __init__(self, inner: socket.socket) -> None:
        self.inner = inner

    def setsockopt(self, *_arguments: int) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


@pytest.fixture
def peer(monkeypatch: pytest.MonkeyPatch) -> Any:
    made = Peer(monkeypatch)
    yield made
    made.socket.close()
    made.connection.close()


def framed(body: bytes, size: int | None = None) -> bytes:
    return struct.pack(">i", len(body) if size is None else size) + body


def test_answers_come_in_the_order_of_the_requests(peer: Peer) -> None:
    peer.connection.send(wire.END_TXN, [b"one"])
    peer.connection.send(wire.INIT_PRODUCER_ID, [b"two"])
    data = framed(struct.pack(">i", 1) + b"first") + framed(struct.pack(">i", 2) + b"\0" + b"second")
    peer.answer(*(data[at : at + 1] for at in range(len(data))))  # byte by byte
    assert [peer.connection.receive(), peer.connection.receive()] == [b"first", b"second"]
    with pytest.raises(LookupError):
        peer.connection.receive()


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (framed(b"", 3), "3 bytes announced: this is no Kafka, or TLS is expected"),
        (framed(b"", -1), "-1 bytes announced"),
        (b"\x15\3\3\0\2\2\x46", "bytes announced: this is no Kafka, or TLS is expected"),
        (framed(struct.pack(">i", 9)), "answer 9 where 1 was due"),
    ],
)
def test_what_is_no_answer(peer: Peer, answer: bytes, why: str) -> None:
    peer.connection.send(wire.END_TXN, [])
    peer.answer(answer)
    with pytest.raises(ConnectionError, match=why):
        peer.connection.receive()


def test_a_connection_that_ends_within_an_answer(peer: Peer) -> None:
    peer.connection.send(wire.END_TXN, [])
    peer.socket.sendall(framed(b"123", 10))
    peer.socket.shutdown(socket.SHUT_WR)
    with pytest.raises(ConnectionError, match="connection closed by the broker"):
        peer.connection.receive()


def test_a_failing_login_leaves_no_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    mine, other = socket.socketpair()

    def refused(*_arguments: object) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr(socket, "create_connection", lambda _address, _timeout: Pair(mine))
    monkeypatch.setattr(client, "log_in", refused)
    with pytest.raises(RuntimeError, match="no"):
        Connection(("h", 1), {"security.protocol": "sasl_plaintext"}, 30)
    assert (mine.fileno(), other.recv(1)) == (-1, b"")
    other.close()
