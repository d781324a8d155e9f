"""Deadlines on a heap: what is due is carried out when somebody says what time it is.

No thread and no loop: the broker asks for `next_deadline_ms()`, sleeps that long, or until `on_earlier` wakes it, and calls `fire(now_ms)`.
A cancelled timer stays on the heap until its time, or until cancelled ones are the majority.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

_PRUNE_AT_LEAST = 64


class Timer:
    """One deadline; `cancel()` may be called at any time, also after it fired."""

    __slots__ = ("_owner", "action", "deadline_ms")

    def __init__(self, deadline_ms: float, action: Callable[[float], None], owner: Timers) -> None:
        self.deadline_ms = deadline_ms
        self.action: Callable[[float], None] | None = action
        self._owner = owner

    @property
    def active(self) -> bool:
        """Neither fired nor cancelled."""
        return self.action is not None

    def cancel(self) -> None:
        if self.action is not None:
            self.action = None
            self._owner.forget_one()


class Timers:
    """Deadlines in milliseconds of whatever clock the caller uses, in order; equal deadlines in order of scheduling."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Timer]] = []
        self._order = 0
        self._cancelled = 0
        self.on_earlier: Callable[[float], None] | None = None  # told the new next deadline when it moved forward

    def __len__(self) -> int:
        return len(self._heap) - self._cancelled

    def schedule(self, deadline_ms: float, action: Callable[[float], None]) -> Timer:
        """Have `action(now_ms)` called by the first `fire` at or after `deadline_ms`."""
        timer = Timer(deadline_ms, action, self)
        self._order += 1
        heapq.heappush(self._heap, (deadline_ms, self._order, timer))
        if self.on_earlier is not None and self._heap[0][2] is timer:
            self.on_earlier(deadline_ms)
        return timer

    def next_deadline_ms(self) -> float | None:
        """When `fire` has something to do; None when nothing is scheduled."""
        while self._heap and not self._heap[0][2].active:
            heapq.heappop(self._heap)
            self._cancelled -= 1
        return self._heap[0][0] if self._heap else None

    def fire(self, now_ms: float, enough: Callable[[], bool] = lambda: False) -> int:
        """Carry out what is due, the earliest first, until that is `enough`, and say how many; the rest, and what they schedule for the
        past, waits for the next call."""
        last, fired = self._order, 0
        scheduled_now: list[tuple[float, int, Timer]] = []
        try:
            while (deadline := self.next_deadline_ms()) is not None and deadline <= now_ms:
                entry = heapq.heappop(self._heap)
                if entry[1] > last:
                    scheduled_now.append(entry)
                    continue
                action, entry[2].action = entry[2].action, None
                assert action is not None
                action(now_ms)
                fired += 1
                if enough():
                    break
        finally:
            for entry in scheduled_now:
                heapq.heappush(self._heap, entry)
        return fired

    def forget_one(self) -> None:
        """One more timer was cancelled; called by `Timer.cancel`."""
        self._cancelled += 1
        if self._cancelled > _PRUNE_AT_LEAST and self._cancelled * 2 > len(self._heap):
            self._heap = [entry for entry in self._heap if entry[2].active]
            heapq.heapify(self._heap)
            self._cancelled = 0
