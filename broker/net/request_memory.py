"""Memory for requests that have not arrived whole: one bound for all connections together (`queued.max.request.bytes`).

An announced length costs nothing: a buffer is at most eight times as long as what has arrived. The first `FREE_BYTES` of a request are not
counted, so that no crowd keeps out who asks for little. Who finds no room is left unread until there is some, in order of arrival. When
there has been none for `PATIENCE_MS`, requests that have been on their way for longer than that are given up with their connections, the
largest first: a drip may take its time only while nobody needs the memory, and not all can wait for each other. So it is with requests
that are here, but wait because their client does not read.

What a request was given is counted as long as anybody holds its bytes: the connection, a handler that waits, work on another thread.
"""

from __future__ import annotations

import asyncio
import mmap
from collections import deque
from collections.abc import Callable
from typing import Protocol

from oncelog.protocol.framing import LENGTH_BYTES
from oncelog.protocol.primitives import Buffer

FREE_BYTES = 4096
PATIENCE_MS = 5_000
_GROWTH = 4
_MAPPED_FROM = 2 << 20  # the system gives memory to such a buffer page by page as it is filled, and takes it back at once


class Receiver(Protocol):
    """A connection, as far as it waits for memory."""

    def memory_granted(self) -> None:
        """Its incomplete request has room again."""

    def request_too_slow(self) -> None:
        """Its incomplete request is given up."""


class Reservation:
    """A part of the memory, until nobody refers to it any more, on any thread."""

    __slots__ = ("_release", "size")

    def __init__(self, release: Callable[[int], None]) -> None:
        self.size = 0
        self._release = release

    def __del__(self) -> None:
        self._release(self.size)


class HeapBuffer(bytearray):
    """A buffer that holds its reservation."""

    reservation: Reservation | None = None


class MappedBuffer(mmap.mmap):
    """Likewise, for long requests."""

    reservation: Reservation | None = None


class IncompleteRequest:
    """The beginning of a request with its length in front, and room for what comes next. `length`: of prefix and request, in bytes."""

    __slots__ = ("_memory", "_receiver", "_reservation", "_room", "buffer", "filled", "length")

    def __init__(self, memory: RequestMemory, receiver: Receiver, head: Buffer, length: int) -> None:
        self._memory = memory
        self._receiver = receiver
        self._reservation: Reservation | None = None
        self.length = length
        self.filled = len(head)
        wanted = self._next_size() if self.filled > FREE_BYTES else min(length, FREE_BYTES)
        if self.filled > FREE_BYTES:
            self._reservation = memory.new_reservation()
            memory.overdraw(self, self.filled)  # it is there already
            if not memory.reserve(self, wanted - self.filled):
                wanted = self.filled
        self.buffer = self._new_buffer(wanted)
        self.buffer[: self.filled] = head
        self._room = wanted

    @property
    def reserved(self) -> int:
        """Bytes of the memory that are counted for it."""
        return 0 if self._reservation is None else self._reservation.size

    @reserved.setter
    def reserved(self, size: int) -> None:
        assert self._reservation is not None
        self._reservation.size = size

    @property
    def whole(self) -> bool:
        return self.filled == self.length

    @property
    def waits(self) -> bool:
        """For memory."""
        return self.filled == self._room < self.length

    def room(self) -> memoryview:
        """Where the next bytes go."""
        return memoryview(self.buffer)[self.filled : self._room]

    def add(self, count: int) -> None:
        """So many bytes have been put there."""
        self.filled += count
        if self.filled == self._room < self.length:
            if self._reservation is None:
                self._reservation = self._memory.new_reservation()
            wanted = self._next_size()
            if self._memory.reserve(self, wanted - self._reservation.size):
                self.enlarge()

    def has_length(self, length: int) -> None:
        """The prefix is there, which was all that was expected so far."""
        self.length = length
        if length > len(self.buffer):
            self.buffer = self._copied(min(length, FREE_BYTES))
        self._room = min(length, len(self.buffer))

    def granted(self) -> None:
        """It waited, and was given what it waited for."""
        self.enlarge()
        self._receiver.memory_granted()

    def given_up(self) -> None:
        self._receiver.request_too_slow()

    def enlarge(self) -> None:
        """Use what has been reserved."""
        assert self._reservation is not None
        wanted = min(self.length, self._reservation.size)
        if wanted > len(self.buffer):
            self.buffer = self._copied(wanted)
        self._room = wanted

    def finish(self) -> memoryview:
        """The whole request, without its length; the memory is counted until the view is gone."""
        self._memory.ended(self)
        return memoryview(self.buffer)[LENGTH_BYTES : self.length]

    def drop(self) -> None:
        """The connection is gone."""
        self._memory.ended(self)

    def _next_size(self) -> int:
        """Four times what is there; the whole, when only as much again would be missing then."""
        return self.length if self.length <= 2 * _GROWTH * self.filled else _GROWTH * self.filled

    def _copied(self, size: int) -> HeapBuffer | MappedBuffer:
        new = self._new_buffer(size)
        new[: self.filled] = memoryview(self.buffer)[: self.filled]
        return new

    def _new_buffer(self, size: int) -> HeapBuffer | MappedBuffer:
        buffer = HeapBuffer(size) if size <= _MAPPED_FROM else MappedBuffer(-1, self.length)
        buffer.reservation = self._reservation
        return buffer


class KeptRequests:
    """Requests as they came, perhaps with the beginning of another, of a client that must wait: it does not read, or blocks itself."""

    __slots__ = ("_memory", "_receiver", "_reservation", "rest")

    def __init__(self, memory: RequestMemory, receiver: Receiver, data: Buffer) -> None:
        self._memory = memory
        self._receiver = receiver
        self._reservation = memory.new_reservation()
        buffer = HeapBuffer(data)
        buffer.reservation = self._reservation
        self.rest = memoryview(buffer)  # what nobody has looked at yet
        memory.keep(self, len(buffer))

    @property
    def reserved(self) -> int:
        """Bytes of the memory that are counted for it."""
        return self._reservation.size

    @reserved.setter
    def reserved(self, size: int) -> None:
        self._reservation.size = size

    def given_up(self) -> None:
        self._receiver.request_too_slow()

    def drop(self) -> None:
        """All is handled, or the connection is gone."""
        self._memory.ended(self)


class RequestMemory:
    """`limit` in bytes. Used on the loop's thread; only releases may come from others."""

    def __init__(self, limit: int, now_ms: Callable[[], float]) -> None:
        self.limit = limit + LENGTH_BYTES  # the largest request has its length in front
        self._now_ms = now_ms
        self._loop: asyncio.AbstractEventLoop | None = None  # while somebody waits
        self._used = 0
        self._released: deque[int] = deque()
        self._begun: dict[IncompleteRequest | KeptRequests, float] = {}  # those with a reservation, since when
        self._waiting: dict[IncompleteRequest, tuple[int, float]] = {}  # in order of arrival: bytes wanted, since when

    @property
    def used(self) -> int:
        """Bytes reserved now."""
        while self._released:
            self._used -= self._released.popleft()
        return self._used

    @property
    def scarce(self) -> bool:
        """Nobody should be given much to fill before it has asked."""
        return bool(self._waiting) or (self._used >= self.limit and self.used >= self.limit)

    def new_reservation(self) -> Reservation:
        return Reservation(self._release)

    def reserve(self, request: IncompleteRequest, size: int) -> bool:
        """Give `request` that much more; False: it is told when there is room."""
        now = self._now_ms()
        self._begun.setdefault(request, now)
        if self._waiting or self.used + size > self.limit:
            self._waiting[request] = size, now
            self._loop = asyncio.get_running_loop()
            return False
        self.overdraw(request, size)
        return True

    def keep(self, requests: KeptRequests, size: int) -> None:
        """Count what is there already, unless it is little; it is given up like a slow request when others wait too long."""
        if size > FREE_BYTES:
            self._begun[requests] = self._now_ms()
            self.overdraw(requests, size)

    def overdraw(self, request: IncompleteRequest | KeptRequests, size: int) -> None:
        """Count what `request` has in any case."""
        self._used += size
        request.reserved += size

    def ended(self, request: IncompleteRequest | KeptRequests) -> None:
        """It has arrived whole and is looked at, or never will be."""
        begun = self._begun.pop(request, None) is not None
        if begun and isinstance(request, IncompleteRequest) and self._waiting.pop(request, None) is not None:
            self._serve()

    def _release(self, size: int) -> None:
        self._released.append(size)
        if self._waiting and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._serve)

    def _serve(self) -> None:
        while self._waiting:
            request, (size, _since) = next(iter(self._waiting.items()))
            if self.used + size > self.limit:
                return
            del self._waiting[request]
            self._begun[request] = self._now_ms()
            self.overdraw(request, size)
            request.granted()

    def next_deadline_ms(self) -> float | None:
        """When `tick` has something to do, on the clock it was given; None while nobody waits, or waits for nobody who is slow."""
        if not self._waiting:
            return None
        first = next(iter(self._waiting))
        others = [begun for request, begun in self._begun.items() if request is not first]
        if not others:
            return None
        return max(self._waiting[first][1], min(others)) + PATIENCE_MS

    def tick(self) -> None:
        """Make room when there was none for too long."""
        first = next(iter(self._waiting), None)
        late = self._now_ms() - PATIENCE_MS
        while first in self._waiting and self._waiting[first][1] <= late:
            slow = [request for request, begun in self._begun.items() if begun <= late and request is not first]
            if not slow:
                return
            max(slow, key=lambda request: request.reserved).given_up()
            self._serve()
