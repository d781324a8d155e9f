"""Asking a control port: what stops it is said in a line."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from oncelog.broker.commands.client.control import ControlPort

pytestmark = pytest.mark.unit


@contextmanager
def answering(answer: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """The address of a server that answers so, and what it was sent."""
    seen: list[bytes] = []

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            data = b""
            while b"\r\n\r\n" not in data and (more := self.request.recv(65536)):
                data += more
            seen.append(data)
            self.request.sendall(answer)

    with socketserver.TCPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", seen
        finally:
            server.shutdown()
            thread.join()


def http(status: str, body: object) -> bytes:
    data = json.dumps(body).encode()
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (status.encode(), len(data), data)


def failure(port: ControlPort, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    with pytest.raises(SystemExit) as ended:
        port.ask("GET", "/v1/faults")
    return int(ended.value.code or 0), capsys.readouterr().err


def test_the_token_goes_along() -> None:
    with answering(http("200 OK", {"faults": []})) as (url, seen):
        assert ControlPort(control=url, token="secret").ask("GET", "/v1/faults") == {"faults": []}
        assert ControlPort(control=url).ask("GET", "/v1/faults") == {"faults": []}
    assert [b"authorization: bearer secret" in request.lower() for request in seen] == [True, False]


def test_a_refusal_is_what_the_port_says(capsys: pytest.CaptureFixture[str]) -> None:
    with answering(http("400 Bad Request", {"error": "name an api"})) as (url, _):
        assert failure(ControlPort(control=url), capsys) == (1, "error: name an api\n")
    with answering(http("400 Bad Request", ["odd"])) as (url, _):
        assert failure(ControlPort(control=url), capsys) == (1, "error: ['odd']\n")


@pytest.mark.parametrize("answer", [b"", b"not http\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n<x>"])
def test_who_is_no_control_port(answer: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    with answering(answer) as (url, _):
        status, said = failure(ControlPort(control=url), capsys)
    assert (status, "oncelog serve --control 9644" in said, said.count("\n")) == (3, True, 1)


@pytest.mark.parametrize("url", ["127.0.0.1:9644", "https://127.0.0.1:9644", "http://127.0.0.1", "http://127.0.0.1:x", "http://[::1", ""])
def test_what_is_no_address(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, said = failure(ControlPort(control=url), capsys)
    assert (status, "is not http://HOST:PORT" in said) == (2, True)
