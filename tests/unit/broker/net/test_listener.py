"""A listener with SASL and TLS on a real socket: what clients may do before, during and after authentication."""

from __future__ import annotations

import contextlib
import shutil
import socket
import ssl
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from oncelog.broker.commands.client.sasl import conversation
from oncelog.broker.commands.client.wire import ConnectFailure, WireClient
from oncelog.broker.commands.ready import ready
from oncelog.broker.net import refusals
from oncelog.broker.net.backlog import CLOSINGS_A_TURN
from oncelog.broker.net.connection import Connection
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from support.process import wait_until
from support.secured_listener import Running, users

pytestmark = pytest.mark.unit


class FakeTransport:
    """Of a connection that was accepted when the listener had closed."""

    aborted = False

    def get_extra_info(self, name: str) -> Any:
        return {"peername": ("1.2.3.4", 5), "sockname": ("127.0.0.1", 9092)}.get(name)

    def set_write_buffer_limits(self, high: int) -> None: ...

    def abort(self) -> None:
        self.aborted = True

    def is_closing(self) -> bool:
        return self.aborted

    def close(self) -> None: ...


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    fresh = refusals.RefusalLog(refusals._log.warning, time.monotonic)  # what earlier tests told is told again
    monkeypatch.setattr(refusals, "tell", fresh.tell)
    made = Running()
    yield made
    made.close()


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_who_logs_in_is_served_as_himself(running: Running, mechanism: str) -> None:
    with running.client(mechanism=mechanism, username="alice", password="secret") as client:
        assert users(client) == 0


def test_the_principal_decides(running: Running) -> None:
    with running.client(mechanism="PLAIN", username="bob", password="x") as client:
        assert users(client) == 31


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_a_wrong_password_is_refused(running: Running, mechanism: str) -> None:
    with pytest.raises(ConnectFailure, match="Authentication failed") as failure:
        running.client(mechanism=mechanism, username="alice", password="wrong").connect()
    assert failure.value.stage == "sasl"


def test_after_a_failed_authentication_the_connection_is_closed(running: Running) -> None:
    with running.client() as client:
        client.send(ApiKey.SASL_HANDSHAKE, messages.SaslHandshakeRequest(mechanism="PLAIN"))
        refused = client.send(ApiKey.SASL_AUTHENTICATE, messages.SaslAuthenticateRequest(auth_bytes=b"\0alice\0wrong"))
        assert refused.error_code == 58
        with pytest.raises(ConnectFailure, match="closed the connection"):
            client.send(ApiKey.SASL_HANDSHAKE, messages.SaslHandshakeRequest(mechanism="PLAIN"))


def bare(client: WireClient, token: bytes) -> bytes:
    """A token without a request around it; the broker's, or ConnectFailure when it closes the connection."""
    client._write(b"", token)
    return bytes(client._read_frame(ApiKey.SASL_AUTHENTICATE))


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_bare_tokens_after_the_first_handshake_version(running: Running, mechanism: str, caplog: pytest.LogCaptureFixture) -> None:
    """What clients from before SaslAuthenticate send, and kafka-python when it is told that the broker is 0.11 (KIP-43)."""

    def log_in(client: WireClient, password: str) -> None:
        handshake = client.send(ApiKey.SASL_HANDSHAKE, messages.SaslHandshakeRequest(mechanism=mechanism), version=0)
        assert handshake.error_code == 0
        talk = conversation(mechanism, "alice", password)
        answer = bare(client, next(talk))
        with contextlib.suppress(StopIteration):
            answer = bare(client, talk.send(answer))
            talk.send(answer)
        assert answer.startswith(b"v=") == (mechanism != "PLAIN")

    with running.client() as client:
        log_in(client, "secret")
        assert users(client) == 0
    with running.client() as client, pytest.raises(ConnectFailure, match="closed the connection"):
        log_in(client, "wrong")
    assert f"authentication failed listener=L mechanism={mechanism} user=alice" in caplog.text


def test_a_login_that_fails_is_logged_and_cannot_write_the_log(running: Running, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(ConnectFailure):
        running.client(mechanism="PLAIN", username="mallory\nINFO fine", password="x").connect()
    (line,) = [record.getMessage() for record in caplog.records if "authentication failed" in record.getMessage()]
    assert 'user="mallory\\nINFO fine"' in line
    assert "client=127.0.0.1" in line


def test_a_denied_request_is_logged(running: Running, caplog: pytest.LogCaptureFixture) -> None:
    with running.client(mechanism="PLAIN", username="bob", password="x") as client:
        assert users(client) == 31
    assert "denied principal=User:bob operation=DESCRIBE resource=CLUSTER name=kafka-cluster client=127.0.0.1" in caplog.text


def test_before_authentication_other_requests_close_the_connection(running: Running) -> None:
    with running.client() as client, pytest.raises(ConnectFailure, match="closed the connection"):
        users(client)


def test_an_unknown_mechanism_is_answered_with_those_offered(running: Running) -> None:
    with running.client() as client:
        answer = client.send(ApiKey.SASL_HANDSHAKE, messages.SaslHandshakeRequest(mechanism="GSSAPI"))
        assert (answer.error_code, answer.mechanisms) == (33, ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
        with pytest.raises(ConnectFailure, match="closed the connection"):
            client.send(ApiKey.SASL_HANDSHAKE, messages.SaslHandshakeRequest(mechanism="PLAIN"))


def test_a_session_that_ended_closes_the_connection() -> None:
    running = Running(max_reauth_ms=1)
    try:
        with running.client(mechanism="PLAIN", username="alice", password="secret") as client:
            start = running.context.env.clock.monotonic_ms()
            while running.context.env.clock.monotonic_ms() <= start + 1:
                pass
            with pytest.raises(ConnectFailure, match="closed the connection"):
                users(client)
    finally:
        running.close()


@pytest.fixture(scope="module")
def pem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl to make a certificate with")
    folder = tmp_path_factory.mktemp("tls")
    key, certificate, both = folder / "key.pem", folder / "cert.pem", folder / "both.pem"
    new = [
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "1",
        "-subj",
        "/CN=localhost",
        "-addext",
        "subjectAltName=IP:127.0.0.1",
    ]
    subprocess.run([openssl, *new, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    both.write_text(key.read_text() + certificate.read_text())
    return both


def test_tls_with_a_client_certificate(pem: Path) -> None:
    store = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(pem),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(pem),
    }
    running = Running(security="SSL", tls={**store, "ssl.client.auth": "required"})
    try:
        context = ssl.create_default_context(cafile=pem)
        context.load_cert_chain(pem)
        with running.client(tls=context) as client:
            assert users(client) == 0
        with pytest.raises(ConnectFailure):
            running.client(tls=ssl.create_default_context(cafile=pem)).connect()
        with pytest.raises(ConnectFailure, match=r"TLS|closed"):
            running.client().connect()
    finally:
        running.close()


def test_sasl_over_tls(pem: Path) -> None:
    running = Running(security="SASL_SSL", tls={"ssl.keystore.type": "PEM", "ssl.keystore.location": str(pem)})
    try:
        tls = ssl.create_default_context(cafile=pem)
        with running.client(tls=tls, mechanism="SCRAM-SHA-512", username="alice", password="secret") as client:
            assert users(client) == 0
    finally:
        running.close()


def test_a_connection_accepted_in_the_last_moment_is_not_served() -> None:
    """It was in the loop's queue when the listener closed: the logs are closed by the time it is opened."""
    running = Running(security="PLAINTEXT")
    running.close()
    served: list[int] = []
    running.listener._handler.handle = lambda frame, connection: served.append(1)  # type: ignore[assignment,method-assign,misc]
    late = Connection(running.listener, running.listener._handler)
    transport = FakeTransport()
    late.connection_made(transport)  # type: ignore[arg-type]
    buffer = late.get_buffer(-1)
    buffer[:5] = b"\0\0\0\1x"
    late.buffer_updated(5)
    assert not served
    assert transport.aborted
    assert not running.listener.connections


def test_closing_waits_for_the_end_of_every_connection() -> None:
    running = Running(security="PLAINTEXT")
    with running.client() as client:
        assert users(client) == 31
        assert running.listener.connections
        running.close()
        assert not running.listener.connections


@pytest.mark.parametrize("why", ["clients leave", "idle"])
def test_a_crowd_is_closed_in_several_turns(why: str) -> None:
    running, gone = Running(security="PLAINTEXT"), Counter[int]()
    count, turn, listener = 3 * CLOSINGS_A_TURN, running.count_turns(), running.listener
    lost = listener.closed

    def closed(connection: Connection) -> None:
        gone[turn()] += 1
        lost(connection)

    listener.closed = closed  # type: ignore[method-assign]
    try:
        with contextlib.ExitStack() as open_sockets:
            crowd = [open_sockets.enter_context(socket.create_connection(("127.0.0.1", listener.port), 10)) for _ in range(count)]
            wait_until(lambda: len(listener.connections) == count)
            if why == "idle":
                running.loop.call_soon_threadsafe(listener.reap_idle, float("inf"), 0.0)
            else:
                running.in_one_turn(lambda: [one.close() for one in crowd] and None)
            wait_until(lambda: not listener.connections)
    finally:
        running.close()
    assert sum(gone.values()) == count
    assert max(gone.values()) <= CLOSINGS_A_TURN


def test_a_client_over_tls_that_does_not_read_is_counted(pem: Path) -> None:
    """What its transport holds is asked for when it is full, and not asked for any more when the client reads again."""
    running = Running(security="SSL", tls={"ssl.keystore.type": "PEM", "ssl.keystore.location": str(pem)})
    try:
        answer = bytes(8 << 20)
        running.listener._handler.handle = lambda frame, connection: [answer]  # type: ignore[assignment,method-assign,misc]
        raw = socket.create_connection(("127.0.0.1", running.listener.port), 10)
        with ssl.create_default_context(cafile=pem).wrap_socket(raw, server_hostname="127.0.0.1") as client:
            client.sendall(b"\0\0\0\1x")
            wait_until(lambda: running.listener.unread.total > 0)
            left = 4 + len(answer)
            while left:
                left -= len(client.recv(min(left, 1 << 20)))
            wait_until(lambda: running.listener.unread.total == 0)
    finally:
        running.close()


@pytest.mark.parametrize(("password", "status"), [("secret", 0), ("wrong", 1)])
def test_ready_logs_in(running: Running, password: str, status: int) -> None:
    address = f"127.0.0.1:{running.listener.port}"
    assert ready(bootstrap=address, username="alice", password=password) == status
    assert ready(bootstrap=address) == 0  # without a user it asks for ApiVersions, which needs none


@pytest.mark.parametrize(
    ("token", "error", "message"),
    [
        (b"\0alice\0secret", 0, ""),
        (b"\0\xff\0x", 58, "Authentication failed: Invalid username or password"),
    ],
)
def test_the_answer_to_a_token_as_kafka_words_it(running: Running, token: bytes, error: int, message: str) -> None:
    with running.client() as client:
        client.send(ApiKey.SASL_HANDSHAKE, messages.SaslHandshakeRequest(mechanism="PLAIN"))
        answer = client.send(ApiKey.SASL_AUTHENTICATE, messages.SaslAuthenticateRequest(auth_bytes=token))
        assert (answer.error_code, answer.error_message) == (error, message)


def test_a_token_before_the_handshake_closes_the_connection(running: Running) -> None:
    with running.client() as client, pytest.raises(ConnectFailure, match="closed the connection"):
        client.send(ApiKey.SASL_AUTHENTICATE, messages.SaslAuthenticateRequest(auth_bytes=b"\0alice\0secret"))
