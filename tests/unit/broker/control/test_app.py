"""The routes over HTTP: bodies, errors, methods, who may ask."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from oncelog.broker.control import bodies, metrics
from oncelog.broker.control.routes import ROUTES
from oncelog.broker.control.server import ControlServer
from oncelog.broker.settings.control import ControlEndpoint
from oncelog.broker.testkit import Broker
from oncelog.broker.testkit.life import Died
from oncelog.protocol.errors import ErrorCode, KafkaError
from support.control_client import Answer, ask

pytestmark = pytest.mark.unit
DROP = {"match": {"api": "EndTxn"}, "action": {"type": "drop_answer"}}


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(control=True) as made:
        yield made


@pytest.fixture
def url(broker: Broker) -> Iterator[str]:
    yield broker.control_url
    broker.faults.clear()


@pytest.fixture
def guarded(broker: Broker) -> Iterator[str]:
    """A second port of the same broker, for whoever knows the token."""

    async def start() -> ControlServer:
        server = ControlServer(broker._life, ControlEndpoint("127.0.0.1", 0, "secret"))
        await server.start()
        return server

    server = broker._do(start())
    yield server.url
    broker._do(server.close())


def test_every_route_is_served(url: str) -> None:
    for route in ROUTES:
        if route.path != "/v1/reset":
            answer = ask(url, route.method, route.path.replace("{id}", "rule-0"), route.example)
            assert answer.status == (404 if "{id}" in route.path else route.status), route
            assert answer.headers["content-type"] == "application/json"
    ask(url, "DELETE", "/v1/crash")
    assert ask(url, "HEAD", "/readyz").status == 200


def test_a_rule_over_http(url: str) -> None:
    id = ask(url, "POST", "/v1/faults", DROP).body["id"]
    assert ask(url, "GET", f"/v1/faults/{id}").body["hits"] == 0
    assert ask(url, "POST", f"/v1/faults/{id}/release").body == {"released": 0}
    assert ask(url, "DELETE", f"/v1/faults/{id}").status == 200


def test_figures_and_descriptions(url: str) -> None:
    figures = ask(url, "GET", "/metrics")
    assert (figures.headers["content-type"], "oncelog_up 1\n" in figures.body) == (metrics.CONTENT_TYPE, True)
    assert "/v1/faults/{id}/release" in ask(url, "GET", "/openapi.json").body["paths"]
    assert "/metrics" in ask(url, "GET", "/openapi.json").body["paths"]
    assert "<h1>" in ask(url, "GET", "/docs").body


def test_what_is_not_there(url: str) -> None:
    answer = ask(url, "GET", "/v1/fault")
    assert (answer.status, "/v1/faults" in answer.body["error"]) == (404, True)
    answer = ask(url, "PUT", "/v1/faults", {})
    assert (answer.status, set(answer.headers["allow"].split(", "))) == (405, {"GET", "HEAD", "POST", "DELETE"})
    assert "PUT" in answer.body["error"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"{", "no JSON"),
        (b"\xff\xfe", "no JSON"),
        (b"[]", "object"),
        (b'"text"', "object"),
        (b"[" * 60_000, "nested too deeply"),
        (b'{"a":' * 10_000 + b"1" + b"}" * 10_000, "nested too deeply"),
        (b'{"times": ' + b"9" * 60_000 + b"}", "no JSON"),
        (json.dumps({"match": {"api": "\ud800"}, "action": {"type": "close"}}).encode(), "unknown api"),
    ],
)
def test_bodies_that_are_refused(url: str, body: bytes, said: str) -> None:
    answer = ask(url, "POST", "/v1/faults", body)
    assert (answer.status, said in answer.body["error"]) == (400, True), answer


@pytest.mark.parametrize("path", ["/v1/faults", "/v1/reset", "/v1/clock/advance"])
def test_a_body_is_bounded(url: str, path: str) -> None:
    assert ask(url, "POST", path, b" " * (bodies.MOST_BODY_BYTES + 1)).status == 413


def test_an_id_that_is_no_text_of_utf8(url: str) -> None:
    rule = DROP | {"match": {"client_id": "\ud800"}}
    made = ask(url, "POST", "/v1/faults", rule)
    assert (made.status, made.body["match"]) == (201, {"client_id": "\ud800"})


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (KafkaError(ErrorCode.INVALID_CONFIG, "a setting is wrong"), 503, "a setting is wrong"),
        (OSError(28, "No space left on device"), 503, "No space left on device"),
        (Died(), 503, "crashed"),
        (RuntimeError("ours"), 500, "log"),
    ],
)
def test_what_fails_is_told(
    broker: Broker, url: str, error: BaseException, status: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_given: Any) -> None:
        raise error

    monkeypatch.setattr(broker._life, "advance", fail)
    answer = ask(url, "POST", "/v1/clock/advance", {"seconds": 1})
    assert (answer.status, said in answer.body["error"]) == (status, True)


def test_another_sites_page_is_refused_before_anything_is_done(broker: Broker, url: str) -> None:
    for headers in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}, {"Sec_Fetch_Site": "cross-site"}):
        answer = ask(url, "POST", "/v1/faults", DROP, **headers)
        assert (answer.status, "error" in answer.body) == (403, True)
    assert broker.faults.list() == []


def test_a_token(guarded: str) -> None:
    def status(path: str, **headers: str) -> Answer:
        return ask(guarded, "GET", path, None, **headers)

    refused = status("/v1/state")
    assert (refused.status, refused.headers["www-authenticate"]) == (401, "Bearer")
    assert [status(path).status for path in ("/docs", "/metrics", "/openapi.json", "/v1/faults")] == [401] * 4
    assert status("/v1/state", Authorization="Bearer wrong").status == 401
    assert status("/v1/state", Authorization="Bearer secret").status == 200
    assert status("/readyz").status == status("/livez").status == 200
