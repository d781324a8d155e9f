"""How many connections there may be, in all and of an address; those that shake hands count."""

from __future__ import annotations

import socket
import time

import pytest
from oncelog.broker.net import refusals
from oncelog.broker.net.connection_quotas import ConnectionQuotas, resolved
from oncelog.broker.settings.checks import parse_overrides
from oncelog.protocol.errors import KafkaError
from support.certificates import Authority, openssl
from support.process import wait_until
from support.secured_listener import Running

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def fresh_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusals, "tell", refusals.RefusalLog(refusals._log.warning, time.monotonic).tell)


@pytest.fixture
def stores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    if openssl() is None:
        pytest.skip("no openssl to make certificates with")
    return {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(Authority(tmp_path_factory.mktemp("ca")).issue("localhost"))}


def connect(running: Running) -> socket.socket:
    return socket.create_connection(("127.0.0.1", running.listener.port), 5)


def is_closed(one: socket.socket) -> bool:
    try:
        return one.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("secured", [False, True])
def test_an_address_has_so_many_connections(secured: bool, stores: dict[str, str], caplog: pytest.LogCaptureFixture) -> None:
    """A handshake in progress counts; who leaves makes room; the limit of another address is its own."""
    quotas = ConnectionQuotas(per_ip=2, per_ip_overrides={"10.0.0.1": 3})
    running = Running(security="SSL" if secured else "PLAINTEXT", tls=stores if secured else None, quotas=quotas)
    try:
        first, second = connect(running), connect(running)
        wait_until(lambda: quotas.open == 2, what="two connections")
        with connect(running) as third:
            assert is_closed(third)
        assert "already has the configured maximum of 2 connections" in caplog.text
        wait_until(lambda: quotas.open == 2, what="the third one's end")
        assert [quotas.opened("10.0.0.1") is None for _ in range(4)] == [True, True, True, False]
        assert quotas.opened("10.0.0.2") is None
        for host in ["10.0.0.1"] * 4 + ["10.0.0.2"]:
            quotas.closed(host)
        first.close()
        wait_until(lambda: quotas.open == 1, what="the first one's end")
        with connect(running) as another:
            wait_until(lambda: quotas.open == 2, what="another")
            another.settimeout(0.05)
            with pytest.raises(TimeoutError):
                another.recv(1)
        second.close()
        wait_until(lambda: quotas.open == 0, what="the end of all")
    finally:
        running.close()


def test_handshakes_count_among_all_connections(stores: dict[str, str]) -> None:
    quotas = ConnectionQuotas(2)
    running = Running(security="SSL", tls=stores, quotas=quotas)
    try:
        with connect(running), connect(running):
            wait_until(lambda: quotas.open == 2, what="two handshakes")
            with connect(running) as third:
                assert is_closed(third)
    finally:
        running.close()


def test_what_open_files_leave_is_named() -> None:
    quotas = ConnectionQuotas(max_sockets=0)
    assert "ulimit -n" in str(quotas.opened("10.0.0.1"))


def test_overrides_name_addresses_and_hosts() -> None:
    limits = resolved(parse_overrides("localhost:7, 10.0.0.1:5,[::1]:6"))
    assert limits["127.0.0.1"] == 7
    assert limits["10.0.0.1"] == 5
    assert limits["::1"] == 6
    with pytest.raises(KafkaError, match="no address of nowhere"):
        resolved({"nowhere.invalid": 1})
