"""Counts of requests, and of some how long they took."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

from oncelog.broker.net.answer_stream import Sent
from oncelog.broker.net.connection import Connection, Handles
from oncelog.broker.net.dispatch import CloseConnection
from oncelog.broker.net.error_counts import ErrorCounts
from oncelog.coordinator.deferred import Deferred, Reply
from oncelog.protocol.primitives import MalformedRequest

_Handle: TypeAlias = Callable[[memoryview, Connection], Reply[Sent]]
TIMED = 101  # one of so many; a prime, so that clients that alternate are seen in all they do
BOUNDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0)  # seconds


@dataclass(slots=True)
class Latencies:
    """Of one API. `buckets`: how many took longer than the bound before and at most that of the same place; the last: longer than all."""

    buckets: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    seconds: float = 0.0

    def add(self, seconds: float) -> None:
        self.buckets[bisect_left(BOUNDS, seconds)] += 1
        self.seconds += seconds


@dataclass(slots=True)
class RequestCounts:
    """Since the process began. `by_key`: those that were carried out or answered; `refused`: those that closed their connection instead."""

    by_key: list[int] = field(default_factory=lambda: [0] * 256)
    refused: int = 0
    errors: ErrorCounts = field(default_factory=ErrorCounts)
    latencies: dict[int, Latencies] = field(default_factory=dict)


class CountingHandler:
    """Answers frames as the handler does that is in `use`."""

    handle: Callable[..., Reply[Sent]]

    def __init__(self, handler: Handles, counts: RequestCounts) -> None:
        self.clock = handler.clock
        self._counts = counts
        self.use(handler)

    def use(self, handler: Handles, aside: Mapping[int, _Handle] | None = None) -> None:
        """From the next request on; those of the keys in `aside` are handled by that."""
        self.handler = handler
        ways: list[_Handle] = [handler.handle] * 256
        for key, way in (aside or {}).items():
            ways[key] = way
        self.handle = _counted(ways, handler.handle, self._counts)

    def log_failure(self, connection: Connection, error: BaseException) -> None:
        self.handler.log_failure(connection, error)


def _counted(ways: list[_Handle], handle: _Handle, counts: RequestCounts) -> Callable[..., Reply[Sent]]:
    """`ways` by the api's key, counted; a function and no method, as every request passes here."""
    by_key = counts.by_key

    def counted(frame: memoryview, connection: Connection) -> Reply[Sent]:
        if connection.sasl is not None and connection.sasl.takes_tokens:
            return handle(frame, connection)  # no request
        try:
            key = frame[1]  # no key of Kafka's needs the byte before
            by_key[key] = count = by_key[key] + 1
            if count % TIMED:
                return ways[key](frame, connection)
            begin = time.perf_counter()
            reply = ways[key](frame, connection)
            if isinstance(reply, Deferred):
                reply.when_done(partial(_took, counts, key, begin))
            else:
                _took(counts, key, begin)
            return reply
        except (CloseConnection, MalformedRequest):
            by_key[key] -= 1
            counts.refused += 1
            raise
        except IndexError:
            if len(frame) > 1:
                raise
            counts.refused += 1
            return handle(frame, connection)  # which refuses it

    return counted


def _took(counts: RequestCounts, key: int, begin: float, _done: Deferred[Sent] | None = None) -> None:
    counts.latencies.setdefault(key, Latencies()).add(time.perf_counter() - begin)
