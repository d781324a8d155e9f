"""An answer that is not there yet: one value or one error, given on whatever way it comes."""

from __future__ import annotations

from typing import Any

import pytest
from oncelog.broker.answers import Settling, all_of, holding_back, then
from oncelog.coordinator.deferred import Deferred
from oncelog.protocol.errors import ErrorCode, KafkaError


def broken(_value: Any = None) -> Any:
    raise RuntimeError("cannot be made")


def test_the_first_outcome_counts() -> None:
    one: Deferred[int] = Deferred()
    told: list[int] = []
    one.when_done(lambda done: told.append(done.result()))
    one.resolve(1)
    one.resolve(2)
    one.fail(RuntimeError())
    one.when_done(lambda done: told.append(done.result()))
    assert told == [1, 1]


def test_what_fails_on_the_way_fails_the_answer_and_not_who_gave_it() -> None:
    for give in (lambda one: one.resolve(1), lambda one: one.become(broken), lambda one: one.fail(RuntimeError())):
        one: Deferred[int] = Deferred()
        then(one, broken)
        give(one)
        with pytest.raises(RuntimeError):
            one.result()


def test_an_answer_becomes_another_later_with_its_error() -> None:
    for outcome in (5, RuntimeError()):
        outer: Deferred[int] = Deferred()
        inner: Deferred[int] = Deferred()
        outer.become(lambda inner=inner: inner)  # type: ignore[misc]
        assert not outer.done
        if isinstance(outcome, Exception):
            inner.fail(outcome)
            assert outer.error is outcome
        else:
            inner.resolve(outcome)
            assert outer.reply() == outcome


def test_all_of_many_in_order_or_the_first_error() -> None:
    first: Deferred[int] = Deferred()
    second: Deferred[int] = Deferred()
    both = all_of([first, 2, second])
    second.resolve(3)
    assert isinstance(both, Deferred)
    assert not both.done
    first.resolve(1)
    assert both.result() == [1, 2, 3]
    failing: Deferred[int] = Deferred()
    both = all_of([failing, Deferred()])
    failing.fail(KafkaError(ErrorCode.KAFKA_STORAGE_ERROR))
    assert isinstance(both, Deferred)
    assert isinstance(both.error, KafkaError)


def test_settling_tells_what_failed_and_an_answer_that_cannot_be_made_fails() -> None:
    settling = Settling()
    ends = [settling.one(name) for name in "ab"]
    reply = settling.holding_reply(lambda: sorted(settling.failed))
    assert isinstance(reply, Deferred)
    assert reply.holds is reply
    ends[0](KafkaError(ErrorCode.KAFKA_STORAGE_ERROR))
    assert not reply.done
    ends[1](None)
    assert reply.result() == ["a"]
    settling = Settling()
    end = settling.one("a")
    reply = settling.reply(broken)
    end(None)
    assert isinstance(reply, Deferred)
    assert isinstance(reply.error, RuntimeError)


def test_what_holds_back_stays_so_whatever_is_made_of_it() -> None:
    one: Deferred[int] = holding_back(Deferred())
    made = then(one, str)
    assert isinstance(made, Deferred)
    assert made.holds is made
