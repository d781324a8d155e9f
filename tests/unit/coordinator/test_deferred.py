"""An answer comes once, changed as its reader asked, and whatever goes wrong on the way belongs to the reader."""

from __future__ import annotations

from typing import Any

import pytest
from oncelog.coordinator.deferred import Deferred, followed_by

ERROR = ValueError("no")


def told(deferred: Deferred[Any]) -> list[object]:
    """Values or errors, as its listener hears of them."""
    heard: list[object] = []
    deferred.when_done(lambda one: heard.append(one.error or one.result()))
    return heard


def test_it_is_resolved_once() -> None:
    deferred: Deferred[int] = Deferred()
    heard = told(deferred)
    assert (deferred.done, deferred.reply(), heard) == (False, deferred, [])
    deferred.resolve(1)
    deferred.resolve(2)
    deferred.fail(ERROR)
    assert (deferred.done, deferred.reply(), deferred.result(), deferred.error, heard) == (True, 1, 1, None, [1])
    assert told(deferred) == [1]  # at once


def test_it_fails_once() -> None:
    deferred: Deferred[int] = Deferred()
    heard = told(deferred)
    deferred.fail(ERROR)
    deferred.fail(KeyError())
    deferred.resolve(1)
    assert (deferred.error, heard) == (ERROR, [ERROR])
    for read in (deferred.result, deferred.reply):
        with pytest.raises(ValueError, match="no"):
            read()


def test_a_value_may_be_none() -> None:
    deferred: Deferred[None] = Deferred()
    deferred.resolve(None)
    assert deferred.done
    assert deferred.result() is None


def test_listeners_hear_in_the_order_they_came_and_see_it_done() -> None:
    deferred: Deferred[int] = Deferred()
    order: list[object] = []
    deferred.when_done(lambda one: order.append(("first", one.done)))
    deferred.when_done(lambda one: one.when_done(lambda _: order.append("within")))
    deferred.when_done(lambda one: order.append(("last", one.result())))
    deferred.resolve(5)
    assert order == [("first", True), "within", ("last", 5)]


def test_what_is_made_of_the_value_in_order() -> None:
    deferred: Deferred[int] = Deferred()
    deferred.made_into(lambda value: value + 1)
    deferred.made_into(lambda value: f"<{value}>")
    heard = told(deferred)
    deferred.resolve(1)
    assert heard == ["<2>"]


def test_what_fails_in_the_making_fails_the_answer_and_stops_there() -> None:
    deferred: Deferred[int] = Deferred()
    made: list[int] = []
    deferred.made_into(lambda value: 1 // value)
    deferred.made_into(made.append)
    heard = told(deferred)
    deferred.resolve(0)
    assert isinstance(deferred.error, ZeroDivisionError)
    assert (heard, made) == ([deferred.error], [])


def test_a_failure_is_not_made_into_anything() -> None:
    deferred: Deferred[int] = Deferred()
    made: list[int] = []
    deferred.made_into(made.append)
    deferred.fail(ERROR)
    assert (deferred.error, made) == (ERROR, [])


def test_it_becomes_what_is_there_or_what_it_fails_with() -> None:
    deferred: Deferred[int] = Deferred()
    deferred.become(lambda: 7)
    assert deferred.result() == 7
    failing: Deferred[int] = Deferred()
    failing.become(lambda: [][0])
    assert isinstance(failing.error, IndexError)


def test_it_becomes_another_answer_when_that_is_there() -> None:
    for end in ("resolve", "fail"):
        first: Deferred[Any] = Deferred()
        second: Deferred[Any] = Deferred()
        deferred: Deferred[Any] = Deferred()
        heard = told(deferred)
        deferred.become(lambda first=first: first)  # type: ignore[misc]
        first.resolve(second)  # an answer that is an answer
        assert not deferred.done
        getattr(second, end)(ERROR)
        assert heard == [ERROR]
        assert (deferred.error is ERROR) == (end == "fail")


@pytest.mark.parametrize("first_waits", [False, True])
@pytest.mark.parametrize("second_waits", [False, True])
def test_one_reply_followed_by_another(first_waits: bool, second_waits: bool) -> None:
    first: Deferred[int] = Deferred()
    second: Deferred[str] = Deferred()
    reply = followed_by(first if first_waits else 3, lambda value: second if second_waits else f"made of {value}")
    assert isinstance(reply, Deferred) is (first_waits or second_waits)
    first.resolve(3)
    second.resolve("made of 3")
    assert (reply.result() if isinstance(reply, Deferred) else reply) == "made of 3"


def test_what_fails_before_or_behind_fails_the_answer() -> None:
    first: Deferred[int] = Deferred()
    reply = followed_by(first, lambda _value: "never")
    first.fail(ValueError("first"))
    assert isinstance(reply, Deferred)
    assert str(reply.error) == "first"

    def refuses(_value: int) -> str:
        raise ValueError("second")

    other: Deferred[int] = Deferred()
    again = followed_by(other, refuses)
    other.resolve(3)
    assert isinstance(again, Deferred)
    assert str(again.error) == "second"
