"""Answers that are not there yet: what handlers make of a `Deferred`, and how one comes of many."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from typing import Any, TypeVar, cast

from oncelog.coordinator.deferred import Deferred, Reply, all_of
from oncelog.protocol.errors import KafkaError

__all__ = ["Ended", "Settling", "all_of", "holding_back", "later", "then"]

T = TypeVar("T")
U = TypeVar("U")
R = TypeVar("R")
Ended = Callable[[KafkaError | None], None]


def then(reply: Reply[T], build: Callable[[T], U]) -> Reply[U]:
    """`build` of the value, now or when it comes; an exception passes through."""
    if not isinstance(reply, Deferred):
        return build(reply)
    if reply.done:
        return build(reply.result())
    reply.made_into(build)
    return cast("Deferred[U]", reply)


def both(one: Reply[T], other: Reply[U], build: Callable[[T, U], R]) -> Reply[R]:
    """`build` of both values, once they are there."""
    values: Reply[list[Any]] = all_of([one, other])
    return then(values, lambda values: build(*values))


def holding_back(reply: Deferred[T]) -> Deferred[T]:
    """The answer, with what its client sends behind it looked at afterwards, as Apache Kafka's muted channel does."""
    reply.holds = reply
    return reply


def later(outcome: T | Exception, delay_ms: int) -> Deferred[T]:
    """An answer, or its failure, in a while."""
    deferred: Deferred[T] = Deferred()

    def give() -> None:
        if isinstance(outcome, Exception):
            deferred.fail(outcome)
        else:
            deferred.resolve(outcome)

    asyncio.get_running_loop().call_later(delay_ms / 1000, give)
    return deferred


class Settling:
    """An answer that is given once everything that was started for it has ended. `failed`: what did not succeed, by its key."""

    __slots__ = ("_deferred", "_left", "failed")

    def __init__(self) -> None:
        self.failed: dict[Any, KafkaError] = {}
        self._left = 0
        self._deferred: Deferred[Any] | None = None

    def one(self, key: Hashable) -> Ended:
        """Whom to tell, once, of the end of what is started under `key`."""
        self._left += 1

        def ended(error: KafkaError | None) -> None:
            if error is not None:
                self.failed[key] = error
            self._left -= 1
            if self._left == 0 and self._deferred is not None:
                self._deferred.resolve(None)

        return ended

    def start(self, key: Hashable, begin: Callable[[Ended], R]) -> R:
        """Call `begin` with whom to tell of the end. Raises KafkaError as it does; then nothing was begun."""
        ended = self.one(key)
        try:
            return begin(ended)
        except KafkaError:
            self._left -= 1
            raise

    def reply(self, answer: Callable[[], T]) -> Reply[T]:
        """What `answer()` gives, now or later."""
        if self._left == 0:
            return answer()
        self._deferred = Deferred()
        return then(self._deferred, lambda _ended: answer())

    def holding_reply(self, answer: Callable[[], T]) -> Reply[T]:
        """The same; later, it holds back what the client sends behind it."""
        reply = self.reply(answer)
        return holding_back(reply) if isinstance(reply, Deferred) else reply
