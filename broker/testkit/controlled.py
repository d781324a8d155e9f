"""What can be done to a broker from outside its clients' sockets, whoever holds it: a test's thread or a process."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

from oncelog.broker import lifecycle
from oncelog.broker.context import BrokerContext
from oncelog.broker.control.counting import CountingHandler, RequestCounts
from oncelog.broker.faults.disk import DiskFaults
from oncelog.broker.faults.engine import Faults, FaultyHandler
from oncelog.broker.net.connection import Handles
from oncelog.broker.testkit.clock import TestClock
from oncelog.broker.testkit.crash_points import CrashPoints
from oncelog.broker.testkit.watched_fs import WatchedFileSystem, Watchers
from oncelog.storage.env import FileSystem

if TYPE_CHECKING:
    from oncelog.broker.console.watching import WatchedHandler, Watching
    from oncelog.broker.lifecycle import Around

_SHORTEST_STEP_MS = 1.0


class Down(RuntimeError):
    """There is no broker at the moment."""


class Controlled(ABC):
    """A broker's faults, time, crash points and counts, which outlast it when it is started anew. Used on its loop's thread."""

    def __init__(self, clock: TestClock, die: Callable[[], NoReturn]) -> None:
        """`die` is what an armed crash point does."""
        self.clock = clock
        self.broker: lifecycle.Broker | None = None
        self.inside: Around | None = None  # what is to stand between the faults and the handlers
        self.watching: Watching | None = None  # for the inspector; it sees what the handlers answered
        self.faults = Faults(clock)
        self.crash_points = CrashPoints(die)
        self.counts = RequestCounts()
        self.watcher = Watchers([DiskFaults(self.faults), self.crash_points])
        self.faults.on_change = self.crash_points.on_change = self._armed_or_not
        self._fs: WatchedFileSystem | None = None
        self._counting: CountingHandler | None = None
        self._handlers: tuple[Handles, WatchedHandler | None, Handles] | None = None  # unwatched, watched, and with rules

    @property
    def running(self) -> lifecycle.Broker:
        """Raises Down."""
        if self.broker is None:
            raise Down("the broker is down: restart() it first")
        return self.broker

    @property
    def syncs(self) -> int:
        """How often the disk was told to sync a file, since the broker was started."""
        return self._fs.syncs if self._fs is not None else 0

    @abstractmethod
    async def reset(self) -> None:
        """Nothing is left of topics, groups and transactions. Clients are cut off and come back to the same address.

        Raises PermissionError for data that this process did not make, OSError and KafkaError when it cannot start again.
        """

    @abstractmethod
    async def settle(self) -> None:
        """Let happen what needs no time."""

    async def advance(self, seconds: float) -> int:
        """Move time, stopping at every deadline on the way, until nothing is due; the time of day afterwards, in ms. Raises Down."""
        end_ms = self.clock.monotonic_ms() + seconds * 1000
        await self.settle()
        while (left_ms := end_ms - self.clock.monotonic_ms()) > 0:
            wait_ms = self.running.next_deadline_ms()
            self.clock.move(min(left_ms, left_ms if wait_ms is None else max(wait_ms, _SHORTEST_STEP_MS)))
            self.running.tick_coordinators()
            await self.settle()
            await asyncio.sleep(0)
        await self.running.catch_up()
        await self.settle()
        return self.clock.time_ms()

    def around(self, handler: Handles, context: BrokerContext) -> Handles:
        """What `lifecycle.Broker` is to put between connections and handlers."""
        context.errors = self.counts.errors
        if self.inside is not None:
            handler = self.inside(handler, context)
        watched = self.watching.around(handler, context) if self.watching is not None else None
        self._handlers = handler, watched, FaultyHandler(watched or handler, self.faults, context.topic_name)
        self._counting = CountingHandler(handler, self.counts)
        self._armed_or_not()
        return self._counting

    def watched(self, disk: FileSystem) -> WatchedFileSystem:
        """What a broker is to have for a disk."""
        self._fs = WatchedFileSystem(disk)
        self._armed_or_not()
        return self._fs

    def _armed_or_not(self) -> None:
        """Requests and writes go past the rules only while there are any: a broker whose control port is merely open is no slower."""
        if self._fs is not None:
            self._fs.watch(self.watcher if self.watcher.watches else None)
        if self._counting is not None and self._handlers is not None:
            handler, watched, faulty = self._handlers
            if self.faults.rules:
                self._counting.use(faulty)
            else:
                self._counting.use(handler, None if watched is None else watched.ways())
