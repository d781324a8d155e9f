"""What a request may do, which refusals are logged, and the address that a client is told."""

from __future__ import annotations

import uuid
from types import SimpleNamespace
from typing import Any

import pytest
from oncelog.broker.auth.acls import ResourceType
from oncelog.broker.auth.authorizer import Authorizer
from oncelog.broker.context import BrokerContext, RequestContext
from oncelog.broker.net import refusals
from support.acl_rules import ALICE, ALLOW, BOB, DESCRIBE, HERE, READ, WRITE, authorizer, entry

pytestmark = pytest.mark.unit
TOPIC = ResourceType.TOPIC


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What is logged of refusals."""
    lines: list[dict[str, Any]] = []
    monkeypatch.setattr(refusals, "tell", lambda what, host, **facts: lines.append({"what": what, "host": host, **facts}))
    return lines


def asked(made: Authorizer | None, principal: str = ALICE, host: str = HERE) -> RequestContext:
    broker = BrokerContext()
    broker.authorizer = made
    connection: Any = SimpleNamespace(principal=principal, client_host=host)
    return RequestContext(broker, connection, 3, "client", 1_000)


def test_without_an_authorizer_everything_is_allowed(told: list[dict[str, Any]]) -> None:
    ctx = asked(None)
    assert ctx.authorize(READ, TOPIC, "t")
    assert ctx.sees(READ, TOPIC, "t")
    assert ctx.authorize_any(READ, TOPIC)
    assert told == []


@pytest.mark.parametrize(("principal", "may"), [(ALICE, True), (BOB, False)])
def test_the_principal_of_the_connection_counts(told: list[dict[str, Any]], principal: str, may: bool) -> None:
    ctx = asked(authorizer(entry("t")), principal)
    assert (ctx.authorize(READ, TOPIC, "t"), ctx.sees(READ, TOPIC, "t"), ctx.authorize_any(READ, TOPIC)) == (may, may, may)
    assert bool(told) is not may


@pytest.mark.parametrize(("host", "may"), [(HERE, True), ("10.0.0.2", False)])
def test_so_does_its_address(told: list[dict[str, Any]], host: str, may: bool) -> None:
    rules = authorizer(entry("t", permission=ALLOW, host=HERE))
    assert asked(rules, host=host).authorize(READ, TOPIC, "t") is may
    assert asked(rules, host=host).authorize_any(READ, TOPIC) is may


def test_a_refusal_is_logged_once_with_who_and_what(told: list[dict[str, Any]]) -> None:
    ctx = asked(authorizer(entry("t")))
    assert not ctx.authorize(WRITE, TOPIC, "t")
    named = {"principal": ALICE, "operation": "WRITE", "resource": "TOPIC", "name": "t"}
    assert told == [{"what": "denied", "host": HERE, **named}]


def test_what_nobody_asked_for_by_name_is_not_logged(told: list[dict[str, Any]]) -> None:
    ctx = asked(authorizer(entry("t")))
    assert not ctx.sees(WRITE, TOPIC, "t")
    assert not ctx.authorize_any(WRITE, TOPIC)
    assert ctx.sees(DESCRIBE, TOPIC, "t")
    assert told == []


@pytest.mark.parametrize(
    ("advertised", "address"),
    [
        ({}, ("127.0.0.1", 9092)),
        ({"EXTERNAL": ("kafka.example", 19092)}, ("kafka.example", 19092)),
        ({"EXTERNAL": ("", 19092)}, ("127.0.0.1", 19092)),
        ({"EXTERNAL": ("kafka.example", 0)}, ("kafka.example", 9092)),
        ({"EXTERNAL": ("", 0)}, ("127.0.0.1", 9092)),
        ({"OTHER": ("other", 1)}, ("127.0.0.1", 9092)),
    ],
    ids=str,
)
def test_the_address_that_a_client_is_told(advertised: dict[str, tuple[str, int]], address: tuple[str, int]) -> None:
    broker: Any = BrokerContext()
    broker.config = SimpleNamespace(advertised=advertised)
    dialled = SimpleNamespace(listener_name="EXTERNAL", local_address=("127.0.0.1", 9092))
    assert broker.endpoint_for(dialled) == address


def test_topics_are_named_by_their_ids() -> None:
    broker = BrokerContext()
    here, gone = uuid.UUID(int=1), uuid.UUID(int=2)
    topics: Any = SimpleNamespace(by_id={here: SimpleNamespace(name="a")}.get)
    broker.logs = SimpleNamespace(topics=topics)  # type: ignore[assignment]
    assert [broker.topic_name(id) for id in (here, gone, None)] == ["a", None, None]
