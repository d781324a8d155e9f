"""The door to a broker's control port, here of one in this process; a process of its own: `test_process.py`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from oncelog.broker.faults.engine import NeverHit
from oncelog.broker.faults.rule import BadRule
from oncelog.broker.testkit import Broker
from oncelog.broker.testkit.over_http import OverHttp, Refusal

pytestmark = pytest.mark.unit
CLOSE = {"match": {"api": "EndTxn"}, "action": {"type": "close"}, "must_hit": True}


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(control=True, clock="virtual") as made:
        yield made


@pytest.fixture
def door(broker: Broker) -> OverHttp:
    return OverHttp(lambda: broker.control_url)


def test_rules_and_what_is_wrong_with_them(door: OverHttp) -> None:
    id = door.add_rule(CLOSE)
    assert (door.hits(id), [rule["id"] for rule in door.rules()], door.release(id)) == (0, [id], 0)
    with pytest.raises(NeverHit, match="had to hit"):
        door.remove(id)
    with pytest.raises(KeyError, match="no rule"):
        door.remove(id)
    assert door.hits(id) == 0
    with pytest.raises(Refusal, match="no rule rule-7"):
        door.hits("rule-7")
    door.add_rule(CLOSE)
    assert len(door.clear()) == 1
    assert door.clear() == []
    with pytest.raises(BadRule, match="did you mean"):
        door.add_rule({"match": {"api": "EndTx"}, "action": {"type": "close"}})


def test_time_crash_points_and_a_reset(broker: Broker, door: OverHttp) -> None:
    before = door.now_ms()
    assert door.advance(2) == before + 2000
    with pytest.raises(ValueError, match="time is moved by"):
        door.advance(10**12)
    door.crash_at("in-roll", 2)
    assert door.armed() == [{"point": "in-roll", "left": 2}]
    with pytest.raises(ValueError, match="did you mean in-roll"):
        door.crash_at("in-rolls", 1)
    broker.create_topic("a")
    door.reset()
    assert broker.state()["topics"] == {}


def test_what_is_known_of_one_that_is_down(broker: Broker, door: OverHttp) -> None:
    id = door.add_rule(CLOSE)
    url = broker.control_url
    away = OverHttp(lambda: url)
    known = away.add_rule(CLOSE)
    broker.crash()
    with pytest.raises(RuntimeError, match="restart"):
        door.advance(1)
    broker.close()
    with pytest.raises(RuntimeError, match="no control port"):
        door.now_ms()
    with pytest.raises(RuntimeError, match="restart"):
        away.now_ms()
    assert (away.hits(known), door.hits(id), [rule["id"] for rule in door.rules()], door.clear()) == (0, 0, [id], [])
    door.forget()
    assert door.rules() == []
