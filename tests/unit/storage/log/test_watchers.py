"""Who waits for an offset is told once and in order; listeners hear of everything."""

from __future__ import annotations

import random

import pytest
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.storage.log.watchers import Watchers


def told(watchers: Watchers, *offsets: int) -> list[tuple[int, KafkaError | None]]:
    """(number of the waiter, with what) in the order in which they are told."""
    heard: list[tuple[int, KafkaError | None]] = []
    for number, offset in enumerate(offsets):
        watchers.wait(offset, lambda error, number=number: heard.append((number, error)))  # type: ignore[misc]
    return heard


def test_those_below_are_told_by_offset_and_among_equals_by_arrival() -> None:
    watchers = Watchers()
    heard = told(watchers, 7, 5, 9, 5)
    watchers.reached(4)
    assert heard == []
    watchers.reached(7)
    assert heard == [(1, None), (3, None), (0, None)]
    watchers.reached(8)
    watchers.reached(9)
    watchers.reached(99)
    assert heard[3:] == [(2, None)]


def test_random_offsets_against_sorting() -> None:
    for seed in range(50):
        chance, watchers = random.Random(seed), Watchers()
        offsets = [chance.randrange(20) for _ in range(30)]
        heard = told(watchers, *offsets)
        for reached in [*sorted(chance.sample(range(20), 5)), 20]:
            watchers.reached(reached)
            expected = sorted((offset, number) for number, offset in enumerate(offsets) if offset <= reached)
            assert sorted(number for number, _ in heard) == sorted(number for _, number in expected), f"seed {seed}"
        assert [number for number, _ in heard] == [number for _, number in sorted((o, n) for n, o in enumerate(offsets))]


def test_a_waiter_that_waits_again_within_its_call() -> None:
    watchers, heard = Watchers(), []

    def again(error: KafkaError | None) -> None:
        heard.append(error)
        if len(heard) < 3:
            watchers.wait(5, again)

    watchers.wait(5, again)
    watchers.reached(5)
    assert heard == [None] * 3


def test_a_failure_is_told_once_to_each_with_an_error_of_its_own() -> None:
    watchers = Watchers()
    heard = told(watchers, 9, 2)
    watchers.failed(lambda: KafkaError(ErrorCode.KAFKA_STORAGE_ERROR))
    assert [number for number, _ in heard] == [1, 0]
    errors = [error for _, error in heard]
    assert all(error is not None and error.code is ErrorCode.KAFKA_STORAGE_ERROR for error in errors)
    assert errors[0] is not errors[1]
    watchers.reached(99)
    watchers.failed(lambda: pytest.fail("nobody waits"))
    assert len(heard) == 2


def test_who_waits_after_a_failure_waits_for_the_next() -> None:
    watchers = Watchers()
    watchers.failed(lambda: KafkaError(ErrorCode.KAFKA_STORAGE_ERROR))
    heard = told(watchers, 3)
    watchers.reached(3)
    assert heard == [(0, None)]


def test_listeners_hear_of_every_change_until_they_leave() -> None:
    watchers, heard = Watchers(), list[str]()

    def leaves() -> None:
        heard.append("once")
        watchers.leave(leaves)

    def stays() -> None:
        heard.append("always")

    watchers.listen(leaves)
    watchers.listen(stays)
    for change in (watchers.changed, lambda: watchers.reached(0), lambda: watchers.failed(lambda: KafkaError(ErrorCode.NONE))):
        change()
    assert heard == ["once", "always", "always", "always"]


def test_waiters_hear_before_listeners() -> None:
    watchers, order = Watchers(), list[str]()
    watchers.listen(lambda: order.append("listener"))
    watchers.wait(1, lambda _error: order.append("waiter"))
    watchers.reached(1)
    assert order == ["waiter", "listener"]
