"""The answers of one connection: their order, how many go out in one write, and what a client's pace does to them."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from oncelog.broker.net.answer_line import JOINED_BYTES, AnswerLine, Arrivals
from oncelog.broker.net.answer_stream import PIECE_BYTES, TURN_BYTES, UnreadAnswers
from oncelog.coordinator.deferred import Deferred
from oncelog.storage.log.stored_records import StoredRecords

pytestmark = pytest.mark.unit


class Transport:
    """Remembers each write, and whether it came in one piece."""

    def __init__(self) -> None:
        self.writes: list[bytes] = []
        self.gathered: list[bool] = []
        self.closed = False

    def write(self, data: bytes) -> None:
        self.writes.append(bytes(data))
        self.gathered.append(False)

    def writelines(self, pieces: Any) -> None:
        self.writes.append(b"".join(bytes(piece) for piece in pieces))
        self.gathered.append(True)

    def close(self) -> None:
        self.closed = True


class Stored(StoredRecords):
    """Records that no file holds."""

    def __init__(self, size: int, *, broken: bool = False) -> None:
        self.size, self.broken = size, broken
        self.reads: list[tuple[int, int]] = []

    def __len__(self) -> int:
        return self.size

    def read(self, start: int, size: int) -> bytes:
        if self.broken:
            raise OSError("disk")
        size = min(size, self.size - start)
        self.reads.append((start, size))
        return b"r" * size


class Place:
    """A line and whoever owns it."""

    def __init__(self, arrivals: Arrivals | None = None) -> None:
        self.line = AnswerLine(self, UnreadAnswers(1), arrivals or Arrivals())
        self.transport = Transport()
        self.line.transport = self.transport  # type: ignore[assignment]
        self.failed: list[Exception] = []
        self.filled = self.written_on = 0
        self.all_sent = asyncio.Event()

    def write_on(self) -> None:
        self.written_on += 1
        self.line.send_stream()
        self.line.flush()
        if self.line.stream is None:
            self.all_sent.set()

    def send_filled(self) -> None:
        self.filled += 1
        self.line.flush()

    def answer_failed(self, error: Exception) -> None:
        self.failed.append(error)


def framed(*texts: bytes) -> bytes:
    return b"".join(struct.pack(">i", len(text)) + text for text in texts)


def scenario(body: Callable[[Place], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(body(Place()))


def test_all_that_is_there_goes_out_in_one_write() -> None:
    place = Place()
    for text in (b"a", b"b", b"c"):
        place.line.add((text,))
    assert place.transport.writes == []
    place.line.flush()
    assert place.transport.writes == [framed(b"a", b"b", b"c")]
    place.line.flush()
    assert len(place.transport.writes) == 1


def test_an_empty_answer_is_none() -> None:
    place = Place()
    place.line.add(())
    place.line.add((b"head", b"body"))
    place.line.flush()
    assert place.transport.writes == [framed(b"headbody")]


def test_one_that_carries_its_length_goes_out_as_it_is() -> None:
    place = Place()
    place.line.add(framed(b"whole"))
    place.line.add((b"parts",))
    place.line.add(framed(b"whole again"))
    place.line.flush()
    assert place.transport.writes == [framed(b"whole", b"parts", b"whole again")]


@pytest.mark.parametrize(("size", "gathered"), [(JOINED_BYTES - 4, False), (JOINED_BYTES, False), (JOINED_BYTES + 1, True)])
def test_short_ones_are_copied_together(size: int, gathered: bool) -> None:
    place = Place()
    place.line.add((b"x" * size,))
    place.line.flush()
    assert (place.transport.gathered, place.transport.writes) == ([gathered], [framed(b"x" * size)])


def test_one_that_is_owed_keeps_its_place() -> None:
    async def body(place: Place) -> None:
        owed: list[Deferred[Any]] = [Deferred(), Deferred()]
        place.line.add((b"first",))
        place.line.add_later(owed[0])
        place.line.add((b"between",))
        place.line.add_later(owed[1])
        place.line.add((b"last",))
        place.line.flush()
        assert place.transport.writes == [framed(b"first")]
        owed[1].resolve((b"second owed",))
        await asyncio.sleep(0)
        assert len(place.transport.writes) == 1
        owed[0].resolve((b"first owed",))
        await asyncio.sleep(0)
        assert place.transport.writes[1:] == [framed(b"first owed", b"between", b"second owed", b"last")]
        assert not place.line.pending

    scenario(body)


def test_those_that_come_in_one_turn_are_looked_at_once() -> None:
    async def body(place: Place) -> None:
        owed: list[Deferred[Any]] = [Deferred() for _ in range(5)]
        for each in owed:
            place.line.add_later(each)
        for each in reversed(owed):
            each.resolve((b"x",))
        assert place.filled == 0
        await asyncio.sleep(0)
        assert (place.filled, place.transport.writes) == (1, [framed(*[b"x"] * 5)])

    scenario(body)


def test_one_that_fails_takes_those_behind_it_along() -> None:
    async def body(place: Place) -> None:
        before, fails = Deferred[Any](), Deferred[Any]()
        place.line.add_later(before)
        place.line.add_later(fails)
        place.line.add((b"behind",))
        fails.fail(ValueError("none"))
        assert [str(error) for error in place.failed] == ["none"]
        before.resolve((b"before",))
        await asyncio.sleep(0)
        assert place.transport.writes == [framed(b"before")]

    scenario(body)


def test_a_client_that_does_not_read_gets_nothing_written() -> None:
    place = Place()
    place.line.paused = True
    place.line.add((b"a",))
    place.line.flush()
    assert place.transport.writes == []
    place.line.paused = False
    place.line.flush()
    assert place.transport.writes == [framed(b"a")]


def test_closing_waits_for_the_last_answer() -> None:
    async def body(place: Place) -> None:
        owed = Deferred[Any]()
        place.line.add((b"a",))
        place.line.add_later(owed)
        place.line.closing = True
        place.line.flush()
        assert not place.transport.closed
        owed.resolve((b"b",))
        await asyncio.sleep(0)
        assert (place.transport.writes, place.transport.closed) == ([framed(b"a"), framed(b"b")], True)

    scenario(body)


def test_dropped_nothing_is_written_any_more() -> None:
    async def body(place: Place) -> None:
        owed = Deferred[Any]()
        place.line.add_later(owed)
        place.line.drop()
        owed.resolve((b"late",))
        await asyncio.sleep(0)
        place.line.flush()
        assert (place.transport.writes, place.line.closing, place.filled) == ([], True, 0)

    scenario(body)


def test_an_error_with_one_line_keeps_no_other_waiting() -> None:
    async def body(place: Place) -> None:
        told: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda _loop, facts: told.append(facts["exception"]))
        arrivals = Arrivals()
        places = [Place(arrivals) for _ in range(3)]
        places[1].send_filled = lambda: 1 // 0  # type: ignore[method-assign]
        for one in places:
            owed = Deferred[Any]()
            one.line.add_later(owed)
            owed.resolve((b"x",))
        for _ in range(2):
            await asyncio.sleep(0)
        assert [one.transport.writes for one in places] == [[framed(b"x")], [], [framed(b"x")]]
        assert isinstance(told[0], ZeroDivisionError)

    scenario(body)


def test_records_are_read_when_they_are_sent() -> None:
    async def body(place: Place) -> None:
        records = Stored(2 * PIECE_BYTES + 10)
        place.line.add((b"head", b"body", records))
        assert place.line.stream is None  # all in this turn
        total = 8 + len(records)
        assert b"".join(place.transport.writes) == struct.pack(">i", total) + b"headbody" + b"r" * len(records)
        assert max(size for _start, size in records.reads) <= PIECE_BYTES
        assert sum(size for _start, size in records.reads) == len(records)

    scenario(body)


def test_a_turn_sends_so_much_of_a_long_one_and_no_more() -> None:
    async def body(place: Place) -> None:
        records = Stored(2 * TURN_BYTES)
        place.line.add((b"head", b"body", records))
        place.line.flush()
        sent = sum(map(len, place.transport.writes))
        assert TURN_BYTES <= sent <= TURN_BYTES + PIECE_BYTES + 100
        place.line.add((b"next",))
        place.line.flush()
        await asyncio.wait_for(place.all_sent.wait(), 20)
        assert place.written_on >= 1
        assert place.transport.writes[-1].endswith(framed(b"next"))

    scenario(body)


def test_records_that_cannot_be_read_fail_the_line() -> None:
    place = Place()
    place.line.add((b"head", b"body", Stored(3 * PIECE_BYTES, broken=True)))
    place.line.flush()
    assert [str(error) for error in place.failed] == ["disk"]


def test_how_much_may_be_read_before_it_is_sent() -> None:
    async def body(place: Place) -> None:
        line = place.line
        assert line.at_once_bytes > 0
        line.add_later(Deferred())
        assert line.at_once_bytes == PIECE_BYTES
        line.add_later(Deferred())
        assert line.at_once_bytes == 0  # much waits
        line.pending.clear()
        line.paused = True
        assert line.at_once_bytes == 0

    scenario(body)
