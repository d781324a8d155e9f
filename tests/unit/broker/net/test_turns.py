"""Work cut into turns: who gets a turn in between, what it may ask for, and how it ends."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest
from oncelog.broker.net.turns import Steps, Turns, at_once
from oncelog.coordinator.deferred import Deferred

pytestmark = pytest.mark.unit


def scenario(body: Callable[[Turns], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        turns = Turns()
        try:
            await asyncio.wait_for(body(turns), 20)
        finally:
            turns.close()

    asyncio.run(run())


async def settled(reply: Deferred[Any]) -> Any:
    """What it resolves with; raises what it fails with."""
    done = asyncio.Event()
    reply.when_done(lambda _reply: done.set())
    await done.wait()
    return reply.result()


def counting(seen: list[str], name: str, turns: int = 3) -> Steps[str]:
    for number in range(turns):
        seen.append(f"{name}{number}")
        yield None
    return name


def test_at_once_the_turns_are_ignored() -> None:
    seen: list[str] = []
    assert at_once(counting(seen, "a")) == "a"
    assert seen == ["a0", "a1", "a2"]

    def asking() -> Steps[None]:
        yield lambda: None

    with pytest.raises(AssertionError, match="not taken at once"):
        at_once(asking())


def test_what_needs_no_other_turn_is_a_value() -> None:
    def short() -> Steps[int]:
        return 5
        yield None

    assert Turns().begin(short()) == 5  # no loop is running


def test_others_have_their_turns_in_between() -> None:
    async def body(turns: Turns) -> None:
        seen: list[str] = []
        replies = [turns.begin(counting(seen, name)) for name in "ab"]
        assert seen == ["a0", "b0"]
        assert turns.busy
        assert [await settled(reply) for reply in replies] == ["a", "b"]  # type: ignore[arg-type]
        assert seen == ["a0", "b0", "a1", "b1", "a2", "b2"]
        await asyncio.sleep(0)
        assert not turns.busy

    scenario(body)


def test_answers_hold_back_what_comes_behind_them() -> None:
    async def body(turns: Turns) -> None:
        for reply in (turns.begin(counting([], "a")), turns.answer(counting([], "b"))):
            assert isinstance(reply, Deferred)
            assert reply.holds is reply
            await settled(reply)

    scenario(body)


def test_a_call_is_made_by_another_thread_and_its_value_sent_in() -> None:
    async def body(turns: Turns) -> None:
        def steps() -> Steps[tuple[str, str]]:
            first = yield lambda: threading.current_thread().name
            second = yield lambda: threading.current_thread().name
            return first, second

        names = await settled(turns.go_on(steps(), None))
        assert all(name.startswith("oncelog-turns") for name in names)

    scenario(body)


def test_what_a_call_raises_is_raised_where_it_was_asked_for() -> None:
    async def body(turns: Turns) -> None:
        def broken() -> None:
            raise ValueError("in the thread")

        def steps() -> Steps[str]:
            try:
                yield broken
            except ValueError as error:
                yield None
                return f"caught {error}"
            return "not raised"

        assert await settled(turns.go_on(steps(), None)) == "caught in the thread"

    scenario(body)


@pytest.mark.parametrize("later", [True, False])
def test_an_answer_is_waited_for(later: bool) -> None:
    async def body(turns: Turns) -> None:
        awaited: Deferred[int] = Deferred()

        def steps() -> Steps[int]:
            return (yield awaited) + 1

        if not later:
            awaited.resolve(4)
        reply = turns.go_on(steps(), None)
        await asyncio.sleep(0.001)
        assert reply.done is not later
        awaited.resolve(4)
        assert await settled(reply) == 5

    scenario(body)


def test_an_answer_that_fails_fails_the_work() -> None:
    async def body(turns: Turns) -> None:
        awaited: Deferred[int] = Deferred()
        closed: list[bool] = []

        def steps() -> Steps[int]:
            try:
                return (yield awaited)
            finally:
                closed.append(True)

        reply = turns.go_on(steps(), None)
        awaited.fail(OSError("disk"))
        with pytest.raises(OSError, match="disk"):
            await settled(reply)
        assert closed == [True]

    scenario(body)


def test_an_answer_of_steps_that_is_itself_to_come_is_waited_for_and_encoded_elsewhere() -> None:
    async def body(turns: Turns) -> None:
        awaited: Deferred[str] = Deferred()
        threads: list[str] = []

        def steps() -> Steps[Deferred[str]]:
            yield None
            return awaited

        def encode(value: str) -> bytes:
            threads.append(threading.current_thread().name)
            return value.encode()

        reply = turns.answer(steps(), encode)
        await asyncio.sleep(0.001)
        assert not reply.done
        awaited.resolve("made")
        assert await settled(reply) == b"made"
        assert threads[0].startswith("oncelog-turns")

    scenario(body)


def test_one_work_at_a_time_holds_what_a_thread_made_for_it() -> None:
    async def body(turns: Turns) -> None:
        holding, most = 0, 0
        seen: list[str] = []

        def steps(name: str) -> Steps[str]:
            nonlocal holding, most
            yield lambda: None
            holding += 1
            most = max(most, holding)
            for _ in range(3):
                yield None
            holding -= 1
            return name

        replies = [turns.go_on(steps(name), None) for name in "abc"]
        plain = turns.go_on(counting(seen, "p"), None)  # asks for no thread, so it waits for nobody
        assert await settled(plain) == "p"
        assert [await settled(reply) for reply in replies] == ["a", "b", "c"]
        assert most == 1

    scenario(body)


def test_a_work_that_fails_leaves_its_place() -> None:
    async def body(turns: Turns) -> None:
        def broken() -> Steps[None]:
            yield lambda: None
            raise ValueError("work")

        def fine() -> Steps[str]:
            yield lambda: None
            return "fine"

        first, second = turns.go_on(broken(), None), turns.go_on(fine(), None)
        with pytest.raises(ValueError, match="work"):
            await settled(first)
        assert await settled(second) == "fine"

    scenario(body)


def test_closed_it_gives_up_what_is_under_way() -> None:
    closed: list[str] = []

    def steps() -> Iterator[Any]:
        try:
            while True:
                yield None
        finally:
            closed.append("steps")

    async def run() -> None:
        turns = Turns()
        reply = turns.go_on(steps(), None)  # type: ignore[arg-type]
        await asyncio.sleep(0.001)
        turns.close()
        await asyncio.sleep(0.001)
        assert not reply.done  # nobody is left to be answered
        assert not turns.busy

    asyncio.run(run())
    assert closed == ["steps"]
