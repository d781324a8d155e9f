"""Over HTTP: the page's files, its headers, bodies, lists in pieces, the stream."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from oncelog.broker.console import app
from support.console_kit import ID, Stuck, stuck_broker
from support.control_client import ask

pytestmark = pytest.mark.unit


@pytest.fixture(scope="module")
def stuck() -> Iterator[Stuck]:
    with stuck_broker() as made:
        yield made


def test_the_page_and_its_headers(stuck: Stuck) -> None:
    answer = ask(stuck.broker.control_url, "GET", "/")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("name", ["nothing.js", "..%2Fapp.py", "%2e%2e%2fAPI.md", ".hidden.js", "app.py", "", "%00.js"])
def test_no_other_file(stuck: Stuck, name: str) -> None:
    assert ask(stuck.broker.control_url, "GET", f"/page/{name}").status == 404


def test_a_body_is_bounded(stuck: Stuck) -> None:
    assert stuck.abort(ID, b"[]", token=stuck.token).status == 400
    assert stuck.abort(ID, b"{", token=stuck.token).status == 400
    assert stuck.abort(ID, b"[" * 4000, token=stuck.token).status == 400
    assert stuck.abort(ID, b" " * 70_000, token=stuck.token).status == 413


def test_markup_is_text(stuck: Stuck) -> None:
    answer = ask(stuck.broker.control_url, "GET", "/api/v1/transactions")
    assert answer.headers["content-type"] == "application/json"
    assert answer.body[0]["transactional_id"] == ID


def test_long_lists_are_made_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "_CHUNK_BYTES", 100)
    pieces = list(app._pieces([{"n": number} for number in range(50)]))
    assert len(pieces) > 4
    assert json.loads("".join(pieces)) == [{"n": number} for number in range(50)]
    assert "".join(app._pieces([])) == "[]"


def test_the_stream(stuck: Stuck) -> None:
    where = urlsplit(stuck.broker.control_url)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=30)
    connection.request("GET", "/api/v1/events")
    answer = connection.getresponse()
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.readline() == b"event: stuck\n"
    rows = json.loads(answer.readline().removeprefix(b"data: "))
    assert {row["transactional_id"] for row in rows} == {ID}
    connection.close()
