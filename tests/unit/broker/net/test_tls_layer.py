"""TLS on a real socket: handshakes that fail end with an alert and a line in the log, data comes through whole in any portions."""

from __future__ import annotations

import contextlib
import socket
import ssl
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from oncelog.broker.commands.ready import ready
from oncelog.broker.net import refusals, tls_layer
from oncelog.broker.net.backlog import HANDSHAKES_A_TURN
from support.certificates import Authority, openssl
from support.process import wait_until
from support.secured_listener import Running, users

pytestmark = [pytest.mark.unit, pytest.mark.skipif(openssl() is None, reason="no openssl to make certificates with")]
VERSIONS = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("stranger"))


@pytest.fixture
def start(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Running]]:
    """A listener with the given demand for client certificates."""
    monkeypatch.setattr(refusals, "tell", refusals.RefusalLog(refusals._log.warning, time.monotonic).tell)
    made: list[Running] = []

    def begin(client_auth: str = "required", security: str = "SSL", **options: Any) -> Running:
        stores = {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(authority.issue("localhost")),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(authority.certificate),
        }
        made.append(Running(security=security, tls={**stores, "ssl.client.auth": client_auth, **options}))
        return made[-1]

    yield begin
    for running in made:
        running.close()


def client(authority: Authority, version: ssl.TLSVersion, certificate: Path | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=authority.certificate)
    context.minimum_version = context.maximum_version = version
    if certificate is not None:
        context.load_cert_chain(certificate)
    return context


def converse(running: Running, context: ssl.SSLContext) -> bytes:
    """The first answer's beginning; ssl.SSLError for an alert."""
    with (
        socket.create_connection(("127.0.0.1", running.listener.port), 5) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as secured,
    ):
        secured.sendall(bytes.fromhex("0000000a 0012 0000 00000007 ffff"))
        return secured.recv(8)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("shown", "alert"),
    [
        ("none", "handshake failure|certificate required"),
        ("unknown authority", "unknown ca"),
        ("expired", "certificate expired"),
    ],
)
def test_a_client_that_is_turned_away_reads_the_alert(
    start: Callable[..., Running],
    authority: Authority,
    stranger: Authority,
    shown: str,
    alert: str,
    version: ssl.TLSVersion,
    caplog: pytest.LogCaptureFixture,
) -> None:
    certificate = {"none": None, "unknown authority": stranger.issue("eve"), "expired": authority.issue("late", expired=True)}[shown]
    with pytest.raises(ssl.SSLError, match=f"alert ({alert})"):
        converse(start(), client(authority, version, certificate))
    (line,) = [record.getMessage() for record in caplog.records if "TLS" in record.getMessage()]
    assert line.startswith("TLS handshake failed listener=L reason=")
    assert line.endswith("client=127.0.0.1")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("demand", ["none", "requested", "required"])
def test_a_good_certificate_is_the_principal(
    start: Callable[..., Running], authority: Authority, demand: str, version: ssl.TLSVersion
) -> None:
    running = start(demand)
    assert converse(running, client(authority, version, authority.issue("alice")))[4:] == bytes.fromhex("00000007")
    if demand != "required":
        assert converse(running, client(authority, version))[4:] == bytes.fromhex("00000007")


@pytest.mark.parametrize("version", VERSIONS)
def test_a_certificate_that_no_rule_maps_is_nobody(
    start: Callable[..., Running], authority: Authority, version: ssl.TLSVersion, caplog: pytest.LogCaptureFixture
) -> None:
    running = start("requested", **{"ssl.principal.mapping.rules": "RULE:^CN=bob$/bob/"})
    for _ in range(20):  # an end, not a reset, be its request there already or on its way
        assert converse(running, client(authority, version, authority.issue("alice"))) == b""
    assert converse(running, client(authority, version, authority.issue("bob")))[4:] == bytes.fromhex("00000007")
    assert converse(running, client(authority, version))[4:] == bytes.fromhex("00000007")
    (line,) = [record.getMessage() for record in caplog.records]
    assert line == ('authentication failed listener=L reason="no rule of ssl.principal.mapping.rules applies to CN=alice" client=127.0.0.1')
    wait_until(lambda: not running.listener.connections, 10, "all to be gone")


def test_rules_for_certificates_are_not_for_who_logs_in(start: Callable[..., Running], authority: Authority) -> None:
    running = start("requested", "SASL_SSL", **{"ssl.principal.mapping.rules": "RULE:^CN=bob$/bob/"})
    assert converse(running, client(authority, VERSIONS[0], authority.issue("alice")))[4:] == bytes.fromhex("00000007")


def test_what_is_no_tls_is_told_apart(start: Callable[..., Running], caplog: pytest.LogCaptureFixture) -> None:
    running = start("none")
    with socket.create_connection(("127.0.0.1", running.listener.port), 5) as plain:
        plain.sendall(bytes.fromhex("0000000a 0012 0000 00000007 ffff"))
        assert plain.recv(100)[:1] in (b"", b"\x15")
    assert "does the client speak TLS?" in wait_until(lambda: caplog.text, 5, "the line")


def test_a_client_that_offers_only_old_versions(start: Callable[..., Running], authority: Authority) -> None:
    running = start("none", **{"ssl.enabled.protocols": "TLSv1.3"})
    with pytest.raises(ssl.SSLError, match="alert protocol version"):
        converse(running, client(authority, ssl.TLSVersion.TLSv1_2))


def test_a_handshake_that_never_ends_is_ended(
    start: Callable[..., Running], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(tls_layer, "HANDSHAKE_SECONDS", 0.05)
    running = start("none")
    with socket.create_connection(("127.0.0.1", running.listener.port), 5) as silent:
        silent.sendall(b"\x16\x03\x01")
        with contextlib.suppress(ConnectionResetError):
            assert silent.recv(1) == b""
    assert "not done within" in caplog.text


def test_large_and_many_requests_come_through_whole(start: Callable[..., Running], authority: Authority) -> None:
    """More than a read, more than a TLS record, and many in one: each answered in order."""
    running = start("none")
    frame = bytes.fromhex("0012 0000")
    with (
        socket.create_connection(("127.0.0.1", running.listener.port), 10) as plain,
        client(authority, ssl.TLSVersion.TLSv1_3).wrap_socket(plain, server_hostname="localhost") as secured,
    ):
        names = [b"", b"x" * 30_000, b"", b"y" * 32_000] * 20
        sent = b"".join(
            (8 + 2 + len(name)).to_bytes(4, "big") + frame + n.to_bytes(4, "big") + len(name).to_bytes(2, "big") + name
            for n, name in enumerate(names)
        )
        secured.sendall(sent)  # the answers are few enough to wait in the socket; two threads must not share a TLS connection
        seen = []
        reader = secured.makefile("rb")
        for _ in names:
            size = int.from_bytes(reader.read(4), "big")
            seen.append(int.from_bytes(reader.read(size)[:4], "big"))
    assert seen == list(range(len(names)))


def test_who_is_served(start: Callable[..., Running], authority: Authority) -> None:
    running = start("required")
    with running.client(tls=client(authority, ssl.TLSVersion.TLSv1_3, authority.issue("localhost"))) as served:
        assert users(served) == 0  # User:CN=localhost is a super user there


def test_ready_speaks_tls_and_shows_a_certificate(
    start: Callable[..., Running], authority: Authority, capsys: pytest.CaptureFixture[str]
) -> None:
    address = f"localhost:{start('required').listener.port}"
    assert ready(bootstrap=address, ca=authority.certificate, cert=authority.issue("localhost")) == 0
    assert ready(bootstrap=address, ca=authority.certificate) == 1
    assert ready(bootstrap=address) == 1
    assert "does not serve" in capsys.readouterr().err


def test_a_crowd_of_handshakes_takes_several_turns(
    start: Callable[..., Running], authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that begin at once are taken a few a turn, and each goes on where it was."""
    running, shaken = start("none"), Counter[int]()
    turn, shake = running.count_turns(), tls_layer.TlsLayer._shake_hands

    def counted(layer: tls_layer.TlsLayer) -> bool:
        shaken[turn()] += 1
        return shake(layer)

    monkeypatch.setattr(tls_layer.TlsLayer, "_shake_hands", counted)
    context = client(authority, ssl.TLSVersion.TLSv1_3)
    with contextlib.ExitStack() as open_sockets:
        crowd = [open_sockets.enter_context(socket.create_connection(("127.0.0.1", running.listener.port), 10)) for _ in range(40)]
        wait_until(lambda: len(running.listener.handshakes) == len(crowd))
        bios = [(ssl.MemoryBIO(), ssl.MemoryBIO()) for _ in crowd]
        layers = [context.wrap_bio(*pair, server_hostname="localhost") for pair in bios]

        def begin() -> None:
            for one, layer, (_, outgoing) in zip(crowd, layers, bios, strict=True):
                with contextlib.suppress(ssl.SSLWantReadError):
                    layer.do_handshake()
                one.sendall(outgoing.read())

        running.in_one_turn(begin)
        for one, layer, (incoming, outgoing) in zip(crowd, layers, bios, strict=True):
            while True:
                try:
                    layer.do_handshake()
                except ssl.SSLWantReadError:
                    incoming.write(one.recv(1 << 16))
                else:
                    break
            layer.write(bytes.fromhex("0000000a 0012 0000 00000007 ffff"))
            one.sendall(outgoing.read())
        for one, layer, (incoming, _) in zip(crowd, layers, bios, strict=True):
            answer = b""
            while not answer:
                with contextlib.suppress(ssl.SSLWantReadError):
                    answer = layer.read(8)
                if not answer:
                    incoming.write(one.recv(1 << 16))
            assert answer[4:] == bytes.fromhex("00000007")
    assert max(shaken.values()) <= HANDSHAKES_A_TURN
    assert sum(shaken.values()) >= 2 * len(crowd)
