"""A request that waits for data: which changes are worth an attempt, when it ends, and that it leaves nothing behind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest
from oncelog.broker.fetching.delayed import ParkedRequest
from support.simloop import SimLoop

pytestmark = pytest.mark.unit


class Log:
    """Tells of its changes."""

    def __init__(self) -> None:
        self.listeners: list[Callable[[], None]] = []

    def add_change_listener(self, listener: Callable[[], None]) -> None:
        self.listeners.append(listener)

    def remove_change_listener(self, listener: Callable[[], None]) -> None:
        self.listeners.remove(listener)

    def change(self) -> None:
        for listener in list(self.listeners):
            listener()


class Asked:
    """Attempts, and what the next one finds."""

    def __init__(self) -> None:
        self.attempts: list[bool] = []
        self.found: str | None = None
        self.error: Exception | None = None

    def attempt(self, final: bool) -> str | None:
        self.attempts.append(final)
        if self.error is not None:
            raise self.error
        return self.found or ("nothing" if final else None)


@pytest.fixture
def loop() -> Iterator[SimLoop]:
    made = SimLoop()
    yield made
    made.abandon()


def run(loop: SimLoop, body: Coroutine[Any, Any, None]) -> None:
    loop.run_until_complete(body)


def test_a_change_that_brings_an_answer_ends_it(loop: SimLoop) -> None:
    async def body() -> None:
        logs, asked = [Log(), Log()], Asked()
        parked = ParkedRequest(logs, 1_000, asked.attempt)
        logs[0].change()
        assert (parked.answer.done, asked.attempts) == (False, [False])
        asked.found = "records"
        logs[1].change()
        assert parked.answer.result() == "records"
        assert [log.listeners for log in logs] == [[], []]
        await asyncio.sleep(2)
        assert asked.attempts == [False, False]  # the clock has been stopped, too

    run(loop, body())


def test_when_its_time_is_over_it_takes_what_there_is(loop: SimLoop) -> None:
    async def body() -> None:
        log, asked = Log(), Asked()
        parked = ParkedRequest([log], 1_000, asked.attempt)
        await asyncio.sleep(0.999)
        assert not parked.answer.done
        await asyncio.sleep(0.002)
        assert (parked.answer.result(), asked.attempts, log.listeners) == ("nothing", [True], [])

    run(loop, body())


@pytest.mark.parametrize("by_time", [True, False])
def test_an_attempt_that_fails_fails_the_answer(loop: SimLoop, by_time: bool) -> None:
    async def body() -> None:
        log, asked = Log(), Asked()
        asked.error = ValueError("broken")
        parked = ParkedRequest([log], 10, asked.attempt)
        if by_time:
            await asyncio.sleep(0.02)
        else:
            log.change()
        with pytest.raises(ValueError, match="broken"):
            parked.answer.result()
        assert log.listeners == []
        await asyncio.sleep(0.02)
        assert len(asked.attempts) == 1

    run(loop, body())


def test_one_whose_client_is_gone_asks_no_more(loop: SimLoop) -> None:
    async def body() -> None:
        log, asked = Log(), Asked()
        parked = ParkedRequest([log], 10, asked.attempt)
        parked.give_up()
        log.change()
        await asyncio.sleep(0.02)
        assert (asked.attempts, log.listeners, parked.answer.done) == ([], [], False)

    run(loop, body())


def test_giving_up_what_has_ended_changes_nothing(loop: SimLoop) -> None:
    async def body() -> None:
        log, asked = Log(), Asked()
        asked.found = "records"
        parked = ParkedRequest([log], 10, asked.attempt)
        log.change()
        parked.give_up()
        assert parked.answer.result() == "records"

    run(loop, body())
