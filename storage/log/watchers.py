"""Who waits for an offset of a log, and who wants to know of every change."""

from __future__ import annotations

import heapq
from collections.abc import Callable

from oncelog.protocol.errors import KafkaError

Waiter = Callable[[KafkaError | None], None]


class Watchers:
    """Callbacks, all on the loop's thread."""

    __slots__ = ("_count", "_listeners", "_waiters")

    def __init__(self) -> None:
        self._waiters: list[tuple[int, int, Waiter]] = []  # (offset, order of arrival, …), a heap
        self._count = 0
        self._listeners: list[Callable[[], None]] = []

    def wait(self, offset: int, waiter: Waiter) -> None:
        """Call `waiter` once by `reached` or `failed`."""
        self._count += 1
        heapq.heappush(self._waiters, (offset, self._count, waiter))

    def listen(self, listener: Callable[[], None]) -> None:
        self._listeners.append(listener)

    def leave(self, listener: Callable[[], None]) -> None:
        self._listeners.remove(listener)

    def reached(self, offset: int) -> None:
        """Everything below `offset` is there: tell those who waited for that, in order, and all listeners."""
        waiters = self._waiters
        while waiters and waiters[0][0] <= offset:
            heapq.heappop(waiters)[2](None)
        if self._listeners:
            self.changed()

    def failed(self, error: Callable[[], KafkaError]) -> None:
        """Nothing more will come."""
        waiters, self._waiters = sorted(self._waiters, key=lambda waiter: waiter[:2]), []
        for _, _, callback in waiters:
            callback(error())
        self.changed()

    def changed(self) -> None:
        for listener in tuple(self._listeners):
            listener()
