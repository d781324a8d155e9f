"""Updates: what changed, once, to everybody who listens."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from oncelog.broker.console.embedded import EmbeddedSource
from oncelog.broker.console.events import MOST_LISTENERS, Updates
from oncelog.broker.console.model import Refused
from oncelog.broker.console.watching import Watching
from support.console_kit import ID, stuck_broker

pytestmark = pytest.mark.unit


def read(text: str) -> tuple[str, Any]:
    event, data = text.strip().split("\n")
    return event.removeprefix("event: "), json.loads(data.removeprefix("data: "))


def test_what_changed_is_told_once() -> None:
    with stuck_broker() as stuck:
        updates = Updates(EmbeddedSource(lambda: stuck.broker._life.broker, Watching()))

        async def listen() -> list[tuple[str, Any]]:
            stream = updates.listen()
            got = [read(await anext(stream)), read(await anext(stream))]
            late = updates.listen()
            got.append(read(await anext(late)))
            await late.aclose()
            await updates.look()
            await updates.look()  # nothing new
            stuck.broker._life.running.context.transactions.abort(ID, "a test")
            while got[-1][0] != "stuck" or got[-1][1]:
                got.append(read(await anext(stream)))
            await stream.aclose()
            return got

        got = stuck.broker._do(listen())
    assert [kind for kind, _ in got[:3]] == ["stuck", "overview", "stuck"]
    assert {row["transactional_id"] for row in got[0][1]} == {ID}
    assert got[0] == got[2]
    assert [data for kind, data in got[3:] if kind == "stuck"][-1] == []


def test_listeners_are_bounded_and_their_end_ends_the_looking() -> None:
    with stuck_broker() as stuck:
        updates = Updates(EmbeddedSource(lambda: stuck.broker._life.broker, Watching()))

        async def crowd() -> None:
            streams = [updates.listen() for _ in range(MOST_LISTENERS)]
            for stream in streams:
                await anext(stream)
            with pytest.raises(Refused):
                await anext(updates.listen())
            for stream in streams:
                await stream.aclose()
            assert updates._task is None

        stuck.broker._do(crowd())


def test_new_rows_come_one_by_one_and_many_as_a_count() -> None:
    updates = Updates(EmbeddedSource(lambda: None, Watching()))
    queue: asyncio.Queue[str] = asyncio.Queue(1000)
    updates._listeners.add(queue)

    def told(*numbers: int) -> list[tuple[str, Any]]:
        updates._tell_new("fencing", [{"number": number} for number in reversed(numbers)], "number")
        return [read(queue.get_nowait()) for _ in range(queue.qsize())]

    assert told(1, 2) == []  # known before anybody listened
    assert told(1, 2, 3, 4) == [("fencing", {"number": 3}), ("fencing", {"number": 4})]
    assert told(*range(1, 400)) == [("fencings-changed", {"count": 399})]
