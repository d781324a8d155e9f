"""What may be asked for, and what is said of everything else."""

from __future__ import annotations

from typing import Any

import pytest
from oncelog.broker.faults.rule import ACTIONS, KEPT_HITS, BadRule, Hit, parse_rule
from oncelog.protocol.api_keys import ApiKey

pytestmark = pytest.mark.unit


def rule(match: Any, action: Any = "close", **more: Any) -> Any:
    return parse_rule("rule-1", {"match": match, "action": {"type": action} if isinstance(action, str) else action, **more})


@pytest.mark.parametrize("api", ["EndTxn", "END_TXN", "endtxn", 26])
def test_an_api_has_many_spellings(api: object) -> None:
    assert rule({"api": api}).match.api is ApiKey.END_TXN


@pytest.mark.parametrize(
    ("match", "action", "more", "said"),
    [
        ({"api": "EndTx"}, "close", {}, "did you mean EndTxn"),
        ({"api": 999}, "close", {}, "no api with the key 999"),
        ({}, "close", {}, "every request would be hit"),
        ({"apis": "EndTxn"}, "close", {}, "did you mean api"),
        ({"api": "EndTxn", "nth": 0}, "close", {}, "at least 1"),
        ({"api": "EndTxn", "nth": True}, "close", {}, "whole number"),
        ({"api": "EndTxn", "nth": 1, "every": 2}, "close", {}, "exclude each other"),
        ({"api": "EndTxn", "probability": 0}, "close", {}, "above 0"),
        ({"api": "EndTxn", "client_id": 7}, "close", {}, "client_id is a text"),
        ("EndTxn", "close", {}, "match is an object"),
        ({"api": "EndTxn"}, "drop_anwser", {}, "did you mean drop_answer"),
        ({"api": "EndTxn"}, None, {}, "action is an object"),
        ({"api": "EndTxn"}, {"type": "delay"}, {}, "needs ms"),
        ({"api": "EndTxn"}, {"type": "delay", "ms": -1}, {}, "at least 0"),
        ({"api": "EndTxn"}, {"type": "delay", "ms": 1, "when": "never"}, {}, '"before" or "after"'),
        ({"api": "EndTxn"}, {"type": "throttle", "bytes_per_second": 0}, {}, "at least 1"),
        ({"api": "EndTxn"}, {"type": "drop_answer", "keep_open": 1}, {}, "true or false"),
        ({"api": "EndTxn"}, {"type": "close", "ms": 1}, {}, "has no 'ms'"),
        ({"api": "EndTxn"}, {"type": "error"}, {}, "needs code"),
        ({"api": "EndTxn"}, {"type": "error", "code": "CONCURENT_TRANSACTIONS"}, {}, "did you mean CONCURRENT_TRANSACTIONS"),
        ({"api": "EndTxn"}, {"type": "error", "code": 9999}, {}, "unknown error code"),
        ({"api": "EndTxn"}, {"type": "error", "code": "NONE"}, {}, "is no error"),
        ({"api": "EndTxn"}, {"type": "error", "code": "OFFSET_OUT_OF_RANGE"}, {}, "never answers OFFSET_OUT_OF_RANGE to EndTxn"),
        ({"client_id": "x"}, {"type": "error", "code": "NOT_COORDINATOR"}, {}, "depends on the api"),
        ({"api": "Produce"}, "disk_full", {}, "match it by topic"),
        ({"api": "EndTxn"}, "close", {"times": 0}, "times is a whole number of at least 1"),
        ({"api": "EndTxn"}, "close", {"must_hit": "yes"}, "must_hit is true or false"),
        ({"api": "EndTxn"}, "close", {"time": 1}, "did you mean times"),
    ],
)
def test_a_mistake_is_told_with_what_is_right(match: Any, action: Any, more: dict[str, Any], said: str) -> None:
    with pytest.raises(BadRule) as refused:
        rule(match, action, **more)
    assert said in str(refused.value)


def test_a_code_kafka_never_sends_may_be_forced() -> None:
    forced = rule({"api": "EndTxn"}, {"type": "error", "code": "OFFSET_OUT_OF_RANGE", "force": True})
    assert forced.as_json()["action"] == {"type": "error", "code": "OFFSET_OUT_OF_RANGE"}


def test_what_was_asked_for_is_shown() -> None:
    match = {"api": "Produce", "topic": "a", "partition": 1, "probability": 0.5, "seed": 3, "while": "rule-9"}
    shown = rule(match, {"type": "throttle", "bytes_per_second": 5}, times=None, must_hit=True)
    shown.hit(Hit(5, "Produce", "me", "127.0.0.1:9"))
    told = shown.as_json()
    assert told["match"] == match
    assert told["action"] == {"type": "throttle", "bytes_per_second": 5}
    assert (told["times"], told["hits"], told["requests"][0]["client_id"]) == (None, 1, "me")


def test_each_action_is_taken_with_what_it_needs() -> None:
    needed = {"error": {"code": "NOT_COORDINATOR"}, "delay": {"ms": 1}, "throttle": {"bytes_per_second": 1}}
    for kind in ACTIONS:
        match = {"topic": "a"} if kind in ("disk_full", "sync_fails") else {"api": "EndTxn"}
        assert rule(match, {"type": kind, **needed.get(kind, {})}).action.type == kind


def test_turns_hits_and_their_number() -> None:
    third = rule({"api": "EndTxn", "nth": 3})
    assert [third.takes_turn() for _ in range(4)] == [False, False, True, False]
    twice = rule({"api": "EndTxn"}, times=2)
    for number in range(KEPT_HITS + 5):
        twice.hit(Hit(number, "EndTxn"))
    assert not twice.armed
    assert (twice.hits, len(twice.found), twice.found[-1].time_ms) == (KEPT_HITS + 5, KEPT_HITS, KEPT_HITS + 4)
