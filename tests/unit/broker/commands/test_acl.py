"""`oncelog acl`: rules are added, listed by what they decide, and removed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from oncelog.broker.commands import acl
from support.acl_rules import authorizer
from support.scripted_broker import run
from support.served_broker import ServedBroker

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def with_authorizer(served: ServedBroker) -> None:
    served.whole.context.authorizer = authorizer(super_users=("User:ANONYMOUS",))


def rows(served: ServedBroker, capsys: pytest.CaptureFixture[str], *arguments: str) -> list[tuple[Any, ...]]:
    capsys.readouterr()
    assert run(acl.app, *arguments, "--format", "json", broker=served) == 0
    return [
        tuple(row[name] for name in ("permission", "principal", "operation", "resource", "pattern", "name", "host")) for row in told(capsys)
    ]


def told(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_what_is_added_is_listed(served: ServedBroker, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(acl.app, "add", "User:al", "topic", "orders", "--operation", "read", "--operation", "describe-configs", broker=served) == 0
    assert "added 2 rule(s)" in capsys.readouterr().out
    run(acl.app, "add", "User:bo", "transactional-id", "tx", "--deny", "--prefix", "--host", "10.0.0.9", broker=served)
    run(acl.app, "add", "User:*", "cluster", "--operation", "cluster-action", broker=served)
    assert set(rows(served, capsys, "list")) == {
        ("allow", "User:al", "read", "topic", "literal", "orders", "*"),
        ("allow", "User:al", "describe-configs", "topic", "literal", "orders", "*"),
        ("deny", "User:bo", "all", "transactional-id", "prefixed", "tx", "10.0.0.9"),
        ("allow", "User:*", "cluster-action", "cluster", "literal", "kafka-cluster", "*"),
    }


def test_rules_that_decide_about_a_name(served: ServedBroker, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["orders"], ["or", "--prefix"], ["*"], ["other"]):
        run(acl.app, "add", "User:al", "topic", *arguments, broker=served)
    assert {row[5] for row in rows(served, capsys, "list", "--resource", "topic", "--name", "orders")} == {"orders", "or", "*"}
    assert rows(served, capsys, "list", "--principal", "User:nobody") == []
    assert run(acl.app, "list", "--resource", "group", broker=served) == 0
    assert capsys.readouterr().err.strip() == "no rules"


def test_what_is_removed_is_shown(served: ServedBroker, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "ab"):
        run(acl.app, "add", "User:al", "topic", name, "--prefix", broker=served)
    assert [row[5] for row in rows(served, capsys, "delete", "--name", "ab")] == ["ab"]  # the name as it stands in the rule
    assert [row[5] for row in rows(served, capsys, "delete", "--every")] == ["a"]
    assert rows(served, capsys, "list") == []
    assert run(acl.app, "delete", "--principal", "User:al", broker=served) == 0
    assert capsys.readouterr().err.strip() == "no rule matched"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["add", "al", "topic", "x"], "write User:al"),
        (["add", "User:al", "group"], "which group? oncelog acl add User:al group NAME"),
        (["delete"], "say which rules, or --every"),
    ],
)
def test_wrong_arguments_are_said_before_anybody_is_asked(
    served: ServedBroker, capsys: pytest.CaptureFixture[str], arguments: list[str], why: str
) -> None:
    assert run(acl.app, *arguments, broker=served) == 2
    assert why in capsys.readouterr().err
    assert served.seen == []


def test_a_broker_without_an_authorizer_refuses(served: ServedBroker, capsys: pytest.CaptureFixture[str]) -> None:
    served.whole.context.authorizer = None
    for arguments in (["list"], ["add", "User:al", "topic", "x"], ["delete", "--every"]):
        assert run(acl.app, *arguments, broker=served) == 1
        assert "SECURITY_DISABLED" in capsys.readouterr().err
