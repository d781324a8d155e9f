"""Calls the broker's `tick` when there is something to do, and lets it sleep until then."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

HEARTBEAT_MS = 1_000  # the longest sleep: a time of day that is set forward, or a machine that slept, is noticed within it
_SHORTEST_MS = 1.0  # what falls due again and again leaves the loop to others in between


class Wakeups:
    """`tick` does what is due and returns the milliseconds until there may be more; it is asked at each heartbeat.

    Whoever sets a deadline that is nearer than both says so by `within`.
    """

    def __init__(self, tick: Callable[[], float]) -> None:
        self._tick = tick
        self._timer: asyncio.TimerHandle | None = None  # None before the start, while it ticks, and after the end
        self._stopped = False

    def start(self) -> None:
        """Tick now, and from now on."""
        wait_ms = _SHORTEST_MS  # after a failure, which the loop's exception handler is told
        self._timer = None
        try:
            wait_ms = self._tick()
        finally:
            if not self._stopped:
                self._sleep(wait_ms)

    def stop(self) -> None:
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def within(self, wait_ms: float) -> None:
        """Tick in `wait_ms` at the latest."""
        if self._timer is None:
            return  # the tick that is under way, or is to come, asks everybody for deadlines when it ends
        if asyncio.get_running_loop().time() + max(wait_ms, _SHORTEST_MS) / 1000 < self._timer.when():
            self._timer.cancel()
            self._sleep(wait_ms)

    def _sleep(self, wait_ms: float) -> None:
        delay_ms = max(min(wait_ms, HEARTBEAT_MS), _SHORTEST_MS)
        self._timer = asyncio.get_running_loop().call_later(delay_ms / 1000, self.start)
