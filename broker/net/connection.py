"""One client connection: frames in, answers out in the order of the requests (`answer_line.py`), and pressure back on who does not read.

All connections of a server share one receive buffer. A frame is handled where it was received; only the beginning of an incomplete
frame is copied, into a buffer that grows with it (`request_memory.py`). The frames of one read are handled before one write. Those that
must wait (behind a blocking request, for a client that reads, for another turn when there are many) are kept as they came, unread.

A handler answers with buffers at once or with a `Deferred`. A request that must not be overtaken (`Deferred.holds`) holds back the
requests behind it as Apache Kafka's muted channel does.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol, cast

from oncelog.broker.auth.mechanisms import ANONYMOUS
from oncelog.broker.net import refusals
from oncelog.broker.net.answer_line import MAX_PENDING_ANSWERS, AnswerLine, Arrivals
from oncelog.broker.net.answer_stream import Sent, UnreadAnswers
from oncelog.broker.net.backlog import AT_ONCE, Backlog
from oncelog.broker.net.dispatch import CloseConnection
from oncelog.broker.net.other_protocols import check_protocol
from oncelog.broker.net.request_memory import FREE_BYTES, IncompleteRequest, KeptRequests, RequestMemory
from oncelog.coordinator.deferred import Deferred, Reply
from oncelog.protocol.framing import LENGTH_BYTES, frame_length
from oncelog.protocol.primitives import MalformedRequest
from oncelog.storage.env import Clock

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from oncelog.broker.auth.sasl import SaslState


class Shared(Protocol):
    """What the connections of a listener share, and whom they tell of their life (`listener.py`)."""

    name: str
    max_frame_bytes: int
    receive_buffer: memoryview
    request_memory: RequestMemory
    unread: UnreadAnswers
    arrivals: Arrivals
    backlog: Backlog

    def opened(self, connection: Connection) -> None: ...

    def closed(self, connection: Connection) -> None: ...

    def closed_later(self, transport: asyncio.Transport | None) -> bool: ...

    def new_sasl_state(self) -> SaslState | None: ...

    def principal_of(self, certificate: Mapping[str, Any]) -> str: ...

    def log_once(self, host: str, text: str) -> None: ...


class Handles(Protocol):
    """Who answers frames (`requests.py`)."""

    clock: Clock

    def handle(self, frame: memoryview, connection: Connection) -> Reply[Sent]: ...

    def log_failure(self, connection: Connection, error: BaseException) -> None: ...


class Connection(asyncio.BufferedProtocol):
    """Made by the server for each accepted socket."""

    __slots__ = (
        "_answers",
        "_blocked",
        "_closing",
        "_handler",
        "_in_backlog",
        "_incomplete",
        "_kept",
        "_last_read_ms",
        "_listener",
        "_max_frame_bytes",
        "_reading_paused",
        "_seen_frames",
        "_transport",
        "client_host",
        "client_name",
        "local_address",
        "lost_listeners",
        "principal",
        "sasl",
    )

    def __init__(self, listener: Shared, handler: Handles) -> None:
        self._listener = listener
        self._handler = handler
        self._transport: asyncio.Transport | None = None
        self._incomplete: IncompleteRequest | None = None  # of the length of a prefix while the frame's is unknown
        self._answers = AnswerLine(self, listener.unread, listener.arrivals)
        self._kept: KeptRequests | None = None  # behind a blocking request, or of a client that does not read
        self._in_backlog = False
        self._blocked = self._reading_paused = False
        self._closing = self._seen_frames = False
        self._last_read_ms = 0.0
        self.principal = ANONYMOUS
        self.client_host = ""
        self.client_name = ""
        self.local_address: tuple[str, int] = ("", 0)
        self.lost_listeners: tuple[Callable[[object], None], ...] = ()  # told when it has ended
        self.sasl: SaslState | None = listener.new_sasl_state()
        self._max_frame_bytes = listener.max_frame_bytes if self.sasl is None else self.sasl.max_receive_bytes

    # -- asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = self._answers.transport = cast("asyncio.Transport", transport)  # uvloop's is one in all but type
        peer = transport.get_extra_info("peername") or ("", 0)
        local = transport.get_extra_info("sockname") or ("", 0)
        self.client_host, self.local_address = peer[0], (local[0], local[1])
        self.client_name = f"{peer[0]}:{peer[1]}"
        self._last_read_ms = self._handler.clock.monotonic_ms()
        certificate = transport.get_extra_info("peercert")
        if certificate:
            self.principal = self._listener.principal_of(certificate)
        self._listener.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._closing, self._transport = True, None
        self._answers.drop()
        self._listener.unread.ended(self)
        self._drop_requests()
        self._listener.closed(self)
        for listener in self.lost_listeners:
            listener(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        if self._incomplete is not None:
            return self._incomplete.room()
        return self._listener.receive_buffer if not self._listener.request_memory.scarce else self._listener.receive_buffer[:FREE_BYTES]

    def buffer_updated(self, nbytes: int) -> None:
        self._last_read_ms = self._handler.clock.monotonic_ms()
        try:
            if self._incomplete is None:
                if not self._seen_frames and nbytes >= LENGTH_BYTES:
                    self._seen_frames = True
                    check_protocol(bytes(self._listener.receive_buffer[:LENGTH_BYTES]), self._listener.name)
                self._received(self._listener.receive_buffer, nbytes)
            else:
                self._received_more(self._incomplete, nbytes)
        except (CloseConnection, MalformedRequest) as refused:
            self._refuse(str(refused))
        self.flush()

    def eof_received(self) -> bool:
        return self._listener.closed_later(self._transport)

    def pause_writing(self) -> None:
        self._answers.paused = True
        self._update_reading()
        if self._transport is not None:
            self._listener.unread.stopped(self, self._transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        self._answers.paused = False
        self._listener.unread.ended(self)
        self._last_read_ms = self._handler.clock.monotonic_ms()
        self.write_on()

    def unread_too_long(self) -> None:
        self._listener.log_once(
            self.client_host, "closing a connection: too much is held for clients that do not read, for this one longest"
        )
        self.abort()

    # -- frames

    def _received(self, data: memoryview, end: int) -> None:
        """Handle the whole frames in `data` up to `end` and keep what is left: for later, or as the beginning of a request."""
        start, needed, count = 0, LENGTH_BYTES, 0
        while end - start >= LENGTH_BYTES and not self._closing:
            needed = LENGTH_BYTES + frame_length(data, start, self._max_frame_bytes)
            if start + needed > end:
                break
            count += 1
            if self._must_wait() or (count > AT_ONCE and self._is_put_off()):
                self._keep(data, start, end)
                return
            self._handle(data[start + LENGTH_BYTES : start + needed])
            start, needed = start + needed, LENGTH_BYTES
        if self._kept is not None:
            self._kept.drop()
            self._kept = None
        if start < end and not self._closing:
            self._incomplete = IncompleteRequest(self._listener.request_memory, self, data[start:end], needed)
            self._update_reading()

    def _keep(self, data: memoryview, start: int, end: int) -> None:
        if self._kept is None:
            self._kept = KeptRequests(self._listener.request_memory, self, data[start:end])
        else:
            self._kept.rest = data[start:end]
        self._update_reading()

    def _must_wait(self) -> bool:
        """Is there something that the next request must not overtake, or nobody who takes its answer?"""
        answers = self._answers
        return self._blocked or answers.paused or answers.stream is not None or len(answers.pending) >= MAX_PENDING_ANSWERS

    def _is_put_off(self) -> bool:
        if self._listener.backlog.takes_another():
            return False
        if not self._in_backlog:
            self._wait_in_backlog()
        return True

    def _wait_in_backlog(self) -> None:
        self._in_backlog = True
        self._listener.backlog.wait(self.go_on)

    def go_on(self) -> None:
        """Its turn in the backlog has come."""
        self._in_backlog = False
        self._handle_waiting()

    def _received_more(self, incomplete: IncompleteRequest, nbytes: int) -> None:
        """Bytes of a length prefix, or of a frame."""
        incomplete.add(nbytes)
        if not incomplete.whole:
            if incomplete.waits:
                self._update_reading()
        elif incomplete.length == LENGTH_BYTES:
            if not self._seen_frames:
                self._seen_frames = True
                check_protocol(bytes(incomplete.buffer[:LENGTH_BYTES]), self._listener.name)
            incomplete.has_length(LENGTH_BYTES + frame_length(memoryview(incomplete.buffer), 0, self._max_frame_bytes))
        elif self._must_wait():
            self._update_reading()
        else:
            self._incomplete = None
            self._handle(incomplete.finish())

    def _drop_requests(self) -> None:
        if self._incomplete is not None:
            self._incomplete.drop()
            self._incomplete = None
        if self._kept is not None:
            self._kept.drop()
            self._kept = None

    def memory_granted(self) -> None:
        self._update_reading()

    def request_too_slow(self) -> None:
        self._listener.log_once(self.client_host, "closing a connection: memory for requests is used up, and this one takes long")
        self.abort()
        self._drop_requests()

    def _handle(self, frame: memoryview) -> None:
        try:
            answer = self._handler.handle(frame, self)
        except (CloseConnection, MalformedRequest):
            raise
        except Exception as error:  # the boundary: an error of ours is told in full, and ends this connection only
            self._handler.log_failure(self, error)
            self.abort()
            return
        if isinstance(answer, Deferred):
            self._wait_for(answer)
        else:
            self._answers.add(answer)

    def _wait_for(self, answer: Deferred[Sent]) -> None:
        holds = answer.holds
        if holds is not None and not holds.done:
            self._blocked = True
            holds.when_done(self._unblock)
        self._answers.add_later(answer)
        self._update_reading()

    def _unblock(self, _done: Deferred[Any]) -> None:
        self._blocked = False
        asyncio.get_running_loop().call_soon(self._handle_waiting)

    def _handle_waiting(self) -> None:
        self._handle_kept()
        self.flush()

    def _handle_kept(self) -> None:
        """What could not be handled when it came."""
        incomplete = self._incomplete
        try:
            if self._kept is not None:
                if not self._in_backlog:
                    self._received(self._kept.rest, len(self._kept.rest))
            elif incomplete is not None and incomplete.whole and not (self._must_wait() or self._closing):
                self._incomplete = None
                self._handle(incomplete.finish())
        except (CloseConnection, MalformedRequest) as refused:
            self._refuse(str(refused))
        self._update_reading()

    # -- answers

    def answer_failed(self, error: Exception) -> None:
        """There will be no answer: the client asked for what closes a connection, or the error is ours and told in full."""
        if isinstance(error, CloseConnection):
            if self._transport is not None:
                self._refuse(str(error))
        else:
            self._handler.log_failure(self, error)
            self.abort()

    def flush(self) -> None:
        """Send what is there."""
        self._answers.flush()
        if self._reading_paused:
            self._update_reading()

    def write_on(self) -> None:
        """Send what could not be sent before, then look at the requests that had to wait for it."""
        self._answers.send_stream()
        self.flush()
        self._handle_kept()
        self.flush()

    def send_filled(self) -> None:
        """As `flush`, and there may be room for more requests in progress now."""
        self.flush()
        if self._kept is not None and not (self._in_backlog or self._must_wait()):
            self._wait_in_backlog()

    def is_next(self, answer: Deferred[Any]) -> bool | None:
        """Has everything that was owed before `answer` gone to the transport? None: its client is gone."""
        self.flush()
        pending = self._answers.pending
        return None if self._transport is None else bool(pending) and pending[0] is answer

    def close_after_response(self) -> None:
        """Send what is owed, then close; later requests are ignored."""
        self._closing = self._answers.closing = True

    def _refuse(self, why: str) -> None:
        """Close without an answer to the request at fault, but after the answers owed before it; one log line a peer and reason."""
        self._listener.log_once(self.client_host, f"closing a connection: {why}")
        self.close_after_response()
        self.flush()

    def turned_away(self, what: str, **facts: object) -> None:
        """Log a refusal, at most one line a peer and reason in a while."""
        refusals.tell(what, self.client_host, listener=self._listener.name, **facts)

    def abort(self) -> None:
        """Close at once."""
        self._closing = True
        if self._transport is not None:
            self._transport.abort()

    def _update_reading(self) -> None:
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        full = (
            self._answers.paused
            or self._kept is not None
            or len(self._answers.pending) >= MAX_PENDING_ANSWERS
            or (self._incomplete is not None and (self._incomplete.waits or self._incomplete.whole))
        )
        if full and not self._reading_paused:
            self._reading_paused = True
            transport.pause_reading()
        elif not full and self._reading_paused:
            self._reading_paused = False
            transport.resume_reading()

    # -- what handlers and the server ask

    @property
    def transport(self) -> asyncio.Transport:
        """The transport of an open connection."""
        assert self._transport is not None
        return self._transport

    def authenticated(self, principal: str) -> None:
        """The client is `principal` from now on, and may send requests of any length that is allowed here."""
        self.principal = principal
        self._max_frame_bytes = self._listener.max_frame_bytes

    @property
    def at_once_bytes(self) -> int:
        """How much of an answer may be read before it is sent: a piece, when it is sent in this turn; nothing, when much waits."""
        return self._answers.at_once_bytes

    @property
    def listener_name(self) -> str:
        return self._listener.name

    def idle_since(self) -> float | None:
        """Monotonic ms of the last read; None while answers are owed."""
        return None if self._answers.pending else self._last_read_ms
