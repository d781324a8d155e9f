"""One client connection: frames in, answers out in the order of the requests, and pressure back on a client that does not read.

All connections of a server share one receive buffer. A frame is handled where it was received; only the beginning of an incomplete
frame is copied, into a buffer that grows with it (`request_memory.py`). The frames of one read are handled before one write. Those that
must wait (behind a blocking request, for a client that reads, for another turn when there are many) are kept as they came, unread.

A handler answers with buffers at once or with a future; a future parks its own slot and what comes behind it is computed meanwhile but
sent after it. A request that must not be overtaken (`blocking`) holds back the requests behind it as Apache Kafka's muted channel does.
"""

from __future__ import annotations

import asyncio
import struct
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from oncelog.broker.auth.mechanisms import ANONYMOUS
from oncelog.broker.net import refusals
from oncelog.broker.net.answer_stream import PIECE_BYTES, TURN_BYTES, Answer, AnswerStream
from oncelog.broker.net.backlog import AT_ONCE
from oncelog.broker.net.dispatch import CloseConnection
from oncelog.broker.net.request_memory import FREE_BYTES, IncompleteRequest, KeptRequests
from oncelog.protocol.framing import LENGTH_BYTES, frame_length
from oncelog.protocol.primitives import Buffer, MalformedRequest

if TYPE_CHECKING:
    from oncelog.broker.auth.sasl import SaslState
    from oncelog.broker.net.listener import Listener
    from oncelog.broker.net.requests import RequestHandler

_pack_length = struct.Struct(">i").pack

MAX_PENDING_ANSWERS = 512  # requests of one connection in progress, before its socket is left unread
JOINED_BYTES = 16 << 10  # answers up to this size are copied into one piece before they are sent
_TLS_HELLO = b"\x16\x03"
_HTTP_METHODS = (b"GET ", b"POST", b"HEAD", b"PUT ", b"OPTI", b"DELE", b"PRI ")


class Slot:
    """The place of one answer in the order of requests. `buffers` None: not there yet; empty: nothing is sent (acks=0).

    A raw handler may return one that it fills later: it costs less than a future, and all slots filled in a turn are sent together.
    `head` is put before the buffers.
    """

    __slots__ = ("buffers", "connection", "head")

    def __init__(self, buffers: Answer | None = None) -> None:
        self.buffers = buffers
        self.connection: Connection | None = None
        self.head = b""

    def fill(self, body: Answer) -> None:
        """The answer is there; called on the loop's thread."""
        self.buffers = (self.head, *body)
        if self.connection is not None:
            self.connection.flush_soon()


class BlockedRequests:
    """A future handler answer that holds back the requests behind it on the same connection, all the time or `until` something is done."""

    __slots__ = ("future", "until")

    def __init__(self, future: asyncio.Future[Any], until: asyncio.Future[None] | None = None) -> None:
        self.future = future
        self.until = until


class Connection(asyncio.BufferedProtocol):
    """Made by the server for each accepted socket."""

    __slots__ = (
        "_blocked",
        "_closing",
        "_flush_scheduled",
        "_handler",
        "_in_backlog",
        "_incomplete",
        "_kept",
        "_last_read_ms",
        "_listener",
        "_max_frame_bytes",
        "_paused",
        "_reading_paused",
        "_ready",
        "_seen_frames",
        "_slots",
        "_stream",
        "_transport",
        "client_host",
        "client_name",
        "local_address",
        "principal",
        "sasl",
    )

    def __init__(self, listener: Listener, handler: RequestHandler) -> None:
        self._listener = listener
        self._handler = handler
        self._transport: asyncio.Transport | None = None
        self._incomplete: IncompleteRequest | None = None  # of the length of a prefix while the frame's is unknown
        self._slots: deque[Slot] = deque()
        self._ready: list[Answer] = []  # answers before which nothing is owed, to be sent at the end of this read
        self._stream: AnswerStream | None = None  # the answer that is being sent, if it is a long one
        self._flush_scheduled = False
        self._kept: KeptRequests | None = None  # behind a blocking request, or of a client that does not read
        self._in_backlog = False
        self._blocked = False
        self._paused = False  # the client does not read
        self._reading_paused = False
        self._closing = False
        self._seen_frames = False
        self._last_read_ms = 0.0
        self.principal = ANONYMOUS
        self.client_host = ""
        self.client_name = ""
        self.local_address: tuple[str, int] = ("", 0)
        self.sasl: SaslState | None = listener.new_sasl_state()
        self._max_frame_bytes = listener.max_frame_bytes if self.sasl is None else self.sasl.max_receive_bytes

    # -- asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one in all but type
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
        self._closing = True
        self._transport = None
        self._slots.clear()
        self._ready.clear()
        self._stream = None
        self._listener.unread.ended(self)
        self._drop_requests()
        self._listener.closed(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        if self._incomplete is not None:
            return self._incomplete.room()
        return self._listener.receive_buffer if not self._listener.request_memory.scarce else self._listener.receive_buffer[:FREE_BYTES]

    def buffer_updated(self, nbytes: int) -> None:
        self._last_read_ms = self._handler.clock.monotonic_ms()
        try:
            if self._incomplete is None:
                if not self._seen_frames and nbytes >= LENGTH_BYTES:
                    self._check_protocol(bytes(self._listener.receive_buffer[:LENGTH_BYTES]))
                self._received(self._listener.receive_buffer, nbytes)
            else:
                self._received_more(self._incomplete, nbytes)
        except (CloseConnection, MalformedRequest) as refused:
            self._refuse(str(refused))
        self.flush()

    def eof_received(self) -> bool:
        return False

    def pause_writing(self) -> None:
        self._paused = True
        self._update_reading()
        if self._transport is not None:
            self._listener.unread.stopped(self, self._transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        self._paused = False
        self._listener.unread.ended(self)
        self._last_read_ms = self._handler.clock.monotonic_ms()
        self._write_on()

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
            if self._must_wait or (count > AT_ONCE and self._is_put_off()):
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

    @property
    def _must_wait(self) -> bool:
        """Is there something that the next request must not overtake, or nobody who takes its answer?"""
        return self._blocked or self._paused or self._stream is not None or len(self._slots) >= MAX_PENDING_ANSWERS

    def _is_put_off(self) -> bool:
        if self._listener.backlog.takes_another():
            return False
        if not self._in_backlog:
            self._wait_in_backlog()
        return True

    def _wait_in_backlog(self) -> None:
        self._in_backlog = True
        self._listener.backlog.wait(self)

    def go_on(self) -> None:
        """Its turn in the backlog has come."""
        self._in_backlog = False
        self._handle_kept()
        self.flush()

    def _received_more(self, incomplete: IncompleteRequest, nbytes: int) -> None:
        """Bytes of a length prefix, or of a frame."""
        incomplete.add(nbytes)
        if not incomplete.whole:
            if incomplete.waits:
                self._update_reading()
        elif incomplete.length == LENGTH_BYTES:
            if not self._seen_frames:
                self._check_protocol(bytes(incomplete.buffer[:LENGTH_BYTES]))
            incomplete.has_length(LENGTH_BYTES + frame_length(memoryview(incomplete.buffer), 0, self._max_frame_bytes))
        elif self._must_wait:
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

    def _check_protocol(self, head: bytes) -> None:
        self._seen_frames = True
        if head.startswith(_TLS_HELLO):
            raise CloseConnection(f"a TLS hello on listener {self._listener.name}, which does not speak TLS")
        if head in _HTTP_METHODS:
            raise CloseConnection("an HTTP request on a Kafka port")

    def _handle(self, frame: memoryview) -> None:
        try:
            answer = self._handler.handle(frame, self)
        except (CloseConnection, MalformedRequest):
            raise
        except Exception as error:  # the boundary: an error of ours is told in full, and ends this connection only
            self._handler.log_failure(self, error)
            self.abort()
            return
        if isinstance(answer, (list, tuple)):
            if self._slots:
                self._slots.append(Slot(answer))
            elif answer:
                self._ready.append(answer)
                if len(answer) > 2:  # with records: those of all requests of one read could be gigabytes
                    self.flush()
        elif isinstance(answer, Slot):
            answer.connection = self
            self._slots.append(answer)
            self._update_reading()
        else:
            self._park(cast("asyncio.Future[Answer] | BlockedRequests", answer))

    def _park(self, answer: asyncio.Future[Answer] | BlockedRequests) -> None:
        slot = Slot()
        self._slots.append(slot)
        if isinstance(answer, BlockedRequests):
            self._blocked = True
            (answer.until or answer.future).add_done_callback(self._unblock)
            answer = answer.future
        answer.add_done_callback(lambda done: self._arrived(slot, done))
        self._update_reading()

    def _unblock(self, done: asyncio.Future[Any]) -> None:
        self._blocked = False
        self._handle_kept()

    def _handle_kept(self) -> None:
        """What could not be handled when it came."""
        incomplete = self._incomplete
        try:
            if self._kept is not None:
                if not self._in_backlog:
                    self._received(self._kept.rest, len(self._kept.rest))
            elif incomplete is not None and incomplete.whole and not (self._must_wait or self._closing):
                self._incomplete = None
                self._handle(incomplete.finish())
        except (CloseConnection, MalformedRequest) as refused:
            self._refuse(str(refused))
        self._update_reading()

    # -- answers

    def _arrived(self, slot: Slot, done: asyncio.Future[Answer]) -> None:
        if done.cancelled() or self._transport is None:
            if not done.cancelled():
                done.exception()  # nobody is left to be told
            return
        error = done.exception()
        if error is None:
            slot.buffers = done.result()
            self._flush_filled()
        elif isinstance(error, CloseConnection):
            while self._slots and self._slots.pop() is not slot:
                pass  # what came after it gets no answer either
            self._refuse(str(error))
        else:
            self._handler.log_failure(self, error)
            self.abort()

    def flush(self) -> None:
        """Send the answers at the head of the line that are there, in one write; a long one as the client takes it."""
        slots, transport, ready = self._slots, self._transport, self._ready
        if transport is None:
            return
        while not self._paused and self._stream is None:
            while slots and (buffers := slots[0].buffers) is not None:
                slots.popleft()
                if buffers:
                    ready.append(buffers)
            if not ready:
                break
            out: list[Buffer] = []
            size = sent = 0
            for buffers in ready:
                sent += 1
                length = sum(map(len, buffers))
                out.append(_pack_length(length))
                if len(buffers) > 2 and AnswerStream.is_needed(buffers):
                    self._stream = AnswerStream(buffers)
                    break
                size += length
                out += cast("Sequence[Buffer]", buffers)
            del ready[:sent]
            if size <= JOINED_BYTES:
                transport.write(b"".join(out))  # cheaper than gathering many small pieces
            else:
                transport.writelines(out)
            if self._stream is None:
                break
            self._send_stream()
        if self._reading_paused:
            self._update_reading()
        if self._closing and not (slots or ready or self._stream):
            transport.close()

    def _send_stream(self) -> None:
        """Send as much of the long answer as the client takes, and this turn allows."""
        stream, left = self._stream, TURN_BYTES
        while stream is not None and not self._paused and self._transport is not None:
            if left <= 0:
                asyncio.get_running_loop().call_soon(self._write_on)
                return
            try:
                pieces = stream.next_pieces(self._listener.unread.piece_bytes)
            except OSError as error:
                self._handler.log_failure(self, error)
                self.abort()
                return
            left -= sum(map(len, pieces))
            if stream.done:
                stream = self._stream = None
            self._transport.writelines(pieces)

    def _write_on(self) -> None:
        """Send what could not be sent before, then look at the requests that had to wait for it."""
        self._send_stream()
        self.flush()
        self._handle_kept()
        self.flush()

    def flush_soon(self) -> None:
        """At the end of this turn: more slots may be filled in it."""
        if not self._flush_scheduled and self._transport is not None:
            self._flush_scheduled = True
            asyncio.get_running_loop().call_soon(self._flush_late)

    def _flush_late(self) -> None:
        self._flush_scheduled = False
        self._flush_filled()

    def _flush_filled(self) -> None:
        """As `flush`, and there may be room for more requests in progress now."""
        self.flush()
        if self._kept is not None and not (self._in_backlog or self._must_wait):
            self._wait_in_backlog()

    def close_after_response(self) -> None:
        """Send what is owed, then close; later requests are ignored."""
        self._closing = True

    def _refuse(self, why: str) -> None:
        """Close without an answer to the request at fault, but after the answers owed before it; one log line a peer and reason."""
        self._listener.log_once(self.client_host, f"closing a connection: {why}")
        self._closing = True
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
            self._paused
            or self._kept is not None
            or len(self._slots) >= MAX_PENDING_ANSWERS
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
        if self._paused or self._stream is not None or len(self._slots) > 1:
            return 0
        return PIECE_BYTES if self._slots else self._listener.unread.piece_bytes

    @property
    def listener_name(self) -> str:
        return self._listener.name

    def idle_since(self) -> float | None:
        """Monotonic ms of the last read; None while answers are owed."""
        return None if self._slots else self._last_read_ms
