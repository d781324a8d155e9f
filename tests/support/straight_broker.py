"""Handlers of Produce and Fetch over real logs, with or without their straight ways."""

from __future__ import annotations

import struct
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

from oncelog.broker.fetching.sessions import FetchSessions
from oncelog.broker.net.dispatch import ApiRegistry
from oncelog.broker.net.error_counts import ErrorCounts
from oncelog.broker.net.requests import RequestHandler
from oncelog.broker.net.told_causes import Causes
from oncelog.coordinator.deferred import Deferred
from oncelog.storage.log.stored_records import StoredRecords

from support.administered import FakeConnection
from support.storage_kit import Kit
from support.whole_broker import WholeBroker


class Broker:
    """Handlers over real logs. Without `straight`, every request goes the ordinary way."""

    def __init__(self, kit: Kit, *, straight: bool = True) -> None:
        self.kit = kit
        self.parts = SimpleNamespace(
            env=kit.env, logs=kit.manager, authorizer=None, turns=None, fetch_sessions=FetchSessions(5, kit.env.random)
        )
        self.parts.errors = ErrorCounts()
        self.parts.causes = Causes()
        self.parts.config = SimpleNamespace(server=SimpleNamespace(fetch_max_bytes=5000))
        self.handler = RequestHandler(self.parts, ApiRegistry())  # type: ignore[arg-type]
        self.straight = straight
        self.taken = 0
        self.connection: Any = FakeConnection()

    def send(self, frame: bytes) -> Any:
        if not self.straight:
            self.handler._straight.clear()
        _count(self)
        return self.handler.handle(memoryview(bytearray(frame)), self.connection)

    def answer(self, frame: bytes) -> bytes:
        """With its length in front."""
        return whole(self.send(frame))


class WholeTwin(WholeBroker):
    """A whole broker that is asked by frames. Without `straight`, every request goes the ordinary way."""

    def __init__(self, topics: dict[str, int], settings: dict[str, str] | None = None, *, straight: bool = True) -> None:
        super().__init__(topics, settings)
        self.handler = RequestHandler(self.context, self.broker.apis)
        self.straight = straight
        self.taken = 0

    def send(self, frame: bytes) -> Any:
        if not self.straight:
            self.handler._straight.clear()
        _count(self)
        return self.run(partial(self.handler.handle, memoryview(bytearray(frame)), cast(Any, self.connection)))

    def answer(self, frame: bytes) -> bytes:
        """With its length in front."""
        reply = self.send(frame)
        if isinstance(reply, Deferred) and not reply.done:
            self.settle()
        return whole(reply)


class _Counted:
    """A straight way, and how often it was taken."""

    def __init__(self, broker: Broker | WholeTwin, way: Any) -> None:
        self.broker = broker
        self.way = way

    def __call__(self, *asked: Any) -> Any:
        answer = self.way(*asked)
        self.broker.taken += answer is not None
        return answer


def _count(broker: Broker | WholeTwin) -> None:
    for kind, (way, tags) in broker.handler._straight.items():
        if not isinstance(way, _Counted):
            broker.handler._straight[kind] = _Counted(broker, way), tags


def whole(answer: Any) -> bytes:
    """The bytes that are sent."""
    if isinstance(answer, Deferred):
        answer = answer.result()
    if isinstance(answer, bytes):
        return answer
    joined = b"".join(piece.read(0, len(piece)) if isinstance(piece, StoredRecords) else bytes(piece) for piece in answer)
    return struct.pack(">i", len(joined)) + joined if joined else b""
