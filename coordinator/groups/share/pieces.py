"""Long lists of share partitions, handed to the share coordinator in pieces: nothing holds the loop for as long as all of them take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from oncelog.coordinator.deferred import Deferred, Reply, followed_by
from oncelog.coordinator.timers import Timer

PIECE = 200  # share partitions: each costs the loop up to 50 us
T = TypeVar("T")
U = TypeVar("U")


class Scheduler(Protocol):
    """What is needed of `CoordinatorRuntime`."""

    def now_ms(self) -> int: ...

    def schedule(self, deadline_ms: float, action: Callable[[float], None]) -> Timer: ...


def in_pieces(scheduler: Scheduler, items: Sequence[T], ask: Callable[[Sequence[T]], Reply[list[U]]]) -> Reply[list[U]]:
    """What `ask` gives for all `items`, in their order; it is asked for a piece of them, and for the next when that is there."""
    if len(items) <= PIECE:
        return ask(items)
    answer: Deferred[list[U]] = Deferred()
    others: Reply[list[U]] = answer

    def rest(_now_ms: float) -> None:
        answer.become(lambda: in_pieces(scheduler, items[PIECE:], ask))

    def begin(first: list[U]) -> Reply[list[U]]:
        scheduler.schedule(scheduler.now_ms(), rest)
        return followed_by(others, lambda more: first + more)

    return followed_by(ask(items[:PIECE]), begin)
