"""Requests that wait for data: parked fetches, woken by the partitions they read.

A waiter registers with the logs of its partitions. A change of one (high watermark, last stable offset, log start) tries again;
at its deadline it answers with what there is (Kafka's DelayedFetch without a purgatory).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from oncelog.coordinator.deferred import Deferred

Attempt = Callable[[bool], Any]  # final -> the answer, or None to go on waiting


class Changing(Protocol):
    """What tells of its changes."""

    def add_change_listener(self, listener: Callable[[], None]) -> None: ...

    def remove_change_listener(self, listener: Callable[[], None]) -> None: ...


class ParkedRequest:
    """Waits until `attempt(final=False)` has an answer, or for `max_wait_ms`. `answer` is what it is then.

    `logs`: whose changes are worth an attempt; logs, or a session that watches some.
    """

    __slots__ = ("_attempt", "_logs", "_timer", "answer")

    def __init__(self, logs: Sequence[Changing], max_wait_ms: int, attempt: Attempt) -> None:
        self.answer: Deferred[Any] = Deferred()
        self._attempt = attempt
        self._logs = logs
        for log in logs:
            log.add_change_listener(self._changed)
        self._timer = asyncio.get_running_loop().call_later(max_wait_ms / 1000.0, self._expired)

    def _changed(self) -> None:
        if not self.answer.done:
            self._settle(final=False)

    def _expired(self) -> None:
        if not self.answer.done:
            self._settle(final=True)

    def _settle(self, *, final: bool) -> None:
        try:
            answer = self._attempt(final)
        except Exception as error:  # it belongs to whoever waits for the answer
            self._leave()
            self.answer.fail(error)
            return
        if answer is not None:
            self._leave()
            self.answer.resolve(answer)

    def give_up(self) -> None:
        """The answer, if it is still to come, is no longer wanted."""
        if not self.answer.done:
            self._leave()

    def _leave(self) -> None:
        self._timer.cancel()
        for log in self._logs:
            log.remove_change_listener(self._changed)
