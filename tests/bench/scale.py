"""What partitions, connections and group members cost, and how long anybody else had to wait meanwhile.

The waits are those of a second client that asks for ApiVersions again and again: the longest turn of the loop, and what the machine
adds to it.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey

from tests.bench import load
from tests.bench.members import TOPIC, ConsumerMember, Member, Refused, groups
from tests.bench.servers import Server

Row = tuple[str, str, float]
PARTITIONS_A_TOPIC = 1_000
KIB = 1024
_PROBE = load.frame(ApiKey.API_VERSIONS, 0, messages.ApiVersionsRequest())


class Watcher:
    """A client in a process of its own, with one request at a time; `longest_ms` is the worst it has met, once it has ended."""

    def __init__(self, port: int) -> None:
        self.longest_ms = 0.0
        command = [sys.executable, "-c", _WATCHING, str(port), _PROBE.hex()]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        self._process.stdout.readline()  # it has begun

    def end(self) -> None:
        out, _ = self._process.communicate(b"")
        self.longest_ms = float(out)


_WATCHING = """
import select, socket, struct, sys, time
connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 60)
stream, probe, longest = connection.makefile("rb"), bytes.fromhex(sys.argv[2]), 0.0
print(flush=True)
while not select.select([sys.stdin], [], [], 0.0005)[0]:
    begin = time.perf_counter()
    connection.sendall(probe)
    stream.read(*struct.unpack(">i", stream.read(4)))
    longest = max(longest, time.perf_counter() - begin)
print(longest * 1000)
"""


@contextlib.contextmanager
def watched(server: Server) -> Iterator[Watcher]:
    watcher = Watcher(server.port)
    try:
        yield watcher
    finally:
        watcher.end()


def timed(server: Server, rows: list[Row], what: str, action: Callable[[], Any], *, unit: str = "ms") -> None:
    """How long it took, and how long another client waited at most."""
    with watched(server) as watcher:
        begin = time.perf_counter()
        action()
        seconds = time.perf_counter() - begin
    rows.append((what, unit, seconds * 1000))
    rows.append((f"{what}: longest wait of another client", "ms", watcher.longest_ms))


def idle_cpu(server: Server, seconds: float) -> float:
    """Percent of one core."""
    before = server.cpu_seconds()
    time.sleep(seconds)
    return (server.cpu_seconds() - before) / seconds * 100


# -- partitions


def partitions(server: Server, count: int, seconds: float) -> list[Row]:
    """Made, looked at, written to, fetched, and kept over an orderly stop and a kill."""
    rows: list[Row] = []
    names = [f"scale-{number}" for number in range(max(count // PARTITIONS_A_TOPIC, 1))]
    each = min(count, PARTITIONS_A_TOPIC)
    load.create_topic(server.port, "warm", 50)
    load.exchange(server.port, load.produce_frame("warm", range(50), load.batch(100), -1))
    memory, disk = server.resident_bytes(), _disk_bytes(server)
    timed(server, rows, f"create {count} partitions", lambda: [load.create_topic(server.port, name, each) for name in names])
    rows += _growth(server, "partition nobody wrote to", count, memory, disk)
    timed(server, rows, f"Metadata of {count} partitions, first", lambda: load.exchange(server.port, load.metadata_frame(None)))
    timed(server, rows, f"first write to each of {count} partitions", lambda: _write_all(server, names, each))
    rows += _growth(server, "partition with one record", count, memory, disk)
    timed(server, rows, f"second write to each of {count} partitions", lambda: _write_all(server, names, each))
    rows += _fetches(server, names, each)
    rows.append((f"idle CPU with {count} partitions", "%", idle_cpu(server, seconds)))
    begin = time.perf_counter()
    server.stop()
    rows.append((f"stop with {count} written partitions", "ms", (time.perf_counter() - begin) * 1000))
    rows.append((f"start with {count} written partitions", "ms", server.start() * 1000))
    server.kill()
    rows.append((f"start after kill -9 with {count} written partitions", "ms", server.start() * 1000))
    delete = messages.DeleteTopicsRequest(topic_names=names[:1], timeout_ms=60_000)
    timed(server, rows, f"delete a topic of {each} written partitions", lambda: load.exchange(server.port, load.frame(20, 5, delete)))
    return rows


def _growth(server: Server, what: str, count: int, memory: int, disk: int) -> list[Row]:
    return [
        (f"each {what}: memory", "KiB", (server.resident_bytes() - memory) / count / KIB),
        (f"each {what}: disk", "KiB", (_disk_bytes(server) - disk) / count / KIB),
    ]


def _disk_bytes(server: Server) -> int:
    """As `du` counts: blocks, folders included."""
    data = server.folder / "data"
    return sum(path.lstat().st_blocks * 512 for path in (data, *data.rglob("*"))) if data.exists() else 0


def _write_all(server: Server, names: list[str], each: int) -> None:
    for name in names:
        for first in range(0, each, 100):
            load.exchange(server.port, load.produce_frame(name, range(first, first + 100), load.batch(100), -1))


def _fetches(server: Server, names: list[str], each: int) -> list[Row]:
    """One session over all partitions, read to their ends: the first request names them, the others have nothing to say."""
    request = messages.FetchRequest
    rows: list[Row] = []

    def ask(session: int, epoch: int, topics: list[Any]) -> Any:
        asked = request(
            replica_id=-1,
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=1 << 26,
            isolation_level=0,
            session_id=session,
            session_epoch=epoch,
            topics=topics,
            forgotten_topics_data=[],
            rack_id="",
        )
        answer = load.exchange(server.port, load.frame(1, load.FETCH_VERSION, asked))
        return messages.decode_response(ApiKey.FETCH, load.FETCH_VERSION, memoryview(answer)[5:])

    def wanted(partition: int) -> Any:
        return request.FetchTopic.FetchPartition(
            partition=partition,
            current_leader_epoch=-1,
            fetch_offset=2,
            last_fetched_epoch=-1,
            log_start_offset=-1,
            partition_max_bytes=1 << 20,
        )

    topics = [request.FetchTopic(topic=name, partitions=[wanted(number) for number in range(each)]) for name in names]
    count = len(names) * each
    answers: list[Any] = []
    timed(server, rows, f"open a fetch session of {count} partitions", lambda: answers.append(ask(0, 0, topics)))
    session = answers[0].session_id
    times = []
    for epoch in range(1, 21):
        begin = time.perf_counter()
        ask(session, epoch, [])
        times.append((time.perf_counter() - begin) * 1000)
    rows.append((f"fetch of that session, nothing new, {count} partitions", "ms", sorted(times)[len(times) // 2]))
    return rows


# -- connections


def connections(server: Server, count: int, seconds: float) -> list[Row]:
    """Idle connections, and a request among them."""
    rows: list[Row] = []
    load.exchange(server.port, load.metadata_frame([]))
    memory = server.resident_bytes()
    sockets: list[socket.socket] = []
    try:
        begin = time.perf_counter()
        for _ in range(count):
            one = socket.create_connection(("127.0.0.1", server.port), 60)
            one.sendall(_PROBE)
            sockets.append(one)
        for one in sockets:
            one.recv(1 << 16)
        rows.append((f"accept and greet {count} connections", "1/s", count / (time.perf_counter() - begin)))
        rows.append(("each idle connection: memory", "KiB", (server.resident_bytes() - memory) / count / KIB))
        rows.append((f"idle CPU with {count} connections", "%", idle_cpu(server, seconds)))
        result = load.run(server.port, _PROBE, connections=1, depth=1, seconds=seconds)
        rows.append((f"request among {count} connections: p99", "ms", result.percentile_ms(0.99)))
    finally:
        for one in sockets:
            one.close()
    return rows


# -- groups


def group_members(server: Server, kind: type[Member], count: int, size: int, seconds: float) -> list[Row]:
    """Groups of the classic or of the consumer protocol, over a restart."""
    name = "consumer group" if kind is ConsumerMember else "classic group"
    rows: list[Row] = []
    load.create_topic(server.port, TOPIC, size)
    load.exchange(server.port, load.frame(10, 3, messages.FindCoordinatorRequest(key="g", key_type=0)))
    with groups(server.port, kind, 1, size) as warm:
        warm.connect()
        warm.join()
    with groups(server.port, kind, count, size) as made:
        made.connect()
        memory = server.resident_bytes()
        with watched(server) as watcher:
            rows.append((f"{count} {name}s of {size} join", "ms", made.join() * 1000))
        rows.append((f"{count} {name}s of {size} join: longest wait of another client", "ms", watcher.longest_ms))
        rows.append((f"each member of a {name}: memory", "KiB", (server.resident_bytes() - memory) / (count * size) / KIB))
        rows.append((f"idle CPU with {count} {name}s", "%", idle_cpu(server, seconds)))
        before = server.cpu_seconds()
        beats = made.heartbeats(seconds)
        rows.append((f"heartbeats of {name}s", "1/s", beats / seconds))
        rows.append((f"heartbeats of {name}s: broker CPU", "us each", (server.cpu_seconds() - before) / max(beats, 1) * 1e6))
        server.kill()
        rows.append((f"start after kill -9 with {count} {name}s", "ms", server.start() * 1000))
    return rows


def scale(make: Callable[[], contextlib.AbstractContextManager[Server]], share: float, seconds: float) -> list[Row]:
    """All of it, `share` 1.0 being 10,000 partitions, 5,000 connections and 500 groups."""
    rows: list[Row] = []
    with make() as server:
        rows += partitions(server, max(int(10 * share), 1) * PARTITIONS_A_TOPIC, seconds)
    with make() as server:
        rows += connections(server, int(5_000 * share), seconds)
    for kind in (Member, ConsumerMember):
        with make() as server, contextlib.suppress(Refused, AttributeError):  # kfake has no consumer protocol
            rows += group_members(server, kind, int(500 * share), 4, seconds)
    return rows
