"""What outlasts a broker, and how time is moved."""

from __future__ import annotations

import asyncio
from typing import Any, NoReturn

import pytest
from oncelog.broker.testkit.clock import TestClock
from oncelog.broker.testkit.controlled import Controlled, Down
from oncelog.protocol.names import TopicPartition

pytestmark = pytest.mark.unit


def die() -> NoReturn:
    raise AssertionError("not armed")


class Deadlines:
    """A broker that has something to do at some times, in ms from the start."""

    def __init__(self, clock: TestClock, *due: float) -> None:
        self.clock = clock
        self.begin = clock.monotonic_ms()
        self.due = list(due)
        self.done: list[tuple[str, float]] = []

    @property
    def now(self) -> float:
        return round(self.clock.monotonic_ms() - self.begin)

    def next_deadline_ms(self) -> float | None:
        return max(0.0, self.due[0] - self.now) if self.due else None

    def tick_coordinators(self) -> None:
        while self.due and self.due[0] <= self.now:
            self.done.append(("due", self.due.pop(0)))

    async def catch_up(self) -> None:
        self.done.append(("caught up", self.now))


class Kept(Controlled):
    syncs = 0

    def __init__(self, *due: float) -> None:
        super().__init__(TestClock(stands=True), die)
        self.deadlines = Deadlines(self.clock, *due)
        self.broker = self.deadlines  # type: ignore[assignment]
        self.settled = 0

    async def reset(self) -> None: ...

    async def settle(self) -> None:
        self.settled += 1


def test_time_stops_at_each_deadline_in_its_order() -> None:
    kept = Kept(1_000, 1_000, 2_500, 900_000)
    now_ms = asyncio.run(kept.advance(10))
    assert kept.deadlines.done == [("due", 1_000), ("due", 1_000), ("due", 2_500), ("caught up", 10_000)]
    assert now_ms == kept.clock.time_ms()
    assert kept.settled >= 4


def test_a_deadline_that_stays_due_does_not_stop_time() -> None:
    kept = Kept(0)
    kept.deadlines.tick_coordinators = lambda: None  # type: ignore[method-assign]
    asyncio.run(kept.advance(0.02))
    assert kept.deadlines.now == 20


def test_nothing_is_moved_of_what_is_down() -> None:
    kept = Kept()
    kept.broker = None
    with pytest.raises(Down, match="down"):
        asyncio.run(kept.advance(1))


def test_topics_are_known_by_their_ids() -> None:
    from oncelog.broker.testkit import Broker

    with Broker() as broker:
        broker.create_topic("a")
        context: Any = broker._life.running.context
        topic = context.logs.topics.get("a")
        assert context.topic_name(topic.topic_id) == "a"
        assert context.topic_name(None) is None
        assert context.logs.log(TopicPartition("a", 0)) is not None


def test_only_while_something_is_armed_are_requests_and_writes_looked_at() -> None:
    from oncelog.broker.faults.engine import FaultyHandler
    from oncelog.broker.testkit import Broker

    with Broker() as broker:
        life: Any = broker._life

        def looks() -> tuple[bool, bool]:
            return isinstance(life._counting.handler, FaultyHandler), life._fs.watcher is not None

        assert looks() == (False, False)
        rule = broker.faults.add(api="EndTxn", action="close")
        assert looks() == (True, False)
        disk = broker.faults.add(topic="a", action="sync_fails")
        assert looks() == (True, True)
        rule.remove()
        disk.remove()
        assert looks() == (False, False)
        broker.crash_at("mid-write", 5)
        assert looks() == (False, True)
        broker.restart()
        assert looks() == (False, True)
        broker.faults.add(api="EndTxn", action="close")
        broker.reset()
        assert looks() == (False, False)
