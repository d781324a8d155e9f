"""A whole broker on virtual time and a simulated disk, and clients that speak request bytes to it over a network that fails.

One loop outlives all brokers: clients go on when a broker dies. What a dead broker still has in the loop meets a file system that knows
it no more, and connections whose other end is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import itertools
import random
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from oncelog.broker.lifecycle import Broker
from oncelog.broker.net.connection import Connection
from oncelog.broker.net.connection_quotas import ConnectionQuotas
from oncelog.broker.net.listener import Listener
from oncelog.broker.net.requests import RequestHandler
from oncelog.broker.settings.load import load
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import KafkaError
from oncelog.storage.env import Env
from oncelog.storage.memory_fs import ProcessView

from support.inline import SeededRandom
from support.simfs import Died, SimFileSystem
from support.simloop import SimClock, SimLoop, TimedFlusher
from support.wire import request_frame, response_tags

DATA = Path("/data")
INTERNAL_PARTITIONS = 2
SETTINGS = {
    "transaction.state.log.num.partitions": str(INTERNAL_PARTITIONS),
    "offsets.topic.num.partitions": str(INTERNAL_PARTITIONS),
    "listeners": "PLAINTEXT://sim:9092",
}
TICK_SECONDS = 0.05


def build(kind: Any, fields: Mapping[str, Any]) -> Any:
    """A message of class `kind` from nested dicts and lists; the class of an item is the one that has its fields."""
    values = {}
    for name, value in fields.items():
        if isinstance(value, list) and value and isinstance(value[0], Mapping):
            nested = _nested(kind, frozenset(value[0]))
            value = [build(nested, item) for item in value]
        elif isinstance(value, Mapping):
            value = build(_nested(kind, frozenset(value)), value)
        values[name] = value
    return kind(**values)


@functools.cache
def _request_kind(key: ApiKey) -> Any:
    return getattr(messages, f"{key.schema_name}Request")


@functools.cache
def _nested(kind: Any, fields: frozenset[str]) -> Any:
    return next(c for c in vars(kind).values() if isinstance(c, type) and fields <= c._defaults.keys())  # type: ignore[attr-defined]


class ConnectionLost(ConnectionError):
    """Whether the broker has seen the request, nobody can tell."""


class Wire:
    """One connection: the transport that the broker writes to, and the client's end of it. One request at a time."""

    def __init__(self, loop: SimLoop, listener: Listener, handler: RequestHandler) -> None:
        self._loop = loop
        self._waiting: asyncio.Future[bytes] | None = None
        self._closed = False
        self.connection = Connection(listener, handler)
        self.connection.connection_made(self)  # type: ignore[arg-type]

    def deliver(self, frame: bytes) -> None:
        """To the broker, in a turn of its own."""
        if self._closed:
            return
        data = struct.pack(">i", len(frame)) + frame
        buffer = self.connection.get_buffer(-1)
        buffer[: len(data)] = data
        self.connection.buffer_updated(len(data))

    def answer(self) -> asyncio.Future[bytes]:
        self._waiting = self._loop.create_future()
        if self._closed:
            self._waiting.set_exception(ConnectionLost())
        return self._waiting

    def hang_up(self) -> None:
        """Either end is gone."""
        if self._closed:
            return
        self._closed = True
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(ConnectionLost())
        self._loop.call_soon(self.connection.connection_lost, None)  # the broker hears of it in a turn of its own

    # -- asyncio.Transport, as far as a connection uses it

    def writelines(self, buffers: Any) -> None:
        self.write(b"".join(bytes(buffer) for buffer in buffers))

    def write(self, data: Any) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(bytes(data)[4:])

    def get_extra_info(self, name: str) -> Any:
        return {"peername": ("sim", 1), "sockname": ("sim", 9092)}.get(name)

    def set_write_buffer_limits(self, high: int) -> None:
        """Clients here always read."""

    def pause_reading(self) -> None:
        """One request at a time: never full."""

    resume_reading = pause_reading

    def is_closing(self) -> bool:
        return self._closed

    def close(self) -> None:
        self._loop.call_soon(self.hang_up)

    abort = close


class SimCluster:
    """One disk, one clock, one loop, and the broker of the moment (None while it is down)."""

    def __init__(self, seed: int, settings: Mapping[str, str] | None = None) -> None:
        self.chance = random.Random(seed)
        self.loop = SimLoop()
        self.errors: list[BaseException] = []  # mistakes, not what faults lead to; a test looks at its end
        self.loop.set_exception_handler(self._failed)
        self.clock = SimClock()
        self.clock.attach(self.loop)
        self.fs = SimFileSystem(seed, now_ms=self.clock.time_ms)
        self.config = load({**SETTINGS, **(settings or {})})
        self.lives = itertools.count(seed * 1000)
        self.broker: Broker | None = None
        self.wires: set[Wire] = set()
        self.deaths = 0
        self._listener: Listener | None = None
        self._handler: RequestHandler | None = None
        self._flusher: TimedFlusher | None = None
        self._ticking: asyncio.TimerHandle | None = None

    def _failed(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if error is not None and not isinstance(error, (KafkaError, OSError, Died)):
            self.errors.append(error)

    def start(self) -> None:
        """Recover and serve; raises Died when the start is cut off."""
        env = Env(self.clock, SeededRandom(next(self.lives)), ProcessView(self.fs))  # type: ignore[arg-type]
        flusher = TimedFlusher(self.loop, self.chance)
        broker = Broker(env, DATA, self.config, flusher)
        broker.recover()
        broker.logs.journal.want()
        self._handler = RequestHandler(broker.context, broker.apis)
        limit = self.config.server.max_frame_bytes
        self._listener = Listener(self.config.listeners[0], self._handler, max_frame_bytes=limit, quotas=ConnectionQuotas())
        self.broker = broker
        self._tick()

    def _tick(self) -> None:
        if self.broker is not None:
            self.broker.tick()
            self._ticking = self.loop.call_later(TICK_SECONDS, self._tick)

    def connect(self) -> Wire:
        if self.broker is None or self._listener is None or self._handler is None:
            raise ConnectionLost
        wire = Wire(self.loop, self._listener, self._handler)
        self.wires.add(wire)
        return wire

    def run(self, seconds: float) -> bool:
        """Let time pass; False when the broker died on the way."""
        stop = self.loop.call_later(seconds, self.loop.stop)
        try:
            self.loop.run_forever()
        except Died:
            stop.cancel()
        return not self.fs.dead

    def bury(self, *, power_cut: bool) -> None:
        """The broker is gone; the disk keeps what it must, and perhaps more."""
        self.deaths += 1
        self.fs.dead = True
        if self.broker is not None:
            self.broker.context.sharing.stop()  # a dead process releases nothing
            with contextlib.suppress(Died):  # a pass of the cleaner under way ends here, not when Python collects it
                self.broker.logs.chores.cleaner.close()
        self.broker = None
        if self._ticking is not None:
            self._ticking.cancel()
        if power_cut:
            self.fs.crash()
        else:
            self.fs.kill()
        for wire in tuple(self.wires):
            wire.hang_up()
        self.wires.clear()

    def restart(self) -> None:
        """Start until a start is not cut off."""
        while True:
            try:
                self.start()
            except Died:
                self.bury(power_cut=self.chance.random() < 0.5)
            else:
                return

    def close(self) -> None:
        self.broker = None
        self.loop.abandon()


class SimClient:
    """Requests by name over connections that may fail. `faults`: the share of requests that something happens to; `struck`: how many."""

    def __init__(self, cluster: SimCluster, chance: random.Random, *, repeats: bool) -> None:
        self.cluster = cluster
        self.chance = chance
        self.repeats = repeats
        self.faults = 0.0
        self.struck = 0
        self._wire: Wire | None = None
        self._correlation = 0

    async def call(self, key: ApiKey, version: int, fields: Mapping[str, Any]) -> Any:
        """The decoded answer. Raises ConnectionLost."""
        message = build(_request_kind(key), fields)
        self._correlation += 1
        frame = request_frame(key, version, self._correlation, bytes(messages.encode_request(key, version, message)))
        if self._wire is None or self._wire.is_closing():
            self._wire = self.cluster.connect()
        wire, loop = self._wire, self.cluster.loop
        fate = self.chance.random() / self.faults if self.faults else 1.0
        self.struck += fate < 1.0
        if fate < 0.25:  # lost on the way there
            self._drop()
            raise ConnectionLost
        answer = wire.answer()
        loop.call_later(self.chance.random() * 0.002, wire.deliver, frame)
        if fate < 0.5:  # the client gives up on the connection, the broker may be at work on the request
            await asyncio.sleep(self.chance.random() * 0.02)
            self._drop()
            raise ConnectionLost
        if fate < 0.75 and self.repeats:  # a copy arrives once more, later, over another connection
            loop.call_later(self.chance.random() ** 3 * 3.0, self._repeat, frame)
        if fate < 1.0:
            await asyncio.sleep(self.chance.random() * 0.2)
        data = await answer
        return messages.decode_response(key, version, memoryview(data)[4 + response_tags(key, version) :])

    def _repeat(self, frame: bytes) -> None:
        try:
            self.cluster.connect().deliver(frame)
        except ConnectionLost:
            return

    def _drop(self) -> None:
        wire, self._wire = self._wire, None
        if wire is not None:
            self.cluster.wires.discard(wire)
            wire.hang_up()
