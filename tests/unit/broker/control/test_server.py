"""The socket of the control port: its life, and clients that take too long or are too many."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from oncelog.broker.control import server as module
from oncelog.broker.control.server import ControlServer
from oncelog.broker.settings.control import LOOPBACK, ControlEndpoint
from oncelog.broker.testkit import Broker
from support.control_client import ask

pytestmark = pytest.mark.unit
PATIENCE_SECONDS = 30


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(control=True) as made:
        yield made


def connect(broker: Broker) -> socket.socket:
    return socket.create_connection((LOOPBACK, int(broker.control_url.rpartition(":")[2])), timeout=PATIENCE_SECONDS)


def closed(client: socket.socket) -> bool:
    """Reads to the end; a connection that stays open is a TimeoutError."""
    try:
        while client.recv(4096):
            pass
    except ConnectionResetError:
        pass
    return True


@pytest.mark.parametrize("sent", [b"", b"GET /livez HTT", b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\nX: y"])
def test_who_sends_no_whole_head_is_cut_off(broker: Broker, sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HEAD_SECONDS", 0.05)
    with connect(broker) as client:
        client.sendall(sent)
        assert closed(client)


def test_who_goes_silent_after_an_answer_is_cut_off(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HEAD_SECONDS", 0.05)
    with connect(broker) as client:
        client.sendall(b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET")
        assert client.recv(4096).startswith(b"HTTP/1.1 200")
        assert closed(client)


def test_a_body_that_does_not_come(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oncelog.broker.control.bodies.BODY_SECONDS", 0.05)
    with connect(broker) as client:
        client.sendall(b"POST /v1/faults HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{")
        assert client.recv(4096).startswith(b"HTTP/1.1 408")


def test_a_head_is_bounded(broker: Broker) -> None:
    with connect(broker) as client:
        client.sendall(b"GET /livez HTTP/1.1\r\nX: " + b"y" * (module.HEAD_BYTES + 4096))
        answer = client.recv(4096)
        assert answer == b"" or b" 4" in answer[:13]
        assert closed(client)


def test_connections_are_bounded_and_free_again(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_CONNECTIONS", 2)
    held = [connect(broker) for _ in range(2)]
    for client in held:
        client.sendall(b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert client.recv(4096).startswith(b"HTTP/1.1 200")
    with connect(broker) as third:
        assert closed(third)
    for client in held:
        client.sendall(b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        assert closed(client)
        client.close()
    assert ask(broker.control_url, "GET", "/livez").status == 200


def test_the_port_stays_while_the_broker_does_not(broker: Broker) -> None:
    url = broker.control_url
    broker.crash()
    assert (broker.control_url, ask(url, "GET", "/livez").status, ask(url, "GET", "/readyz").status) == (url, 200, 503)
    broker.restart()
    assert ask(url, "GET", "/readyz").status == 200
    ask(url, "POST", "/v1/reset")
    assert ask(url, "GET", "/readyz").status == 200


def test_a_port_of_ones_own_and_one_that_is_taken() -> None:
    with Broker(control=True) as first:
        port = int(first.control_url.rpartition(":")[2])
        with pytest.raises(OSError), Broker(control=port):
            pass
    with Broker(control=port) as second:
        assert second.control_url == f"http://127.0.0.1:{port}"


def test_closing_ends_what_is_under_way() -> None:
    with Broker(control=True) as broker:
        client = connect(broker)
        client.sendall(b"POST /v1/faults HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{")
        ask(broker.control_url, "GET", "/livez")  # what came before it has been read
    with client:
        assert closed(client)
    with pytest.raises(RuntimeError, match="control=True"):
        _ = broker.control_url


def test_one_that_was_never_started_may_be_closed() -> None:
    with Broker() as broker:

        async def close() -> None:
            await ControlServer(broker._life, ControlEndpoint(LOOPBACK, 0)).close()

        broker._do(close())
