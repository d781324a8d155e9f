"""Requests that wait for data: parked fetches, woken by the partitions they read.

A waiter registers with the logs of its partitions. A change of one (high watermark, last stable offset, log start) tries again;
at its deadline it answers with what there is (Kafka's DelayedFetch without a purgatory).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from oncelog.broker.net.connection import BlockedRequests
from oncelog.protocol.errors import KafkaError

R = TypeVar("R")
Ended = Callable[[KafkaError | None], None]
Attempt = Callable[[bool], Any]  # final -> the answer, or None to go on waiting


class Changing(Protocol):
    """What tells of its changes."""

    def add_change_listener(self, listener: Callable[[], None]) -> None: ...

    def remove_change_listener(self, listener: Callable[[], None]) -> None: ...


class ParkedRequest:
    """Waits until `attempt(final=False)` has an answer, or for `max_wait_ms`. `future` carries the answer.

    `logs`: whose changes are worth an attempt; logs, or a session that watches some.
    """

    __slots__ = ("_attempt", "_logs", "_timer", "future")

    def __init__(self, logs: Sequence[Changing], max_wait_ms: int, attempt: Attempt) -> None:
        loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = loop.create_future()
        self._attempt = attempt
        self._logs = logs
        for log in logs:
            log.add_change_listener(self._changed)
        self._timer = loop.call_later(max_wait_ms / 1000.0, self._expired)

    def _changed(self) -> None:
        if not self.future.done():
            self._settle(final=False)

    def _expired(self) -> None:
        if not self.future.done():
            self._settle(final=True)

    def _settle(self, *, final: bool) -> None:
        try:
            answer = self._attempt(final)
        except Exception as error:  # it belongs to whoever waits for the answer
            self._leave()
            self.future.set_exception(error)
            return
        if answer is not None:
            self._leave()
            self.future.set_result(answer)

    def give_up(self) -> None:
        """The answer, if it is still to come, is no longer wanted."""
        if not self.future.done():
            self._leave()
            self.future.cancel()

    def _leave(self) -> None:
        self._timer.cancel()
        for log in self._logs:
            log.remove_change_listener(self._changed)


class Countdown:
    """Settles a future once `expect` callbacks have come, each with its own error or None."""

    __slots__ = ("_left", "future")

    def __init__(self, expect: int) -> None:
        self._left = expect
        self.future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def done(self) -> None:
        """One of those waited for is there."""
        self._left -= 1
        if self._left == 0 and not self.future.done():
            self.future.set_result(None)


class Settling:
    """An answer that is given once everything started for it has ended, and holds back what the same client sends behind it.

    `failed`: what did not succeed, by name.
    """

    __slots__ = ("_answer", "_future", "_left", "failed")

    def __init__(self) -> None:
        self.failed: dict[str, KafkaError] = {}
        self._left = 0
        self._answer: Callable[[], object] = dict
        self._future: asyncio.Future[Any] | None = None

    def start(self, name: str, begin: Callable[[Ended], R]) -> R:
        """Call `begin` with whom to tell of the end, once. Raises KafkaError as it does; then nothing was begun."""

        def ended(error: KafkaError | None) -> None:
            if error is not None:
                self.failed[name] = error
            self._left -= 1
            if self._left == 0 and self._future is not None and not self._future.done():
                self._future.set_result(self._answer())

        self._left += 1
        try:
            return begin(ended)
        except KafkaError:
            self._left -= 1
            raise

    def reply(self, answer: Callable[[], R]) -> R | BlockedRequests:
        """What `answer()` gives, now or later."""
        if self._left == 0:
            return answer()
        self._answer, self._future = answer, asyncio.get_running_loop().create_future()
        return BlockedRequests(self._future)
