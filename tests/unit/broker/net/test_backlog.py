"""Crowds of requests: several turns, what waits is counted and gives way."""

from __future__ import annotations

import asyncio
import gc
import struct

from oncelog.broker.net.answer_line import MAX_PENDING_ANSWERS
from oncelog.broker.net.backlog import AT_ONCE, REQUESTS_A_TURN
from oncelog.broker.net.request_memory import PATIENCE_MS, RequestMemory
from support.wire_without_socket import Wire, frames, turns


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
                wire.handler.parked[b"park%d" % number].resolve((b"%d" % number,))
            await turns(10)
        assert wire.answers() == [b"%d" % number for number in range(2 * MAX_PENDING_ANSWERS)]

    asyncio.run(scenario())
