"""The answers of one connection, sent in the order of its requests, as fast as its client takes them.

An answer that is not there yet keeps its place; what comes behind it is computed meanwhile and sent after it. All that is there goes out
in one write. Of a long answer the records are read from the log when they are sent (`answer_stream.py`).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Protocol, cast

from oncelog.broker.net.answer_stream import PIECE_BYTES, TURN_BYTES, AnswerStream, Sent, UnreadAnswers, pack_length
from oncelog.coordinator.deferred import Deferred
from oncelog.protocol.primitives import Buffer

MAX_PENDING_ANSWERS = 512  # requests of one connection in progress, before those behind them wait
JOINED_BYTES = 16 << 10  # answers up to this size are copied into one piece before they are sent


class Owner(Protocol):
    """The connection, as far as its answers need it."""

    def write_on(self) -> None:
        """Go on, in a new turn, with what could not be sent."""

    def send_filled(self) -> None:
        """Answers that were owed are there."""

    def answer_failed(self, error: Exception) -> None:
        """There will be no answer, and none behind it."""


class Arrivals:
    """Lines to which owed answers have come in this turn of the loop: at its end all are sent, by one call for all connections."""

    __slots__ = ("_lines",)

    def __init__(self) -> None:
        self._lines: deque[AnswerLine] = deque()

    def add(self, line: AnswerLine) -> None:
        if not self._lines:
            asyncio.get_running_loop().call_soon(self._send)
        self._lines.append(line)

    def _send(self) -> None:
        lines = self._lines
        try:
            for _ in range(len(lines)):
                lines.popleft().send_arrived()
        finally:  # an error with one line is told by the loop, and the others go on
            if lines:
                asyncio.get_running_loop().call_soon(self._send)


class AnswerLine:
    """`transport` None: not connected. `paused`: the client does not read. `closing`: nothing is added; closed when all is sent."""

    __slots__ = ("_arrivals", "_has_arrived", "_owner", "_ready", "_unread", "closing", "paused", "pending", "stream", "transport")

    def __init__(self, owner: Owner, unread: UnreadAnswers, arrivals: Arrivals) -> None:
        self._owner = owner
        self._arrivals = arrivals
        self._unread = unread
        self._ready: list[Sent] = []  # answers before which nothing is owed, to be sent at the end of this read
        self._has_arrived = False  # is among the arrivals
        self.transport: asyncio.Transport | None = None
        self.pending: deque[Sent | Deferred[Sent]] = deque()  # from the first that is not there yet
        self.stream: AnswerStream | None = None  # the answer that is being sent, if it is a long one
        self.paused = False
        self.closing = False

    @property
    def at_once_bytes(self) -> int:
        """How much of an answer may be read before it is sent: a piece, when it is sent in this turn; nothing, when much waits."""
        if self.paused or self.stream is not None or len(self.pending) > 1:
            return 0
        return PIECE_BYTES if self.pending else self._unread.piece_bytes

    def add(self, answer: Sent) -> None:
        """The next answer; empty: nothing is sent (acks=0)."""
        if self.pending:
            self.pending.append(answer)
        elif answer:
            self._ready.append(answer)
            if type(answer) is not bytes and len(answer) > 2:  # with records: those of all requests of one read could be gigabytes
                self.flush()

    def add_later(self, answer: Deferred[Sent]) -> None:
        """The next one, when it comes."""
        self.pending.append(answer)
        answer.when_done(self._arrived)

    def _arrived(self, answer: Deferred[Sent]) -> None:
        error = answer.error
        if error is not None:
            while self.pending and self.pending.pop() is not answer:
                pass  # what came after it gets no answer either
            self._owner.answer_failed(error)
        elif not self._has_arrived and self.transport is not None:  # sent at the end of this turn: more may come in it
            self._has_arrived = True
            self._arrivals.add(self)

    def send_arrived(self) -> None:
        """The turn is over."""
        self._has_arrived = False
        self._owner.send_filled()

    def flush(self) -> None:
        """Send the answers at the head of the line that are there, in one write; a long one as the client takes it."""
        pending, transport, ready = self.pending, self.transport, self._ready
        if transport is None:
            return
        if len(ready) == 1 and isinstance(only := ready[0], bytes) and not (pending or self.paused or self.stream or self.closing):
            ready.clear()
            transport.write(only)  # nearly always so: one request a read, answered at once
            return
        while not self.paused and self.stream is None:
            while pending:
                first = pending[0]
                if isinstance(first, Deferred):
                    if not first.done:
                        break
                    first = first.result()
                pending.popleft()
                if first:
                    ready.append(first)
            if not ready:
                break
            out: list[Buffer] = []
            size = sent = 0
            for buffers in ready:
                sent += 1
                if isinstance(buffers, bytes):
                    out.append(buffers)
                    size += len(buffers)
                    continue
                length = sum(map(len, buffers))
                out.append(pack_length(length))
                if len(buffers) > 2 and AnswerStream.is_needed(buffers):
                    self.stream = AnswerStream(buffers)
                    break
                size += length
                out += cast("Sequence[Buffer]", buffers)
            del ready[:sent]
            if size <= JOINED_BYTES:
                transport.write(b"".join(out))  # cheaper than gathering many small pieces
            else:
                transport.writelines(out)
            if self.stream is None:
                break
            self.send_stream()
        if self.closing and not (pending or ready or self.stream):
            transport.close()

    def send_stream(self) -> None:
        """Send as much of the long answer as the client takes, and this turn allows."""
        stream, left = self.stream, TURN_BYTES
        while stream is not None and not self.paused and self.transport is not None:
            if left <= 0:
                asyncio.get_running_loop().call_soon(self._owner.write_on)
                return
            try:
                pieces = stream.next_pieces(self._unread.piece_bytes)
            except OSError as error:
                self._owner.answer_failed(error)
                return
            left -= sum(map(len, pieces))
            if stream.done:
                stream = self.stream = None
            self.transport.writelines(pieces)

    def drop(self) -> None:
        """Nobody is left to be answered."""
        self.transport = None
        self.closing = True
        if not (self.pending or self._has_arrived):
            del self._owner  # a cycle less: thousands that end at once would keep the collector busy
        self.pending.clear()
        self._ready.clear()
        self.stream = None
