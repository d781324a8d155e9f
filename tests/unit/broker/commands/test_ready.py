"""`oncelog ready`: whether a broker serves, at once or in time."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from oncelog.broker.commands.client.wire import ConnectFailure, Security, WireClient
from oncelog.broker.commands.ready import ready
from support.scripted_broker import ScriptedBroker
from support.served_broker import ServedBroker

pytestmark = pytest.mark.unit


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def test_one_that_serves(served: ServedBroker, capsys: pytest.CaptureFixture[str]) -> None:
    assert ready(bootstrap=served.address) == 0
    assert capsys.readouterr() == ("", "")


def test_nobody_there(capsys: pytest.CaptureFixture[str]) -> None:
    port = free_port()
    assert ready(bootstrap=f"127.0.0.1:{port}") == 1
    assert capsys.readouterr().err.startswith(f"error: 127.0.0.1:{port} does not serve: ")


def test_something_else_that_listens(capsys: pytest.CaptureFixture[str]) -> None:
    other = ScriptedBroker(greeting=b"HTTP/1.1 400 Bad Request\r\n\r\n")
    assert ready(bootstrap=other.address) == 1
    assert "no Kafka response" in capsys.readouterr().err
    other.close()


def test_one_that_comes_in_time_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    port = free_port()
    opened: list[ScriptedBroker] = []

    def pause(seconds: float) -> None:
        """Meanwhile it is started."""
        assert 0 < seconds <= 1
        opened.append(ScriptedBroker(port=port))

    monkeypatch.setattr("oncelog.broker.commands.ready.time.sleep", pause)
    assert ready(bootstrap=f"127.0.0.1:{port}", timeout=30.0) == 0
    (started,) = opened
    started.close()


# --- without an address


@pytest.fixture
def first_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Says what runs as process 1; nothing that is known, at first."""
    monkeypatch.setattr("oncelog.broker.commands.ready.FIRST_PROCESS", tmp_path / "cmdline")

    def runs(*words: str) -> None:
        (tmp_path / "cmdline").write_bytes(b"".join(word.encode() + b"\0" for word in words))

    return runs


@pytest.mark.usefixtures("first_process")
def test_the_listener_of_the_environment(served: ServedBroker, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("KAFKA_LISTENERS", f"CONTROLLER://:1,PLAINTEXT://{served.address}")
    assert ready() == 0
    monkeypatch.setenv("KAFKA_LISTENERS", f"PLAINTEXT://127.0.0.1:{free_port()}")
    assert ready() == 1
    monkeypatch.setenv("KAFKA_LISTENERS", "PLAINTEXT://127.0.0.1")
    assert ready() == 1
    assert "listeners: 'PLAINTEXT://127.0.0.1' is not NAME://host:port" in capsys.readouterr().err


@pytest.mark.usefixtures("first_process")
def test_the_usual_port_when_nothing_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert ready() in (0, 1)  # somebody may run one here
    assert ready(username="al", password="x") == 1
    assert "none of listeners=PLAINTEXT://127.0.0.1:9092 is SASL_PLAINTEXT or SASL_SSL" in capsys.readouterr().err


def test_the_options_of_process_1(served: ServedBroker, first_process: Callable[..., None], tmp_path: Path) -> None:
    port = served.address.rpartition(":")[2]
    python, oncelog = "/opt/oncelog/bin/python", "/opt/oncelog/bin/oncelog"
    first_process(python, oncelog, "serve", "--fast", "--port", port)
    assert ready() == 0
    first_process(oncelog, "serve", "--override", f"listeners=PLAINTEXT://{served.address}")
    assert ready() == 0
    (tmp_path / "server.properties").write_text(f"listeners=PLAINTEXT://{served.address}\n")
    first_process(python, oncelog, "serve", f"--config={tmp_path}/server.properties")
    assert ready() == 0
    first_process(python, oncelog, "serve", "--port", str(free_port()))
    assert ready() == 1


@pytest.mark.usefixtures("first_process")
def test_a_password_goes_to_nobody_whose_certificate_was_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Security] = []

    def connect(_client: WireClient) -> WireClient:
        asked.append(_client.security)
        raise ConnectFailure("tcp", "", "not here")

    monkeypatch.setattr("oncelog.broker.commands.ready.WireClient.connect", connect)
    monkeypatch.setenv("KAFKA_LISTENERS", "SASL_SSL://:9092")
    assert ready() == 1
    assert ready(username="al", password="secret", sasl_mechanism="PLAIN") == 1
    without, logging_in = asked
    assert without.tls is not None
    assert (without.mechanism, without.tls.verify_mode) == (None, ssl.CERT_NONE)
    assert logging_in.tls is not None
    assert (logging_in.mechanism, logging_in.tls.verify_mode) == ("PLAIN", ssl.CERT_REQUIRED)


@pytest.mark.parametrize(("answer", "status"), [("200 OK", 0), ("503 Service Unavailable", 1)])
def test_the_control_port_where_there_is_one(
    first_process: Callable[..., None], capsys: pytest.CaptureFixture[str], answer: str, status: int
) -> None:
    asked: list[bytes] = []

    def serve(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection:
            asked.append(connection.recv(65536))
            connection.sendall(f"HTTP/1.1 {answer}\r\nContent-Length: 0\r\n\r\n".encode())

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, args=(server,))
        thread.start()
        port = server.getsockname()[1]
        first_process("oncelog", "serve", "--override", f"control.listener=http://0.0.0.0:{port}")
        assert ready() == status
        thread.join()
    assert asked[0].startswith(b"GET /readyz HTTP/1.1\r\n")
    assert capsys.readouterr().err == ("" if status == 0 else f"error: http://0.0.0.0:{port}/readyz does not serve: it answered {answer}\n")
    assert ready() == 1
    assert "Connection refused" in capsys.readouterr().err


def test_the_control_port_that_process_1_was_told(first_process: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    port = free_port()
    first_process("oncelog", "serve", "--control", str(port))
    assert ready() == 1
    assert capsys.readouterr().err.startswith(f"error: http://127.0.0.1:{port}/readyz does not serve: ")


@pytest.mark.parametrize("address", ["", ":1", "host:port", "host:99999"])
def test_what_is_no_address(capsys: pytest.CaptureFixture[str], address: str) -> None:
    assert ready(bootstrap=address) == 2
    assert "is not HOST:PORT" in capsys.readouterr().err


def test_a_login_needs_a_password(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        ready(bootstrap="127.0.0.1:1", username="al")
    assert ended.value.code == 2
    assert "SASL_PLAINTEXT needs --username and --password" in capsys.readouterr().err
