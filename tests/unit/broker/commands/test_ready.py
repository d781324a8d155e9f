"""`oncelog ready`: whether a broker serves, at once or in time."""

from __future__ import annotations

import socket

import pytest
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


@pytest.mark.parametrize("address", ["", ":1", "host:port", "host:99999"])
def test_what_is_no_address(capsys: pytest.CaptureFixture[str], address: str) -> None:
    assert ready(bootstrap=address) == 2
    assert "is not HOST:PORT" in capsys.readouterr().err


def test_a_login_needs_a_password(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        ready(bootstrap="127.0.0.1:1", username="al")
    assert ended.value.code == 2
    assert "SASL_PLAINTEXT needs --username and --password" in capsys.readouterr().err
