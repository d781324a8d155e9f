"""Requests that come in crowds: a turn of the loop handles so many, later turns the rest, one connection after another.

The first few of a read are always handled at once, so that who asks one thing at a time never waits behind a crowd. Requests are counted,
not timed, so that a simulation repeats itself.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final, Protocol

AT_ONCE: Final = 8  # requests of one read
REQUESTS_A_TURN: Final = 256  # of all connections together, beyond those


class Crowded(Protocol):
    """A connection with requests that nobody has looked at yet."""

    def go_on(self) -> None:
        """Handle some of them."""


class Backlog:
    """Used on the loop's thread."""

    def __init__(self) -> None:
        self._left = REQUESTS_A_TURN
        self._waiting: deque[Crowded] = deque()
        self._scheduled = False

    def takes_another(self) -> bool:
        """May one more request be handled in this turn?"""
        self._schedule()
        self._left -= 1
        return self._left >= 0

    def wait(self, one: Crowded) -> None:
        """Have `one` go on in a later turn, after those that came before it."""
        self._waiting.append(one)
        self._schedule()

    def _schedule(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        self._scheduled = False
        self._left = REQUESTS_A_TURN
        for _ in range(len(self._waiting)):
            if self._left <= 0:
                break
            self._left -= AT_ONCE
            self._waiting.popleft().go_on()
        if self._waiting:
            self._schedule()
