"""Time that a test moves: transactions, sessions, rebalances, delivery, retention and timestamps of records follow it.

Not so what stands between two ends of a socket: how long a Fetch waits for data, a TLS handshake, the delay after a failed login.
"""

from __future__ import annotations

import time


class TestClock:
    """The time of day. `stands`: it moves by `move` alone; else it also runs as the machine's does."""

    __test__ = False  # no test class, whatever pytest thinks of its name

    def __init__(self, *, stands: bool = False) -> None:
        self.stands = stands
        self._moved_ns, self._moved_ms = 0, 0.0
        self._time_ns, self._monotonic = time.time_ns, time.monotonic  # asked for every request
        if stands:
            ns, seconds = time.time_ns(), time.monotonic()
            self._time_ns, self._monotonic = lambda: ns, lambda: seconds

    def time_ms(self) -> int:
        return (self._time_ns() + self._moved_ns) // 1_000_000

    def monotonic_ms(self) -> float:
        return self._monotonic() * 1000 + self._moved_ms

    def move(self, by_ms: float) -> None:
        self._moved_ns += round(by_ms * 1_000_000)
        self._moved_ms += by_ms
