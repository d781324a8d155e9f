"""Long answers go out as the client takes them, and leave room for others."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest
from oncelog.broker.net.answer_line import MAX_PENDING_ANSWERS
from oncelog.broker.net.answer_stream import LONG_PIECE_BYTES, PIECE_BYTES, TURN_BYTES, UnreadAnswers, whole
from oncelog.storage.env import OsFileSystem
from oncelog.storage.files.descriptors import Descriptors
from oncelog.storage.log.stored_records import StoredRecords
from support.wire_without_socket import Wire, frames, turns


@pytest.fixture
def stored(tmp_path: Path) -> StoredRecords:
    path = tmp_path / "records"
    path.write_bytes(random.Random(1).randbytes(4 << 20))
    return StoredRecords(Descriptors(OsFileSystem(), 10), str(path), 1000, 3 << 20)


def test_all_of_an_answer_is_what_a_client_reads_of_it(stored: StoredRecords) -> None:
    records = stored.read(0, len(stored))
    assert whole([b"head", bytearray(b" "), stored]) == (5 + len(records)).to_bytes(4) + b"head " + records
    assert whole(b"\0\0\0\2ok") == b"\0\0\0\2ok"
    assert whole([]) == b""


def test_a_long_answer_is_read_as_the_client_takes_it(stored: StoredRecords) -> None:
    """One piece each time, in order with the answers around it; what the client asks meanwhile waits."""
    held = UnreadAnswers(500)
    wire, unread = Wire(unread=held), Wire(unread=held)
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
