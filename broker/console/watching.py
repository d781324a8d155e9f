"""What passes between clients and the broker of this process, remembered for the inspector: who owns an id, and what it asked for.

A request is kept as its bytes and read when somebody looks, so that a broker that is watched is hardly slower. Produce and Fetch, of which
there are most, are not kept: what they did stands in the logs, and why one was refused in the fencing journal.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from oncelog.broker.console.fencings import FencingJournal
from oncelog.broker.console.life import event
from oncelog.broker.console.model import NOBODY, Owner
from oncelog.broker.journal.entries import TopicName, answered, asked, is_written
from oncelog.broker.net.answer_stream import Sent, whole
from oncelog.coordinator.deferred import Deferred, Reply
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.framing import LENGTH_BYTES
from oncelog.protocol.header import parse_request_header, response_header
from oncelog.protocol.primitives import MalformedRequest
from oncelog.protocol.records import CorruptBatch

if TYPE_CHECKING:
    from oncelog.broker.context import BrokerContext
    from oncelog.broker.net.connection import Connection, Handles

KEPT_REQUESTS = 10_000
KEPT_BYTES = 16 << 20
MOST_FRAME_BYTES = 8 << 10  # of a request that is kept
KEPT_OWNERS = 100_000
_SHORTEST = 4  # key and version
_SAMPLED = frozenset({ApiKey.FETCH, ApiKey.OFFSET_COMMIT})
KEPT_SAMPLES, KEPT_READERS = 1_000, 10_000
_KEPT_APIS = frozenset(
    {ApiKey.INIT_PRODUCER_ID, ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.ADD_OFFSETS_TO_TXN, ApiKey.TXN_OFFSET_COMMIT, ApiKey.END_TXN}
)
_INIT, _OFFSET_COMMIT = int(ApiKey.INIT_PRODUCER_ID), int(ApiKey.OFFSET_COMMIT)


class Kept(NamedTuple):
    """One request and its answer, as they were on the wire."""

    time_ms: int
    client_host: str
    frame: bytes
    answer: bytes


class Watching:
    """Outlasts the broker of its process when that is started anew."""

    def __init__(self) -> None:
        self._kept: deque[Kept] = deque()
        self._kept_bytes = 0
        self._owners: OrderedDict[str, Owner] = OrderedDict()
        self._topic_name: TopicName = str
        self._samples: deque[tuple[int, str, bytes]] = deque(maxlen=KEPT_SAMPLES)
        self.readers: set[str] = set()  # connections whose first Fetch was looked at
        self._journal = FencingJournal()

    def around(self, handler: Handles, context: BrokerContext) -> WatchedHandler:
        """What answers as `handler` does, and is watched."""
        self._topic_name = context.topic_name
        context.causes.listener = lambda cause: self._journal.add(cause, context.env.clock.time_ms())
        return WatchedHandler(handler, self)

    # -- seeing

    def saw(self, time_ms: int, client_host: str, frame: bytes, answer: bytes) -> None:
        """A request of those that are watched was answered."""
        self._kept.append(Kept(time_ms, client_host, frame, answer))
        self._samples.append((time_ms, client_host, frame))
        self._kept_bytes += len(frame) + len(answer)
        while len(self._kept) > KEPT_REQUESTS or self._kept_bytes > KEPT_BYTES:
            oldest = self._kept.popleft()
            self._kept_bytes -= len(oldest.frame) + len(oldest.answer)
        if frame[1] == _INIT:
            self._saw_owner(frame, client_host, answer)

    def sample(self, time_ms: int, client_host: str, frame: memoryview) -> None:
        """A request that only a linter wants, whatever is answered."""
        self._samples.append((time_ms, client_host, bytes(frame)))

    def is_new_reader(self, connection: str) -> bool:
        """The first Fetch of a connection names its topics and how it reads; the others are not looked at."""
        if connection in self.readers:
            return False
        if len(self.readers) >= KEPT_READERS:
            self.readers.clear()
        self.readers.add(connection)
        return True

    def _saw_owner(self, frame: bytes, client_host: str, answer: bytes) -> None:
        read = _read(Kept(0, client_host, frame, answer), self._topic_name)
        if read is None or read["transactional_id"] is None or read.get("error") != ErrorCode.NONE.name:
            return
        self._owners[read["transactional_id"]] = Owner(read["client_id"], client_host)
        self._owners.move_to_end(read["transactional_id"])
        if len(self._owners) > KEPT_OWNERS:
            self._owners.popitem(last=False)

    # -- telling

    def owner(self, transactional_id: str) -> Owner:
        """Who was given its newest epoch."""
        return self._owners.get(transactional_id, NOBODY)

    def requests_of(self, transactional_id: str) -> list[dict[str, Any]]:
        """Events for the time line of an id."""
        name = transactional_id.encode()
        found: list[dict[str, Any]] = []
        for kept in self._kept:
            if name not in kept.frame:
                continue
            read = _read(kept, self._topic_name)
            if read is not None and read["transactional_id"] == transactional_id:
                found += _events(read)
        return found + self._journal.events_of(transactional_id)

    def rebalances_of(self, group_id: str) -> Sequence[Mapping[str, Any]]:
        """The newest first."""
        return self._journal.rebalances_of(group_id)

    def fencings(self) -> Sequence[Mapping[str, Any]]:
        """Rows as API.md has them, the newest first."""
        return self._journal.rows()

    def samples(self, most: int) -> list[tuple[int, str, bytes]]:
        """(time, host, frame) of requests that a linter has not seen yet, the oldest `most`; they are its from now on."""
        return [self._samples.popleft() for _ in range(min(most, len(self._samples)))]


class WatchedHandler:
    """Answers frames as the handler does that it stands around."""

    def __init__(self, handler: Handles, watching: Watching) -> None:
        self.clock = handler.clock
        self._handler = handler
        self._handle: Callable[[memoryview, Connection], Reply[Sent]] = handler.handle
        self._watching = watching

    def log_failure(self, connection: Connection, error: BaseException) -> None:
        self._handler.log_failure(connection, error)

    def ways(self) -> Mapping[int, Callable[[memoryview, Connection], Reply[Sent]]]:
        """By the api's key, those that are watched: all others need not come past, and of Fetch only the first of a connection."""
        readers, plain, seen = self._watching.readers, self._handle, self.handle

        def fetch(frame: memoryview, connection: Connection) -> Reply[Sent]:
            return (plain if connection.client_name in readers else seen)(frame, connection)

        return {**dict.fromkeys(map(int, _KEPT_APIS | _SAMPLED), seen), int(ApiKey.FETCH): fetch}

    def handle(self, frame: memoryview, connection: Connection) -> Reply[Sent]:
        if len(frame) < _SHORTEST or frame[0] or len(frame) > MOST_FRAME_BYTES:
            return self._handle(frame, connection)
        key = frame[1]
        if key in _SAMPLED:
            if (key == _OFFSET_COMMIT or self._watching.is_new_reader(connection.client_name)) and not sasl_wants(connection):
                self._watching.sample(self.clock.time_ms(), connection.client_host, frame)
            return self._handle(frame, connection)
        if key not in _KEPT_APIS or sasl_wants(connection):
            return self._handle(frame, connection)
        kept = bytes(frame)  # the receive buffer is used again
        time_ms, host = self.clock.time_ms(), connection.client_host
        reply = self._handle(frame, connection)
        if not isinstance(reply, Deferred):
            self._watching.saw(time_ms, host, kept, whole(reply))
        else:
            reply.when_done(lambda done: self._saw_late(time_ms, host, kept, done))
        return reply

    def _saw_late(self, time_ms: int, host: str, kept: bytes, done: Deferred[Sent]) -> None:
        if done.error is None:
            self._watching.saw(time_ms, host, kept, whole(done.result()))


def sasl_wants(connection: Connection) -> bool:
    """Are the bytes that come a token, and no request?"""
    return connection.sasl is not None and connection.sasl.takes_tokens


def _read(kept: Kept, topic_name: TopicName) -> dict[str, Any] | None:
    """As an entry of the journal; None for what cannot be read, or is no request of a client's."""
    try:
        header = parse_request_header(memoryview(kept.frame))
        if not is_written(header.api_key, header.api_version):
            return None
        key = ApiKey(header.api_key)
        body = messages.decode_request(key, header.api_version, memoryview(kept.frame)[header.body_offset :])
        entry = asked(key, body, topic_name)
    except (MalformedRequest, CorruptBatch):
        return None
    entry |= {"time_ms": kept.time_ms, "client_id": header.client_id, "client_host": kept.client_host}
    entry |= {"api": key.schema_name, "version": header.api_version}
    if kept.answer:
        begin = LENGTH_BYTES + len(response_header(key, header.api_version, header.correlation_id))
        answered(key, messages.decode_response(key, header.api_version, memoryview(kept.answer)[begin:]), topic_name, entry)
    return entry


_KINDS = {
    "InitProducerId": "init",
    "AddPartitionsToTxn": "add",
    "AddOffsetsToTxn": "offsets",
    "TxnOffsetCommit": "offsets",
}


def _events(read: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """One, or for several partitions with different errors one for each error."""
    errors: dict[str, list[str]] = {}
    if "error" in read:
        errors[read["error"]] = []
    for place, error in read.get("partitions", {}).items():
        errors.setdefault(error, []).append(place)
    kind = _KINDS.get(read["api"]) or ("prepare_commit" if read["committed"] else "prepare_abort")
    producer_id, epoch = read["producer"] if read["producer"][0] >= 0 else read.get("answered", read["producer"])
    for error, places in errors.items():
        good = error == ErrorCode.NONE.name
        yield event(
            read["time_ms"],
            kind if good else "error",
            "request",
            _sentence(read, places, None if good else error),
            producer_id=producer_id if producer_id >= 0 else None,
            producer_epoch=epoch if epoch >= 0 else None,
            partitions=[{"topic": topic, "partition": int(number)} for topic, _, number in (place.rpartition("-") for place in places)][
                :100
            ],
            api=read["api"],
            version=read["version"],
            error=None if good else error,
            client_id=read["client_id"],
            client_host=read["client_host"],
            group_id=read.get("group"),
        )


def _sentence(read: Mapping[str, Any], places: Sequence[str], error: str | None) -> str:
    told = f"{read['api']} v{read['version']} of {read['client_id'] or 'a client without a name'} at {read['client_host']}"
    if "committed" in read:
        told += f" to {'commit' if read['committed'] else 'abort'}"
    if read.get("group"):
        told += f" for group {read['group']}"
    if places:
        told += f" for {', '.join(places[:5])}{f' and {len(places) - 5} more' if len(places) > 5 else ''}"
    if error is not None:
        return f"{told} was refused: {error}."
    answered_pair = read.get("answered")
    if answered_pair and answered_pair[0] >= 0:
        return f"{told} was answered with producer {answered_pair[0]} epoch {answered_pair[1]}."
    return f"{told} was accepted."
