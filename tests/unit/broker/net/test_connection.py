"""Frames in, answers out: whole, byte by byte, glued together; order, blocking, refusals, pressure. No socket."""

from __future__ import annotations

import asyncio
import gc
import struct

import pytest
from oncelog.broker.auth.sasl import SaslConfig, SaslState
from oncelog.broker.net.answer_line import MAX_PENDING_ANSWERS, AnswerLine
from oncelog.broker.net.connection import Connection
from oncelog.broker.net.request_memory import FREE_BYTES
from support.wire_without_socket import Wire, frames

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
        wire.handler.parked[b"park2"].resolve((b"two",))
        await asyncio.sleep(0)
        assert wire.answers() == []
        wire.handler.parked[b"park1"].resolve((b"one",))
        await asyncio.sleep(0)
        assert wire.answers() == [b"one", b"NOW", b"two", b"END"]

    asyncio.run(scenario())


def test_answers_that_come_with_their_length_stand_in_the_same_line() -> None:
    async def scenario() -> None:
        wire = Wire()
        wire.feed(frames(b"whole1", b"now", b"whole2"))
        assert wire.answers() == [b"WHOLE1", b"NOW", b"WHOLE2"]
        assert wire.transport.writes == 1
        wire.feed(frames(b"park", b"whole3"))
        assert len(wire.answers()) == 3
        wire.handler.parked[b"park"].resolve(frames(b"whole, later"))
        await asyncio.sleep(0)
        assert wire.answers()[3:] == [b"whole, later", b"WHOLE3"]
        assert wire.transport.writes == 2

    asyncio.run(scenario())


def test_a_blocking_request_holds_back_those_behind_it() -> None:
    async def scenario() -> None:
        wire = Wire()
        wire.feed(frames(b"block", b"after", b"bad"))
        assert wire.handler.seen == [b"block"]
        wire.handler.parked[b"block"].resolve((b"done",))
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
        wire.handler.parked[b"park"].resolve((b"first",))
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
        for answer in wire.handler.parked.values():
            answer.resolve((b"x",))
        await asyncio.sleep(0)
        assert len(wire.answers()) == MAX_PENDING_ANSWERS
        assert not wire.transport.reading_paused

    asyncio.run(scenario())


def test_a_lost_connection_drops_what_was_parked() -> None:
    async def scenario() -> None:
        wire = Wire()
        wire.feed(frames(b"park"))
        wire.connection.connection_lost(None)
        wire.handler.parked[b"park"].resolve((b"late",))
        await asyncio.sleep(0)
        assert wire.answers() == []

    asyncio.run(scenario())


def test_a_lost_connection_leaves_nothing_to_the_collector() -> None:
    """Ten thousand that end at once would keep it busy for 40 ms."""
    gc.collect()
    gc.disable()
    try:
        wire = Wire()
        wire.feed(frames(b"a"))
        wire.connection.connection_lost(None)
        del wire
        assert not [one for one in gc.get_objects() if isinstance(one, Connection | AnswerLine)]
    finally:
        gc.enable()


def test_a_frame_behind_a_blocking_request_waits_and_is_the_last_that_is_read() -> None:
    async def scenario() -> None:
        wire = Wire()
        wire.feed(frames(b"block"))
        large = b"z" * 100_000
        wire.feed(frames(large))
        assert wire.transport.reading_paused
        assert wire.listener.request_memory.used >= len(large)
        wire.handler.parked[b"block"].resolve((b"done",))
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
