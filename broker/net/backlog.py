"""What comes in crowds, requests above all: a turn of the loop handles so many, later turns the rest, one connection after another.

The first few requests of a read are always handled at once, so that who asks one thing at a time never waits behind a crowd. All is
counted, not timed, so that a simulation repeats itself.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

AT_ONCE: Final = 8  # requests of one read
REQUESTS_A_TURN: Final = 256  # of all connections together, beyond those
HANDSHAKES_A_TURN: Final = 4  # steps of TLS handshakes: signing with an RSA key of 2,048 bits takes 0.3 ms, with one of 4,096 bits 4 ms
CLOSINGS_A_TURN: Final = 64  # the loop takes some 15 us for each


class Backlog:
    """So many things of one kind a turn, `each` for who goes on after he waited. Used on the loop's thread."""

    def __init__(self, a_turn: int = REQUESTS_A_TURN, each: int = AT_ONCE) -> None:
        self._a_turn = self._left = a_turn
        self._each = each
        self._waiting: deque[Callable[[], None]] = deque()
        self._scheduled = False

    def takes_another(self) -> bool:
        """May one more be handled in this turn?"""
        self._schedule()
        self._left -= 1
        return self._left >= 0

    def wait(self, go_on: Callable[[], None]) -> None:
        """Call `go_on` in a later turn, after those that came before it."""
        self._waiting.append(go_on)
        self._schedule()

    def _schedule(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        self._scheduled = False
        self._left = self._a_turn
        for _ in range(len(self._waiting)):
            if self._left <= 0:
                break
            self._left -= self._each
            self._waiting.popleft()()
        if self._waiting:
            self._schedule()
