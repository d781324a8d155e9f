"""A connection with fakes for its listener, its handler and its transport. No socket."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Sequence
from typing import Any

from oncelog.broker.answers import holding_back
from oncelog.broker.auth.sasl import SaslState
from oncelog.broker.net.answer_line import Arrivals
from oncelog.broker.net.answer_stream import UnreadAnswers
from oncelog.broker.net.backlog import Backlog
from oncelog.broker.net.connection import Connection
from oncelog.broker.net.dispatch import CloseConnection
from oncelog.broker.net.request_memory import RequestMemory
from oncelog.coordinator.deferred import Deferred


class Transport:
    """Remembers what was written to it."""

    def __init__(self) -> None:
        self.written = b""
        self.writes = 0
        self.full: Connection | None = None  # told to write no more, after every write
        self.closed = self.aborted = self.reading_paused = False

    def write(self, data: bytes) -> None:
        self.writelines([data])

    def writelines(self, buffers: Sequence[bytes]) -> None:
        self.written += b"".join(buffers)
        self.writes += 1
        if self.full is not None:
            self.full.pause_writing()

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.aborted = True

    def get_write_buffer_size(self) -> int:
        return 100

    def is_closing(self) -> bool:
        return self.closed or self.aborted

    def pause_reading(self) -> None:
        self.reading_paused = True

    def resume_reading(self) -> None:
        self.reading_paused = False

    def get_extra_info(self, name: str) -> Any:
        return {"peername": ("1.2.3.4", 5), "sockname": ("127.0.0.1", 9092)}.get(name)


class Listener:
    """The part of a listener that a connection uses."""

    name = "PLAINTEXT"
    max_frame_bytes = 1 << 20

    def __init__(self, sasl: SaslState | None = None, unread: UnreadAnswers | None = None) -> None:
        self._sasl = sasl
        self.receive_buffer = memoryview(bytearray(256))
        self.request_memory = RequestMemory(1 << 20, lambda: 0.0)
        self.unread = unread or UnreadAnswers(1 << 20)
        self.arrivals = Arrivals()
        self.backlog = Backlog()
        self.told: list[str] = []

    def new_sasl_state(self) -> SaslState | None:
        return self._sasl

    def opened(self, connection: Connection) -> None: ...

    def closed(self, connection: Connection) -> None: ...

    def log_once(self, host: str, text: str) -> None:
        self.told.append(text)


class Handler:
    """Answers each frame with itself in capitals; frames of other meaning below."""

    def __init__(self) -> None:
        self.seen: list[bytes] = []
        self.parked: dict[bytes, Deferred[Any]] = {}
        self.failures: list[BaseException] = []
        self.stored: Any = None
        self.clock = self

    def monotonic_ms(self) -> float:
        return 0.0

    def handle(self, frame: memoryview, connection: Connection) -> Any:
        text = bytes(frame)
        self.seen.append(text)
        if text.startswith((b"park", b"block")):
            answer = self.parked[text] = Deferred()
            return holding_back(answer) if text.startswith(b"block") else answer
        if text == b"bad":
            raise CloseConnection("bad request")
        if text == b"broken":
            raise RuntimeError("our fault")
        if text == b"silent":
            return ()
        if text == b"login":
            connection.authenticated("User:alice")
        if text == b"last":
            connection.close_after_response()
        if text.startswith(b"stored"):
            return (text, b" with ", self.stored)
        if text.startswith(b"whole"):
            return frames(text.upper())
        if text.startswith(b"large"):
            return (text, b" with ", b"records")
        return (text[:1].upper(), text[1:].upper())

    def log_failure(self, connection: Connection, error: BaseException) -> None:
        self.failures.append(error)


class Wire:
    """A connection with its fakes."""

    def __init__(self, sasl: SaslState | None = None, unread: UnreadAnswers | None = None) -> None:
        self.listener, self.handler, self.transport = Listener(sasl, unread), Handler(), Transport()
        self.connection = Connection(self.listener, self.handler)  # type: ignore[arg-type]
        self.connection.connection_made(self.transport)  # type: ignore[arg-type]

    def feed(self, data: bytes) -> None:
        """As one read after another, each as large as the buffer offered."""
        first = True
        while data:
            assert first or not self.transport.reading_paused
            first = False
            buffer = self.connection.get_buffer(-1)
            part = data[: len(buffer)]
            buffer[: len(part)] = part
            self.connection.buffer_updated(len(part))
            data = data[len(part) :]

    def answers(self) -> list[bytes]:
        found, data = [], self.transport.written
        while data:
            (size,) = struct.unpack_from(">i", data)
            found.append(data[4 : 4 + size])
            data = data[4 + size :]
        return found


def frames(*texts: bytes) -> bytes:
    return b"".join(struct.pack(">i", len(text)) + text for text in texts)


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)
