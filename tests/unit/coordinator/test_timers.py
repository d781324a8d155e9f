"""Deadlines in order, cancelled ones silent, none lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oncelog.coordinator.timers import Timer, Timers


def test_due_ones_ring_in_order_of_deadline_then_of_scheduling() -> None:
    timers, rung = Timers(), list[str]()
    for name, deadline in [("c", 30), ("a", 10), ("b1", 20), ("b2", 20)]:
        timers.schedule(deadline, lambda now, name=name: rung.append(name))  # type: ignore[misc]
    assert timers.next_deadline_ms() == 10
    assert timers.fire(20) == 3
    assert (rung, timers.next_deadline_ms(), len(timers)) == (["a", "b1", "b2"], 30, 1)


def test_cancelled_timer_is_silent_also_when_cancelled_by_one_before_it() -> None:
    timers, rung = Timers(), list[int]()
    second: Timer
    timers.schedule(1, lambda now: second.cancel())
    second = timers.schedule(1, lambda now: rung.append(2))
    timers.schedule(1, lambda now: rung.append(3))
    assert timers.fire(1) == 2
    assert rung == [3]
    assert len(timers) == 0
    second.cancel()
    assert (len(timers), timers.next_deadline_ms()) == (0, None)


def test_what_a_timer_schedules_for_now_waits_for_the_next_call() -> None:
    timers, rung = Timers(), list[float]()

    def again(now: float) -> None:
        rung.append(now)
        timers.schedule(now, again)

    timers.schedule(0, again)
    timers.fire(5)
    assert rung == [5]


def test_failing_action_loses_no_other() -> None:
    timers, rung = Timers(), list[int]()

    def fail(now: float) -> None:
        raise RuntimeError("bug")

    timers.schedule(1, fail)
    timers.schedule(1, lambda now: rung.append(1))
    with pytest.raises(RuntimeError):
        timers.fire(1)
    timers.fire(1)
    assert rung == [1]


def test_earlier_deadline_is_announced() -> None:
    timers, told = Timers(), list[float]()
    timers.on_earlier = told.append
    for deadline in (50, 60, 40):
        timers.schedule(deadline, lambda now: None)
    assert told == [50, 40]


@given(st.lists(st.tuples(st.integers(0, 50), st.booleans()), max_size=200), st.integers(0, 50))
def test_against_a_sorted_list(plan: list[tuple[int, bool]], now_ms: int) -> None:
    timers, rung = Timers(), list[int]()
    made = [timers.schedule(deadline, lambda now, n=n: rung.append(n)) for n, (deadline, _) in enumerate(plan)]  # type: ignore[misc]
    for timer, (_, cancelled) in zip(made, plan, strict=True):
        if cancelled:
            timer.cancel()
    alive = sorted((deadline, n) for n, (deadline, cancelled) in enumerate(plan) if not cancelled)
    assert len(timers) == len(alive)
    timers.fire(now_ms)
    assert rung == [n for deadline, n in alive if deadline <= now_ms]
    assert len(timers) == len(alive) - len(rung)


def test_the_rest_of_what_is_due_waits_for_the_next_call() -> None:
    """In its order, before what the others scheduled meanwhile for the same time."""
    timers, rung = Timers(), list[int]()

    def ring(number: int) -> None:
        rung.append(number)
        if number < 10:
            timers.schedule(0, lambda now: ring(number + 10))

    for number in range(5):
        timers.schedule(number, lambda now, n=number: ring(n))  # type: ignore[misc]
    assert timers.fire(9, lambda: len(rung) == 2) == 2
    assert (rung, timers.next_deadline_ms(), len(timers)) == ([0, 1], 0, 5)
    assert timers.fire(9) == 5
    assert rung == [0, 1, 10, 11, 2, 3, 4]
    assert timers.fire(9) == 3
    assert len(timers) == 0
