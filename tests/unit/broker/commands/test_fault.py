"""Rules from options; what is listed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from oncelog.broker.commands import fault
from oncelog.broker.faults.rule import ACTIONS, MATCHES
from oncelog.broker.testkit import Broker
from support.scripted_broker import run

pytestmark = pytest.mark.unit


@pytest.fixture(scope="module")
def shared() -> Iterator[Broker]:
    with Broker(control=True) as made:
        yield made


@pytest.fixture
def broker(shared: Broker) -> Iterator[Broker]:
    yield shared
    shared.faults.clear()


def call(broker: Broker, *arguments: str) -> int:
    return run(fault.app, *arguments, "--control", broker.control_url)


def added(broker: Broker, *arguments: str) -> dict[str, Any]:
    assert call(broker, "add", *arguments) == 0
    (rule,) = broker.faults.list()
    return rule


def test_every_action_and_every_match_has_its_option() -> None:
    assert set(get_args(fault.Type)) == set(ACTIONS)
    assert {name.rstrip("_") for name in fault.Match.__dataclass_fields__} == set(MATCHES)
    assert set(fault.More.__dataclass_fields__) == {name for more in ACTIONS.values() for name in more}


def test_what_is_given_is_asked_for(broker: Broker, capsys: pytest.CaptureFixture[str]) -> None:
    rule = added(
        broker,
        *("--api", "Produce", "--topic", "a", "--partition", "0", "--client-id", "c", "--min-version", "9", "--max-version", "12"),
        *("--probability", "0.5", "--seed", "7", "--every", "2", "--action", "delay", "--ms", "5", "--when", "after", "--times", "3"),
    )
    assert capsys.readouterr().out == rule["id"] + "\n"
    assert rule["match"] == {
        "api": "Produce", "topic": "a", "partition": 0, "client_id": "c", "min_version": 9, "max_version": 12,
        "probability": 0.5, "seed": 7, "every": 2,
    }  # fmt: skip
    assert (rule["action"], rule["times"]) == ({"type": "delay", "ms": 5, "when": "after"}, 3)


def test_always_and_forced(broker: Broker) -> None:
    rule = added(broker, "--api", "EndTxn", "--action", "error", "--code", "OFFSET_OUT_OF_RANGE", "--force", "--always")
    assert (rule["action"]["code"], rule["times"]) == ("OFFSET_OUT_OF_RANGE", None)


def test_while_another_is_armed(broker: Broker) -> None:
    first = added(broker, "--api", "EndTxn", "--action", "hold")
    assert call(broker, "add", "--api", "Produce", "--action", "close", "--while", first["id"]) == 0
    assert broker.faults.list()[1]["match"]["while"] == first["id"]


def test_a_mistake_is_told(broker: Broker, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(broker, "add", "--api", "EndTx", "--action", "hold") == 1
    assert "did you mean EndTxn?" in capsys.readouterr().err
    assert broker.faults.list() == []


def test_list_release_and_remove(broker: Broker, capsys: pytest.CaptureFixture[str]) -> None:
    call(broker, "list")
    assert "no rules" in capsys.readouterr().err
    id = added(broker, "--api", "EndTxn", "--action", "hold")["id"]
    capsys.readouterr()
    call(broker, "list")
    (row,) = capsys.readouterr().out.splitlines()[2:]
    assert row.split() == [id, 'api="EndTxn"', "hold", 'when="before"', "1", "0"]
    call(broker, "list", "--format", "json")
    assert json.loads(capsys.readouterr().out) == broker.faults.list()
    assert call(broker, "release", id) == 0
    assert capsys.readouterr().out == "released 0\n"
    assert call(broker, "release", "rule/1") == 1
    assert "there is no" in capsys.readouterr().err
    assert call(broker, "remove") == 0
    assert (capsys.readouterr().out, broker.faults.list()) == ("removed 1\n", [])
