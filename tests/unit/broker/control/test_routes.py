"""What is asked and answered, without HTTP."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest
from oncelog.broker.control import routes
from oncelog.broker.control.routes import Answer, Asked, Control, Refused
from oncelog.broker.faults.rule import ACTIONS, MATCHES
from oncelog.broker.testkit import Broker
from oncelog.broker.testkit.controlled import Down
from oncelog.broker.testkit.crash_points import POINTS

pytestmark = pytest.mark.unit
DROP = {"match": {"api": "EndTxn"}, "action": {"type": "drop_answer"}}


@pytest.fixture(scope="module")
def shared() -> Iterator[Broker]:
    with Broker(clock="virtual") as made:
        yield made


class Asking:
    """The routes of one broker, called on its thread."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.control = broker._call(lambda: Control(broker._life))

    def __call__(self, name: str, body: Any = None, id: str = "") -> Answer:
        answer: Answer = self.broker._do(getattr(self.control, name)(Asked(body or {}, id)))
        return answer

    def status(self, name: str, body: Any) -> int:
        try:
            return self(name, body).status
        except Refused as refused:
            return refused.status

    def refusal(self, name: str, body: Any = None, id: str = "") -> tuple[int, str]:
        with pytest.raises(Refused) as refused:
            self(name, body, id)
        return refused.value.status, str(refused.value)


@pytest.fixture
def ask(shared: Broker) -> Asking:
    if not shared.is_up:
        shared.restart()
    shared.reset()
    return Asking(shared)


def test_a_rule_from_its_making_to_its_end(ask: Asking) -> None:
    made = ask("add_fault", DROP)
    assert made.status == 201
    id = made.body["id"]
    assert ask("list_faults").body["faults"] == [made.body]
    assert ask("show_fault", id=id) == Answer(200, made.body)
    assert ask("release_fault", id=id).body == {"released": 0}
    assert ask("remove_fault", id=id).body == {"removed": id, "hits": 0}
    assert ask("list_faults").body == {"faults": []}
    assert ask.refusal("remove_fault", id=id) == (404, f"there is no rule {id}; there are: none")


def test_a_rule_that_had_to_hit_is_removed_and_told(ask: Asking) -> None:
    id = ask("add_fault", DROP | {"must_hit": True}).body["id"]
    status, text = ask.refusal("remove_fault", id=id)
    assert (status, "had to hit" in text, ask("list_faults").body["faults"]) == (409, True, [])
    ask("add_fault", DROP | {"must_hit": True})
    assert ask.refusal("remove_faults")[0] == 409
    assert ask("remove_faults").body == {"removed": 0}


def test_rules_are_bounded(ask: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "MOST_RULES", 3)
    for _ in range(3):
        ask("add_fault", DROP)
    assert ask.refusal("add_fault", DROP)[0] == 409
    assert ask("remove_faults").body == {"removed": 3}


def test_the_list_tells_the_latest_requests_and_the_rule_all(ask: Asking) -> None:
    from oncelog.broker.faults.rule import Hit

    id = ask("add_fault", DROP).body["id"]
    rule = ask.broker._life.faults.rules[id]
    for number in range(routes.REQUESTS_LISTED + 5):
        rule.hit(Hit(number, "EndTxn"))
    (listed,) = ask("list_faults").body["faults"]
    assert [hit["time_ms"] for hit in listed["requests"]] == list(range(5, routes.REQUESTS_LISTED + 5))
    assert len(ask("show_fault", id=id).body["requests"]) == listed["hits"] == routes.REQUESTS_LISTED + 5


ODD: tuple[Any, ...] = (None, True, -1, 0, 1.5, 2**70, float("inf"), float("nan"), "", "\ud800", "x" * 1000, [], [[]], {}, {"a": {}})


def odd_rules() -> Iterator[Any]:
    for name, value in itertools.product(("match", "action", "times", "must_hit", "other"), ODD):
        yield DROP | {name: value}
    for name, value in itertools.product((*MATCHES, "other"), ODD):
        yield {"match": {name: value}, "action": {"type": "close"}}
    for kind, value in itertools.product(ACTIONS, ODD):
        yield {"match": {"api": "EndTxn"}, "action": {"type": value}}
        for name in {name for more in ACTIONS.values() for name in more}:
            yield {"match": {"api": "EndTxn"}, "action": {"type": kind, name: value}}


def test_no_body_does_more_than_make_a_rule_or_be_refused(ask: Asking) -> None:
    asked = made = 0
    for body in odd_rules():
        asked += 1
        status = ask.status("add_fault", body)
        assert status in (201, 400), body
        made += status == 201
        ask.broker._life.faults.rules.clear()
    assert asked > 500
    assert 0 < made < asked


def test_time(ask: Asking) -> None:
    before = ask("show_clock").body
    assert before["virtual"] is True
    assert ask("advance", {"seconds": 900}).body == {"now_ms": before["now_ms"] + 900_000}
    assert ask("advance", {"seconds": 0.5}).body == {"now_ms": before["now_ms"] + 900_500}
    assert ask("show_clock").body == {"now_ms": before["now_ms"] + 900_500, "virtual": True}


@pytest.mark.parametrize("body", [{}, {"seconds": -1}, {"seconds": "1"}, {"seconds": True}, {"seconds": float("inf")},
                                  {"seconds": float("nan")}, {"seconds": 1e10}, {"seconds": 1, "minutes": 2}, {"second": 1}])  # fmt: skip
def test_time_does_not_move_otherwise(ask: Asking, body: Any) -> None:
    before = ask("show_clock")
    assert ask.refusal("advance", body)[0] == 400
    assert ask("show_clock") == before


def test_crash_points(ask: Asking) -> None:
    assert ask("list_crash_points").body == {"points": POINTS, "armed": []}
    assert ask("arm_crash", {"point": "after-prepare", "nth": 3}) == Answer(201, {"point": "after-prepare", "nth": 3})
    assert ask("arm_crash", {"point": "mid-write"}).body == {"point": "mid-write", "nth": 1}
    assert ask("list_crash_points").body["armed"] == [{"point": "after-prepare", "left": 3}, {"point": "mid-write", "left": 1}]
    assert ask("disarm_crashes").body == {"disarmed": 2}


@pytest.mark.parametrize("body", [{}, {"point": "after-prepar"}, {"point": []}, {"point": "mid-write", "nth": 0},
                                  {"point": "mid-write", "nth": "1"}, {"point": "mid-write", "nth": True},
                                  {"points": "mid-write"}])  # fmt: skip
def test_crash_points_that_there_are_not(ask: Asking, body: Any) -> None:
    assert ask.refusal("arm_crash", body)[0] == 400
    assert ask("list_crash_points").body["armed"] == []


def test_reset_and_state(ask: Asking) -> None:
    ask.broker.create_topic("a")
    ask("add_fault", DROP)
    assert list(json.loads("".join(ask("show_state").body))["topics"]) == ["a"]
    assert ask("reset").body == {"reset": True}
    assert json.loads("".join(ask("show_state").body)) == {"topics": {}, "groups": {}, "transactions": {}}
    assert ask("list_faults").body == {"faults": []}


def test_while_it_is_down(ask: Asking) -> None:
    assert ask("is_ready").status == ask("is_alive").status == 200
    ask.broker.crash()
    assert ask.refusal("is_ready")[0] == 503
    assert ask("is_alive").status == 200
    for name, body in (("show_state", {}), ("advance", {"seconds": 1})):
        with pytest.raises(Down):
            ask(name, body)
    assert ask("reset").body == {"reset": True}
    assert ask("is_ready").status == 200


def test_a_reset_that_is_not_allowed_says_why(ask: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse() -> None:
        raise PermissionError("there was data")

    monkeypatch.setattr(ask.broker._life, "reset", refuse)
    assert ask.refusal("reset") == (409, "there was data")
