"""The load program, the same for every broker: prepared frames, a fixed number in flight on each connection, answers only counted."""

from __future__ import annotations

import asyncio
import itertools
import socket
import struct
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, cast

from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.records import HEADER_SIZE, build_batch

PRODUCE_VERSION, FETCH_VERSION, METADATA_VERSION, CREATE_VERSION, ENDS_VERSION = 9, 12, 9, 5, 5
_LENGTH = struct.Struct(">i")


def frame(key: int, version: int, request: Any) -> bytes:
    """One request with its length prefix."""
    body = bytes(messages.encode_request(ApiKey(key), version, request))
    head = struct.pack(">hhih5s", key, version, 1, 5, b"bench") + (b"\x00" if messages.is_flexible(ApiKey(key), version) else b"")
    return _LENGTH.pack(len(head) + len(body)) + head + body


def batch(size_bytes: int, records: int = 1) -> bytes:
    """A plain batch of records of `size_bytes` each."""
    return bytes(build_batch([(int(time.time() * 1000), None, b"x" * size_bytes)] * records))


def produce_frame(topic: str, partitions: range, records: bytes, acks: int) -> bytes:
    request = messages.ProduceRequest
    data = [request.TopicProduceData.PartitionProduceData(index=index, records=records) for index in partitions]
    topics = [request.TopicProduceData(name=topic, partition_data=data)]
    return frame(0, PRODUCE_VERSION, request(transactional_id=None, acks=acks, timeout_ms=30_000, topic_data=topics))


def fetch_frame(topic: str, offset: int, *, max_bytes: int, max_wait_ms: int = 0, min_bytes: int = 0, isolation: int = 0) -> bytes:
    request = messages.FetchRequest
    wanted = request.FetchTopic.FetchPartition(
        partition=0, current_leader_epoch=-1, fetch_offset=offset, last_fetched_epoch=-1, log_start_offset=-1, partition_max_bytes=max_bytes
    )
    return frame(
        1,
        FETCH_VERSION,
        request(
            replica_id=-1,
            max_wait_ms=max_wait_ms,
            min_bytes=min_bytes,
            max_bytes=max_bytes,
            isolation_level=isolation,
            session_id=0,
            session_epoch=-1,
            topics=[request.FetchTopic(topic=topic, partitions=[wanted])],
            forgotten_topics_data=[],
            rack_id="",
        ),
    )


def fetched(answer: bytes) -> Any:
    """The one partition of an answer to `fetch_frame`. Raises RuntimeError where it is an error."""
    decoded = messages.decode_response(ApiKey.FETCH, FETCH_VERSION, memoryview(answer)[5:])
    (partition,) = decoded.responses[0].partitions
    if partition.error_code:
        raise RuntimeError(f"Fetch: {partition.error_code}")
    return partition


def end_of(records: bytes) -> int | None:
    """The offset behind the last whole batch; the last one may be cut."""
    at, end = 0, None
    while at + HEADER_SIZE <= len(records):
        base, length = int.from_bytes(records[at : at + 8]), int.from_bytes(records[at + 8 : at + 12])
        if at + 12 + length > len(records):
            break
        end = base + int.from_bytes(records[at + 23 : at + 27]) + 1
        at += 12 + length
    return end


def metadata_frame(topics: list[str] | None) -> bytes:
    request = messages.MetadataRequest
    named = None if topics is None else [request.MetadataRequestTopic(name=name) for name in topics]
    return frame(3, METADATA_VERSION, request(topics=named, allow_auto_topic_creation=True))


def exchange(port: int, data: bytes, seconds: float = 60.0) -> bytes:
    """One request on a connection of its own; the answer behind its length."""
    with socket.create_connection(("127.0.0.1", port), seconds) as connection:
        connection.sendall(data)
        with connection.makefile("rb") as stream:
            (length,) = _LENGTH.unpack(stream.read(4))
            return stream.read(length)


def create_topic(port: int, name: str, partitions: int = 1) -> None:
    """Make a topic and wait until its partitions take requests."""
    request = messages.CreateTopicsRequest
    topic = request.CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, assignments=[], configs=[])
    exchange(port, frame(19, CREATE_VERSION, request(topics=[topic], timeout_ms=60_000, validate_only=False)))
    deadline = time.monotonic() + 60
    asked = metadata_frame([name])
    while True:
        answer = messages.decode_response(ApiKey.METADATA, METADATA_VERSION, memoryview(exchange(port, asked))[5:])
        if answer.topics and answer.topics[0].error_code == 0 and len(answer.topics[0].partitions) == partitions:
            break
        _wait(name, deadline)
    ends = messages.ListOffsetsRequest
    partition = ends.ListOffsetsTopic.ListOffsetsPartition
    wanted = [partition(partition_index=index, current_leader_epoch=-1, timestamp=-1) for index in range(partitions)]
    asked = frame(2, ENDS_VERSION, ends(replica_id=-1, isolation_level=0, topics=[ends.ListOffsetsTopic(name=name, partitions=wanted)]))
    while True:  # Kafka tells of partitions before it leads them
        answer = messages.decode_response(ApiKey.LIST_OFFSETS, ENDS_VERSION, memoryview(exchange(port, asked))[4:])
        if not any(one.error_code for one in answer.topics[0].partitions):
            return
        _wait(name, deadline)


def _wait(topic: str, deadline: float) -> None:
    if time.monotonic() > deadline:
        raise TimeoutError(f"topic {topic} did not come up")
    time.sleep(0.05)


@dataclass(slots=True)
class Result:
    """What a run saw."""

    requests: int = 0
    seconds: float = 0.0
    bytes_in: int = 0
    latencies_ms: list[float] = field(default_factory=list)
    percentiles_ms: dict[float, float] = field(default_factory=dict)  # where single latencies were not kept

    @property
    def rate(self) -> float:
        return self.requests / self.seconds if self.seconds else 0.0

    def percentile_ms(self, share: float) -> float:
        if self.percentiles_ms:
            return self.percentiles_ms[share]
        ordered = sorted(self.latencies_ms)
        return ordered[min(int(len(ordered) * share), len(ordered) - 1)] if ordered else 0.0


class _Client(asyncio.Protocol):
    """Keeps `depth` requests in flight."""

    def __init__(self, frames: Iterator[bytes], depth: int, result: Result) -> None:
        self._frames, self._depth, self._result = frames, depth, result
        self._rest = b""
        self._skip = 0
        self._sent = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._sent = time.perf_counter()
        self._transport.write(b"".join(itertools.islice(self._frames, self._depth)))

    def data_received(self, data: bytes) -> None:
        self._result.bytes_in += len(data)
        answered, pos = 0, 0
        if self._skip >= len(data):
            self._skip -= len(data)
            if self._skip:
                return
            data, answered = b"", 1
        elif self._skip:
            pos, self._skip, answered = self._skip, 0, 1
        data = self._rest + data[pos:]
        pos = 0
        while len(data) - pos >= 4:
            end = pos + 4 + _LENGTH.unpack_from(data, pos)[0]
            if end > len(data):
                self._skip = end - len(data)
                pos = len(data)
                break
            pos, answered = end, answered + 1
        self._rest = data[pos:]
        if answered:
            now = time.perf_counter()
            self._result.latencies_ms.append((now - self._sent) * 1000)
            self._sent = now
            self._result.requests += answered
            self._transport.write(b"".join(itertools.islice(self._frames, answered)))


def run(
    port: int,
    *frames: bytes,
    connections: int,
    depth: int,
    seconds: float,
    warm_seconds: float = 0.5,
    window: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> Result:
    """Send `frames` in turn on each connection, the n-th beginning with the n-th; `window` is open while it counts."""
    result = Result()

    def in_turn(number: int) -> Iterator[bytes]:
        return itertools.islice(itertools.cycle(frames), number % len(frames), None)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        made = (_Client(in_turn(number), depth, result) for number in range(connections))
        clients = [(await loop.create_connection(lambda: next(made), "127.0.0.1", port))[0] for _ in range(connections)]
        await asyncio.sleep(warm_seconds)
        result.requests = result.bytes_in = 0
        result.latencies_ms.clear()
        with window():
            begin = time.perf_counter()
            await asyncio.sleep(seconds)
            result.seconds = time.perf_counter() - begin
            done = result.requests
        for transport in clients:
            transport.abort()
        result.requests = done

    import uvloop

    uvloop.run(main())
    return result


def pump(port: int, frames: Iterable[bytes], window: int = 64) -> None:
    """Send different frames over one connection, up to `window` unanswered."""
    with socket.create_connection(("127.0.0.1", port), 60.0) as connection, connection.makefile("rb") as stream:

        def take() -> None:
            (length,) = _LENGTH.unpack(stream.read(4))
            stream.read(length)

        open_ = 0
        for one in frames:
            if open_ == window:
                take()
                open_ -= 1
            connection.sendall(one)
            open_ += 1
        for _ in range(open_):
            take()
