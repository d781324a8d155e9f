"""Rules that are armed; what clients feel of them is `wire/test_faults.py`."""

from __future__ import annotations

import struct
from types import SimpleNamespace
from typing import Any

import pytest
from oncelog.broker.faults.engine import Faults, FaultyHandler, NeverHit
from oncelog.broker.faults.rule import BadRule
from oncelog.broker.faults.subject import Subject
from oncelog.broker.net.answer_stream import Sent
from oncelog.coordinator.deferred import Deferred
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.header import RequestHeader
from oncelog.storage.env import SystemClock

pytestmark = pytest.mark.unit
CLOSE = {"type": "close"}


@pytest.fixture
def faults() -> Faults:
    return Faults(SystemClock())


def request(key: ApiKey = ApiKey.END_TXN, version: int = 5, client_id: str = "me", principal: str = "User:x") -> Subject:
    return Subject(RequestHeader(key, version, 1, client_id, 0), b"", principal, lambda _id: None)


@pytest.mark.parametrize(
    ("match", "agrees"),
    [
        ({"api": "EndTxn"}, True),
        ({"api": "Produce"}, False),
        ({"api": "EndTxn", "min_version": 5, "max_version": 5}, True),
        ({"api": "EndTxn", "min_version": 6}, False),
        ({"api": "EndTxn", "max_version": 4}, False),
        ({"client_id": "me"}, True),
        ({"client_id": "you"}, False),
        ({"principal": "User:x"}, True),
        ({"principal": "User:y"}, False),
    ],
)
def test_everything_of_a_match_must_agree(faults: Faults, match: dict[str, object], agrees: bool) -> None:
    rule = faults.add({"match": match, "action": CLOSE})
    assert (faults.rule_for(request(), "1.2.3.4:5") is rule) is agrees
    assert rule.hits == int(agrees)


def test_the_first_rule_that_agrees_counts_until_it_is_used_up(faults: Faults) -> None:
    first = faults.add({"match": {"api": "EndTxn"}, "action": CLOSE})
    second = faults.add({"match": {"api": "EndTxn"}, "action": CLOSE})
    assert [faults.rule_for(request(), "") for _ in range(3)] == [first, second, None]


def test_what_no_answer_can_carry_is_refused(faults: Faults) -> None:
    with pytest.raises(BadRule, match="cannot carry an error"):
        faults.add({"match": {"api": "DescribeConfigs"}, "action": {"type": "error", "code": "INVALID_REQUEST", "force": True}})
    with pytest.raises(BadRule, match="needs an api"):
        faults.add({"match": {"client_id": "x"}, "action": {"type": "error", "code": "INVALID_REQUEST", "force": True}})
    with pytest.raises(BadRule, match="no rule rule-9"):
        faults.add({"match": {"api": "EndTxn", "while": "rule-9"}, "action": CLOSE})


def test_rules_are_removed_released_and_asked_whether_they_hit(faults: Faults) -> None:
    rule = faults.add({"match": {"api": "EndTxn"}, "action": {"type": "hold"}})
    gone: list[int] = []
    faults.held(rule, lambda: gone.append(1))
    faults.held(rule, lambda: gone.append(2))
    assert faults.release(rule.id) == 2
    assert (gone, faults.release(rule.id)) == ([1, 2], 0)
    faults.held(rule, lambda: gone.append(3))
    assert faults.remove(rule.id) is rule
    assert gone == [1, 2, 3]
    with pytest.raises(KeyError, match="no rule"):
        faults.release(rule.id)
    faults.add({"match": {"api": "EndTxn"}, "action": CLOSE, "must_hit": True})
    (wrong,) = faults.clear()
    assert "had to hit and did not" in wrong
    due = faults.add({"match": {"api": "EndTxn"}, "action": CLOSE, "must_hit": True})
    with pytest.raises(NeverHit):
        faults.remove(due.id)
    assert faults.rules == {}


@pytest.mark.parametrize("released_first", [True, False])
def test_what_is_released_between_the_hit_and_its_answer_is_not_held(faults: Faults, released_first: bool) -> None:
    answer: Deferred[Sent] = Deferred()
    handler: Any = SimpleNamespace(clock=None, handle=lambda _frame, _connection: answer)
    connection: Any = SimpleNamespace(sasl=None, principal="User:x", client_name="here")
    rule = faults.add({"match": {"api": "EndTxn"}, "action": {"type": "hold", "when": "after"}})
    frame = bytearray(struct.pack(">hhih", ApiKey.END_TXN, 0, 1, -1))
    told: Any = FaultyHandler(handler, faults, lambda _id: None).handle(memoryview(frame), connection)
    assert rule.hits == 1
    if released_first:
        assert faults.release(rule.id) == 1
        answer.resolve([b"told"])
    else:
        answer.resolve([b"told"])
        assert not told.done
        assert faults.release(rule.id) == 1
    assert (told.result(), faults.release(rule.id)) == ([b"told"], 0)
