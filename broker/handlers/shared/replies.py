"""Answers that are perhaps not there yet: a value, or a future of one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar, cast

T = TypeVar("T")
U = TypeVar("U")
Reply: TypeAlias = T | asyncio.Future[T]


def then(reply: Reply[T], build: Callable[[T], U]) -> Reply[U]:
    """`build` of the value, now or when it comes; an exception passes through."""
    if not isinstance(reply, asyncio.Future):
        return build(reply)
    built: asyncio.Future[U] = reply.get_loop().create_future()

    def settle(done: asyncio.Future[T]) -> None:
        if built.done():  # the connection is gone
            return
        try:
            built.set_result(build(done.result()))
        except Exception as error:  # whatever it is belongs to whoever waits for the answer
            built.set_exception(error)

    reply.add_done_callback(settle)
    return built


def all_of(replies: Sequence[Reply[T]]) -> Reply[list[T]]:
    """All values in order, once the last one is there."""
    waiting = [reply for reply in replies if isinstance(reply, asyncio.Future)]
    if not waiting:
        return cast("list[T]", list(replies))
    gathered: asyncio.Future[list[T]] = waiting[0].get_loop().create_future()
    outstanding = len(waiting)

    def settle(done: asyncio.Future[T]) -> None:
        nonlocal outstanding
        outstanding -= 1
        error = done.exception()
        if gathered.done():
            return
        if error is not None:
            gathered.set_exception(error)
        elif outstanding == 0:
            gathered.set_result([reply.result() if isinstance(reply, asyncio.Future) else reply for reply in replies])

    for future in waiting:
        future.add_done_callback(settle)
    return gathered
