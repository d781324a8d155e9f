"""End to end: from the moment a record is due until a consumer that waits for it has it, at a steady rate."""

from __future__ import annotations

import select
import socket
import struct
import time
from functools import partial

from tests.bench import load
from tests.bench.stage import Outcome, Row, Stage, both

SECTION = "Latency"
TOPIC = "latency"
ACKS_ALL = -1
MARK = 0x1122334455667788
_LENGTH, _OFFSET = struct.Struct(">i"), struct.Struct(">q")


class Answers:
    """The whole answers among the bytes of one connection."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._rest = b""

    def take(self) -> list[bytes]:
        """Those that are there, without their lengths. Raises ConnectionError at the end."""
        data = self._connection.recv(1 << 18)
        if not data:
            raise ConnectionError("the broker closed the connection")
        self._rest += data
        found = []
        while len(self._rest) >= 4 and len(self._rest) >= 4 + (length := _LENGTH.unpack_from(self._rest)[0]):
            found.append(self._rest[4 : 4 + length])
            self._rest = self._rest[4 + length :]
        return found


class Pace:
    """One producer that never waits for an answer, and one consumer that always has a fetch waiting."""

    def __init__(self, port: int, rate: int) -> None:
        self._producer, self._consumer = (socket.create_connection(("127.0.0.1", port), 60) for _ in range(2))
        for one in (self._producer, self._consumer):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._acks, self._data = Answers(self._producer), Answers(self._consumer)
        self._step = 1 / rate
        self._record = load.produce_frame(TOPIC, range(1), load.batch(100), ACKS_ALL)
        self._fetch = bytearray(load.fetch_frame(TOPIC, MARK, max_bytes=1 << 20, max_wait_ms=500, min_bytes=1))
        self._offset_at = self._fetch.index(_OFFSET.pack(MARK))
        self._due: list[float] = []  # of each record sent, by its offset
        self._read = 0
        self._next = time.perf_counter()
        self._ask()

    def _ask(self) -> None:
        _OFFSET.pack_into(self._fetch, self._offset_at, self._read)
        self._consumer.sendall(self._fetch)

    def until(self, end: float) -> list[float]:
        """Waits in ms of what was read until then, from the moment each was due, so that a stall counts for all it held up."""
        waits: list[float] = []
        while (now := time.perf_counter()) < end:
            while self._next <= now:
                self._due.append(self._next)
                self._producer.sendall(self._record)
                self._next += self._step
            rest = max(min(self._next, end) - time.perf_counter(), 0)
            ready, _, _ = select.select([self._producer, self._consumer], [], [], rest)
            if self._producer in ready:
                self._acks.take()
            if self._consumer in ready:
                for answer in self._data.take():
                    waits += self._took(answer)
        return waits

    def _took(self, answer: bytes) -> list[float]:
        now = time.perf_counter()
        end = load.end_of(bytes(load.fetched(answer).records or b""))
        came = self._due[self._read : end] if end is not None else []
        self._read += len(came)
        self._ask()
        return [(now - due) * 1000 for due in came]

    def close(self) -> None:
        self._producer.close()
        self._consumer.close()


def end_to_end(stage: Stage, rate: int) -> Outcome:
    load.create_topic(stage.server.port, TOPIC)
    pace = Pace(stage.server.port, rate)
    try:
        pace.until(time.perf_counter() + stage.warm_seconds)
        with stage.window():
            waits = pace.until(time.perf_counter() + stage.seconds)
    finally:
        pace.close()
    if not waits:
        raise RuntimeError("no record came")
    waits.sort()
    return Outcome(waits[len(waits) // 2], len(waits), {"p99 ms": waits[len(waits) * 99 // 100], "longest ms": waits[-1]})


ROWS: list[Row] = [
    row
    for rate in (250, 2_000)
    for row in both(
        f"end-to-end-{rate}", f"end to end p50 at {rate:,} messages/s", "ms", partial(end_to_end, rate=rate), per="message", better="less"
    )
]
