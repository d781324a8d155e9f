"""What a test says to a broker's rules and clock, and what of it goes through the door."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from oncelog.broker.faults.engine import NeverHit
from oncelog.broker.testkit.handles import Clock, Faults, as_text

pytestmark = pytest.mark.unit


class Door:
    """Remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.wrong: list[str] = []
        self.hit = 0

    def add_rule(self, asked: Mapping[str, Any]) -> str:
        self.asked.append(asked)
        return f"rule-{len(self.asked)}"

    def hits(self, id: str) -> int:
        self.hit += 1
        return self.hit

    def rule(self, id: str) -> dict[str, Any]:
        return {"id": id, "match": {"api": "EndTxn"}, "requests": [{"what": "EndTxn"}]}

    def rules(self) -> list[dict[str, Any]]:
        return [{"id": "rule-1"}]

    def release(self, id: str) -> int:
        self.asked.append(("release", id))
        return 2

    def remove(self, id: str) -> None:
        self.asked.append(("remove", id))

    def clear(self) -> list[str]:
        return self.wrong

    def now_ms(self) -> int:
        return 5

    def advance(self, seconds: float) -> int:
        return int(seconds * 1000)


def test_a_rule_is_asked_for_as_over_http() -> None:
    door = Door()
    faults = Faults(door)
    first = faults.add(api="EndTxn", action="close", client_id="c")
    faults.add(api="Fetch", action={"type": "delay", "ms": 5}, times=None, must_hit=True, while_=first)
    faults.add_rule({"match": {}, "action": {"type": "disk_full"}})
    assert door.asked == [
        {"match": {"api": "EndTxn", "client_id": "c"}, "action": {"type": "close"}, "times": 1, "must_hit": False},
        {"match": {"api": "Fetch", "while": "rule-1"}, "action": {"type": "delay", "ms": 5}, "times": None, "must_hit": True},
        {"match": {}, "action": {"type": "disk_full"}},
    ]
    assert faults.list() == [{"id": "rule-1"}]


def test_a_rule_is_waited_for_released_and_removed() -> None:
    door = Door()
    rule = Faults(door).add(api="EndTxn", action="hold")
    rule.wait_hit(3)
    assert door.hit == 3
    with pytest.raises(TimeoutError, match=r"rule-1 was hit 4 times in 0 s, not 99: \{'api': 'EndTxn'\}"):
        rule.wait_hit(99, seconds=0)
    assert rule.requests == [{"what": "EndTxn"}]
    assert rule.release() == 2
    rule.remove()
    assert door.asked[1:] == [("release", "rule-1"), ("remove", "rule-1")]


def test_rules_that_had_to_hit_are_all_named() -> None:
    door = Door()
    Faults(door).clear()
    door.wrong = ["one", "two"]
    with pytest.raises(NeverHit, match="one; two"):
        Faults(door).clear()


def test_time_goes_on_only() -> None:
    clock = Clock(Door())
    assert (clock.now_ms(), clock.advance(1.5)) == (5, 1500)
    with pytest.raises(ValueError, match="does not go back"):
        clock.advance(-1)


def test_settings_as_text() -> None:
    assert as_text({"a": True, "b": 5, "c": "x"}) == {"a": "true", "b": "5", "c": "x"}
    assert as_text(None) == {}
