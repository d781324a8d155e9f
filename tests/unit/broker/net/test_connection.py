"""Frames in, answers out: whole, byte by byte, glued together; order, blocking, refusals, pressure. No socket."""

from __future__ import annotations

import asyncio
import gc
import random
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from oncelog.broker.auth.sasl import SaslConfig, SaslState
from oncelog.broker.net.answer_stream import LONG_PIECE_BYTES, PIECE_BYTES, TURN_BYTES, UnreadAnswers
from oncelog.broker.net.backlog import AT_ONCE, REQUESTS_A_TURN, Backlog
from oncelog.broker.net.connection import MAX_PENDING_ANSWERS, BlockedRequests, Connection
from oncelog.broker.net.dispatch import CloseConnection
from oncelog.broker.net.request_memory import FREE_BYTES, PATIENCE_MS, RequestMemory
from oncelog.storage.env import OsFileSystem
from oncelog.storage.files.descriptors import Descriptors
from oncelog.storage.log.stored_records import StoredRecords


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

    def __init__(self, sasl: SaslState | None = None) -> None:
        self._sasl = sasl
        self.receive_buffer = memoryview(bytearray(256))
        self.request_memory = RequestMemory(1 << 20, lambda: 0.0)
        self.unread = UnreadAnswers(1 << 20)
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
        self.parked: dict[bytes, asyncio.Future[Any]] = {}
        self.failures: list[BaseException] = []
        self.stored: Any = None
        self.clock = self

    def monotonic_ms(self) -> float:
        return 0.0

    def handle(self, frame: memoryview, connection: Connection) -> Any:
        text = bytes(frame)
        self.seen.append(text)
        if text.startswith((b"park", b"block")):
            future = self.parked[text] = asyncio.get_running_loop().create_future()
            return BlockedRequests(future) if text.startswith(b"block") else future
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
        if text.startswith(b"large"):
            return (text, b" with ", b"records")
        return (text[:1].upper(), text[1:].upper())

    def log_failure(self, connection: Connection, error: BaseException) -> None:
        self.failures.append(error)


class Wire:
    """A connection with its fakes."""

    def __init__(self, sasl: SaslState | None = None) -> None:
        self.listener, self.handler, self.transport = Listener(sasl), Handler(), Transport()
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


TEXTS = (b"a", b"x" * 300, b"silent", b"bc", b"y" * 70_000)
ANSWERS = [b"A", b"X" * 300, b"BC", b"Y" * 70_000]


def test_whole_frames_are_answered_in_one_write_a_read() -> None:
    wire = Wire()
    wire.feed(frames(b"a", b"b", b"c"))
    assert wire.answers() == [b"A", b"B", b"C"]
    assert wire.transport.writes == 1


@pytest.mark.parametrize("step", [1, 2, 3, 5, 64, 255, 100_000])
def test_any_cut_of_the_stream_gives_the_same_answers(step: int) -> None:
    wire = Wire()
    data = frames(*TEXTS)
    for start in range(0, len(data), step):
        wire.feed(data[start : start + step])
    assert wire.answers() == ANSWERS
    assert wire.handler.seen == list(TEXTS)


def test_answers_keep_the_order_of_requests() -> None:
    async def scenario() -> None:
        wire = Wire()
        wire.feed(frames(b"park1", b"now", b"park2", b"end"))
        assert wire.answers() == []
        wire.handler.parked[b"park2"].set_result((b"two",))
        await asyncio.sleep(0)
        assert wire.answers() == []
        wire.handler.parked[b"park1"].set_result((b"one",))
        await asyncio.sleep(0)
        assert wire.answers() == [b"one", b"NOW", b"two", b"END"]

    asyncio.run(scenario())


def test_a_blocking_request_holds_back_those_behind_it() -> None:
    async def scenario() -> None:
        wire = Wire()
        wire.feed(frames(b"block", b"after", b"bad"))
        assert wire.handler.seen == [b"block"]
        wire.handler.parked[b"block"].set_result((b"done",))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert wire.answers() == [b"done", b"AFTER"]
        assert wire.transport.closed

    asyncio.run(scenario())


def test_a_bad_request_closes_after_the_answers_owed() -> None:
    async def scenario() -> None:
        wire = Wire()
        wire.feed(frames(b"park", b"a", b"bad", b"never"))
        assert not wire.transport.closed
        wire.handler.parked[b"park"].set_result((b"first",))
        await asyncio.sleep(0)
        assert wire.answers() == [b"first", b"A"]
        assert wire.transport.closed
        assert b"never" not in wire.handler.seen

    asyncio.run(scenario())


@pytest.mark.parametrize("size", [0, -1, -(2**31), (1 << 20) + 1, 2**31 - 1])
def test_sizes_that_cannot_be(size: int) -> None:
    wire = Wire()
    wire.feed(frames(b"a") + struct.pack(">i", size))
    assert wire.answers() == [b"A"]
    assert wire.transport.closed


OTHER_PROTOCOLS = [(b"\x16\x03\x01\x02\x00\x01\x00", "TLS"), (b"GET / HTTP/1.1\r\n", "HTTP"), (b"POST / HT", "HTTP")]


@pytest.mark.parametrize(("head", "told"), OTHER_PROTOCOLS)
def test_other_protocols_are_named(head: bytes, told: str) -> None:
    for step in (1, 100):
        wire = Wire()
        for start in range(0, len(head), step):
            if not wire.transport.closed:
                wire.feed(head[start : start + step])
        assert wire.transport.closed
        assert told in wire.listener.told[0]
        assert len(wire.listener.told) == 1


def test_an_error_of_ours_ends_this_connection_only_and_is_told() -> None:
    wire = Wire()
    wire.feed(frames(b"broken"))
    assert wire.transport.aborted
    assert isinstance(wire.handler.failures[0], RuntimeError)


def test_closing_after_the_answer() -> None:
    wire = Wire()
    wire.feed(frames(b"last", b"more"))
    assert wire.answers() == [b"LAST"]
    assert wire.transport.closed


def test_a_client_that_does_not_read_is_not_read_from() -> None:
    wire = Wire()
    wire.connection.pause_writing()
    assert wire.transport.reading_paused
    wire.connection.resume_writing()
    assert not wire.transport.reading_paused


def test_what_a_client_does_not_take_is_not_read_for_it() -> None:
    """Of many requests that came with one read, those behind the first large answers wait until the client reads; order is kept."""
    wire = Wire()
    wire.transport.full = wire.connection
    wire.feed(frames(b"a", b"large1", b"large2", b"b", b"large3", b"c"))
    assert wire.handler.seen == [b"a", b"large1"]
    assert wire.transport.reading_paused
    for seen in (3, 5, 6, 6):
        wire.connection.resume_writing()
        assert len(wire.handler.seen) == seen
    assert wire.answers() == [b"A", b"large1 with records", b"large2 with records", b"B", b"large3 with records", b"C"]
    wire.transport.full = None
    wire.connection.resume_writing()
    assert not wire.transport.reading_paused
    wire.feed(frames(b"d"))
    assert wire.answers()[-1] == b"D"


def test_too_many_requests_in_progress_pause_reading() -> None:
    async def scenario() -> None:
        wire = Wire()
        for number in range(MAX_PENDING_ANSWERS):
            wire.feed(frames(b"park%d" % number))
        assert wire.transport.reading_paused
        for future in wire.handler.parked.values():
            future.set_result((b"x",))
        await asyncio.sleep(0)
        assert len(wire.answers()) == MAX_PENDING_ANSWERS
        assert not wire.transport.reading_paused

    asyncio.run(scenario())


def test_a_lost_connection_drops_what_was_parked() -> None:
    async def scenario() -> None:
        wire = Wire()
        wire.feed(frames(b"park"))
        wire.connection.connection_lost(None)
        wire.handler.parked[b"park"].set_result((b"late",))
        await asyncio.sleep(0)
        assert wire.answers() == []

    asyncio.run(scenario())


def test_a_frame_behind_a_blocking_request_waits_and_is_the_last_that_is_read() -> None:
    async def scenario() -> None:
        wire = Wire()
        wire.feed(frames(b"block"))
        large = b"z" * 100_000
        wire.feed(frames(large))
        assert wire.transport.reading_paused
        assert wire.listener.request_memory.used >= len(large)
        wire.handler.parked[b"block"].set_result((b"done",))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert wire.answers() == [b"done", large.upper()]
        assert not wire.transport.reading_paused
        gc.collect()
        assert wire.listener.request_memory.used == 0

    asyncio.run(scenario())


def test_an_announced_length_is_given_no_memory() -> None:
    wire = Wire()
    wire.feed(struct.pack(">i", 1 << 20))
    assert len(wire.connection.get_buffer(-1)) <= FREE_BYTES
    wire.feed(b"x" * (FREE_BYTES + 1))
    assert wire.listener.request_memory.used < 10 * FREE_BYTES
    wire.connection.connection_lost(None)
    assert wire.listener.request_memory.used == 0


def test_without_memory_a_connection_is_not_read_until_there_is_some() -> None:
    async def scenario() -> None:
        wire, other = Wire(), Wire()
        other.listener.request_memory = wire.listener.request_memory
        other.connection._listener = other.listener  # type: ignore[assignment]
        wire.feed(struct.pack(">i", 1 << 20) + b"x" * 700_000)
        other.feed(struct.pack(">i", 1 << 20) + b"y" * (FREE_BYTES - 4))
        assert other.transport.reading_paused
        assert not wire.transport.reading_paused
        wire.feed(b"x" * ((1 << 20) - 700_000))
        await asyncio.sleep(0)
        assert not other.transport.reading_paused
        other.feed(b"y" * ((1 << 20) - FREE_BYTES + 4))
        assert other.answers() == [b"Y" * (1 << 20)]

    asyncio.run(scenario())


def test_before_authentication_requests_are_short() -> None:
    """sasl.server.max.receive.size, also in the read in which the client authenticates."""
    for size, closed in ((1000, False), (1001, True)):
        wire = Wire(SaslState(SaslConfig(("PLAIN",), {}, None, max_receive_bytes=1000)))  # type: ignore[arg-type]
        wire.feed(struct.pack(">i", size))
        assert wire.transport.closed is closed
    wire = Wire(SaslState(SaslConfig(("PLAIN",), {}, None, max_receive_bytes=1000)))  # type: ignore[arg-type]
    wire.feed(frames(b"login", b"l" * 2000))
    assert not wire.transport.closed
    assert wire.answers() == [b"LOGIN", b"L" * 2000]


@pytest.fixture
def stored(tmp_path: Path) -> StoredRecords:
    path = tmp_path / "records"
    path.write_bytes(random.Random(1).randbytes(4 << 20))
    return StoredRecords(Descriptors(OsFileSystem(), 10), str(path), 1000, 3 << 20)


def test_a_long_answer_is_read_as_the_client_takes_it(stored: StoredRecords) -> None:
    """One piece each time, in order with the answers around it; what the client asks meanwhile waits."""
    wire, unread = Wire(), Wire()
    unread.listener.unread = wire.listener.unread = UnreadAnswers(500)
    unread.connection.pause_writing()
    wire.handler.stored = stored
    wire.transport.full = wire.connection
    wire.feed(frames(b"stored1", b"a", b"stored2", b"b"))
    taken = 0
    while len(wire.transport.written) > taken:
        assert len(wire.transport.written) - taken <= PIECE_BYTES + 100
        taken = len(wire.transport.written)
        wire.connection.resume_writing()
    records = stored.read(0, len(stored))
    assert wire.answers() == [b"stored1 with " + records, b"A", b"stored2 with " + records, b"B"]
    wire.transport.full = None
    wire.feed(frames(b"c"))
    assert wire.answers()[-1] == b"C"
    assert not wire.transport.reading_paused


def test_a_client_that_takes_all_leaves_room_for_others(stored: StoredRecords) -> None:
    async def scenario() -> None:
        wire = Wire()
        wire.handler.stored = stored
        wire.feed(frames(b"stored", b"a", b"stored", b"b"))
        assert TURN_BYTES <= len(wire.transport.written) < TURN_BYTES + LONG_PIECE_BYTES
        for _ in range(20):
            await asyncio.sleep(0)
        assert [len(answer) for answer in wire.answers()] == [len(stored) + 12, 1, len(stored) + 12, 1]

    asyncio.run(scenario())


def test_many_long_answers_at_once_go_out_in_order(tmp_path: Path) -> None:
    async def scenario() -> None:
        path = tmp_path / "records"
        path.write_bytes(b"r" * 100)
        wire = Wire()
        wire.listener.receive_buffer = memoryview(bytearray(1 << 16))
        wire.handler.stored = StoredRecords(Descriptors(OsFileSystem(), 10), str(path), 0, 100)
        wire.transport.full = wire.connection
        wire.feed(frames(*[b"stored%d" % number for number in range(MAX_PENDING_ANSWERS * 2)]))
        wire.transport.full = None
        wire.connection.resume_writing()
        await turns(MAX_PENDING_ANSWERS * 2)
        assert wire.answers() == [b"stored%d with " % number + b"r" * 100 for number in range(MAX_PENDING_ANSWERS * 2)]

    asyncio.run(scenario())


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def test_what_waits_behind_an_unread_answer_is_not_even_split() -> None:
    """What is wrong with it is found when its turn comes, behind the answers owed."""
    wire = Wire()
    wire.transport.full = wire.connection
    wire.feed(frames(b"large", b"a") + struct.pack(">i", -1) + frames(b"never"))
    assert not wire.transport.closed
    assert wire.listener.request_memory.used == 0  # few bytes are not counted
    wire.transport.full = None
    wire.connection.resume_writing()
    assert wire.answers() == [b"large with records", b"A"]
    assert wire.transport.closed


def test_a_crowd_of_requests_is_handled_in_several_turns() -> None:
    """No connection beyond its first few, all together no more than a turn may; in order, and nobody is left out."""

    async def scenario() -> None:
        wires = [Wire() for _ in range(10)]
        for wire in wires:
            wire.listener.receive_buffer = memoryview(bytearray(1 << 16))
            wire.listener.backlog = wires[0].listener.backlog
            wire.feed(frames(*[b"r%d" % number for number in range(1000)]))
        handled = sum(len(wire.handler.seen) for wire in wires)
        assert handled == REQUESTS_A_TURN + AT_ONCE * len(wires)
        assert wires[-1].transport.reading_paused
        quiet = Wire()
        quiet.listener.backlog = wires[0].listener.backlog
        quiet.feed(frames(b"one"))
        assert quiet.answers() == [b"ONE"]
        while handled < 1000 * len(wires):
            await asyncio.sleep(0)
            now = sum(len(wire.handler.seen) for wire in wires)
            assert handled < now <= handled + REQUESTS_A_TURN + AT_ONCE
            handled = now
        for wire in wires:
            assert wire.answers() == [b"R%d" % number for number in range(1000)]
            assert not wire.transport.reading_paused

    asyncio.run(scenario())


def test_requests_that_wait_for_their_own_client_give_way() -> None:
    """They are counted, and given up when others have no memory for long."""
    now = 0.0
    memory = RequestMemory(10_000, lambda: now)
    wire, other = Wire(), Wire()
    for one in (wire, other):
        one.listener.request_memory = memory
        one.listener.receive_buffer = memoryview(bytearray(1 << 16))
    wire.transport.full = wire.connection

    async def scenario() -> None:
        nonlocal now
        wire.feed(frames(b"large", *[b"x" * 100] * 90))
        assert memory.used > 9000
        other.feed(struct.pack(">i", 9_000) + b"y" * 4996)
        assert other.transport.reading_paused
        now = PATIENCE_MS + 1
        memory.tick()
        assert wire.transport.aborted
        wire.connection.connection_lost(None)
        gc.collect()
        await turns(2)
        assert not other.transport.reading_paused

    asyncio.run(scenario())


def test_requests_behind_too_many_in_progress_wait() -> None:
    async def scenario() -> None:
        wire = Wire()
        wire.listener.receive_buffer = memoryview(bytearray(1 << 16))
        wire.feed(frames(*[b"park%d" % number for number in range(2 * MAX_PENDING_ANSWERS)]))
        await turns(10)
        assert len(wire.handler.seen) == MAX_PENDING_ANSWERS
        for first in (0, MAX_PENDING_ANSWERS):
            for number in range(first, first + MAX_PENDING_ANSWERS):
                wire.handler.parked[b"park%d" % number].set_result((b"%d" % number,))
            await turns(10)
        assert wire.answers() == [b"%d" % number for number in range(2 * MAX_PENDING_ANSWERS)]

    asyncio.run(scenario())


def test_records_that_cannot_be_read_end_the_connection(stored: StoredRecords, tmp_path: Path) -> None:
    """Its length has been promised."""
    wire = Wire()
    wire.handler.stored = stored
    wire.transport.full = wire.connection
    wire.feed(frames(b"stored"))
    (tmp_path / "records").write_bytes(b"")
    wire.connection.resume_writing()
    assert wire.transport.aborted
    assert isinstance(wire.handler.failures[0], OSError)


def test_the_answers_that_are_unread_for_longest_give_way() -> None:
    unread = UnreadAnswers(250)
    wires = [Wire() for _ in range(4)]
    for wire in wires:
        wire.listener.unread = unread
    for wire in wires[:2]:
        wire.connection.pause_writing()
    wires[0].connection.resume_writing()
    wires[0].connection.pause_writing()
    wires[2].connection.pause_writing()
    assert [wire.transport.aborted for wire in wires] == [False, True, False, False]
    wires[0].connection.connection_lost(None)
    wires[3].connection.pause_writing()
    assert not wires[2].transport.aborted
    assert unread.total == 200
