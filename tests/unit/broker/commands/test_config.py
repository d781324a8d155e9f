"""`oncelog config`: settings of topics, brokers and groups, shown and altered."""

from __future__ import annotations

import json
from typing import Any

import pytest
from oncelog.broker.commands import config
from support.scripted_broker import run
from support.served_broker import ServedBroker

pytestmark = pytest.mark.unit


def shown(served: ServedBroker, capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    capsys.readouterr()
    assert run(config.app, "describe", *arguments, "--format", "json", broker=served) == 0
    return {row["name"]: row for row in json.loads(capsys.readouterr().out)}


def test_what_differs_from_the_defaults(served: ServedBroker, capsys: pytest.CaptureFixture[str]) -> None:
    before = shown(served, capsys, "topic", "t")
    assert "retention.ms" not in before
    assert run(config.app, "alter", "topic", "t", "--set", "retention.ms=5", "--set", "cleanup.policy=compact", broker=served) == 0
    after = shown(served, capsys, "topic", "t")
    assert (after["retention.ms"]["value"], after["retention.ms"]["source"]) == ("5", "topic")
    assert after.keys() - before.keys() == {"retention.ms", "cleanup.policy"}
    assert run(config.app, "alter", "topic", "t", "--unset", "retention.ms", broker=served) == 0
    assert shown(served, capsys, "topic", "t").keys() - before.keys() == {"cleanup.policy"}


def test_everything_when_asked_for(served: ServedBroker, capsys: pytest.CaptureFixture[str]) -> None:
    every = shown(served, capsys, "topic", "t", "--all", "--documentation")
    assert len(every) == 33
    assert every["retention.ms"]["documentation"]
    assert [name for name, row in every.items() if "documentation" not in row] == []
    assert all("documentation" not in row for row in shown(served, capsys, "topic", "t", "--all").values())


def test_one_broker_is_the_first_when_none_is_named(served: ServedBroker, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(config.app, "alter", "broker", "1", "--set", "log.retention.ms=7", broker=served) == 0
    for arguments in (["broker"], ["broker", "1"]):
        found = shown(served, capsys, *arguments)["log.retention.ms"]
        assert (found["value"], found["source"]) == ("7", "broker, dynamic")
    assert run(config.app, "describe", "broker", "9", broker=served) == 1
    assert "no broker with id 9" in capsys.readouterr().err


def test_a_group_and_a_logger(served: ServedBroker, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(config.app, "alter", "group", "g", "--set", "consumer.session.timeout.ms=50000", broker=served) == 0
    assert shown(served, capsys, "group", "g")["consumer.session.timeout.ms"]["source"] == "group"
    assert "root" in shown(served, capsys, "logger", "--all")


@pytest.mark.parametrize("arguments", [["topic"], ["group"]])
def test_only_brokers_need_no_name(served: ServedBroker, capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    assert run(config.app, "describe", *arguments, broker=served) == 2
    assert f"give the name of the {arguments[0]}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "status", "why"),
    [
        (["topic", "t"], 2, "--set"),
        (["topic", "t", "--set", "retention.ms"], 2, "'retention.ms' is not NAME=VALUE"),
        (["topic", "t", "--set", "=5"], 2, "is not NAME=VALUE"),
        (["topic", "t", "--set", "retention.ms=long"], 1, "INVALID_CONFIG"),
        (["topic", "gone", "--set", "retention.ms=5"], 1, "UNKNOWN_TOPIC_OR_PARTITION"),
        (["broker", "1", "--set", "num.partitions=5"], 1, "Cannot update these configs dynamically"),
    ],
    ids=str,
)
def test_refusals(served: ServedBroker, capsys: pytest.CaptureFixture[str], arguments: list[str], status: int, why: str) -> None:
    assert run(config.app, "alter", *arguments, broker=served) == status
    assert why in capsys.readouterr().err
    assert served.whole.logs.topics.get("t").configs == {}  # type: ignore[union-attr]
