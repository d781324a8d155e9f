"""What grows: each scenario takes a way to start servers and gives rows of (what, unit, value)."""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey

from tests.bench import librdkafka, load
from tests.bench import scale as scaling
from tests.bench.servers import Oncelog, Server, Unavailable

Row = tuple[str, str, float]
Scenario = Callable[["Bench"], list[Row]]
MIB = 1 << 20
STEP_MS = (0, 6, 12, 18, 24, 30)  # clients that are told to ask again wait 20 ms: a step would show between 18 and 24


@dataclass(slots=True)
class Bench:
    """One broker under measurement. `scale` 1.0 is the default run, less is quicker."""

    server_class: type[Server]
    folder: Path
    scale: float
    restart_gb: float
    _count: int = 0

    @contextlib.contextmanager
    def server(self, *, durable: bool = False) -> Iterator[Server]:
        self._count += 1
        server = self.server_class(self.folder / f"{self.server_class.name}-{self._count}", durable=durable)
        try:
            server.start()
            yield server
        finally:
            server.kill()

    @property
    def seconds(self) -> float:
        return max(3.0 * self.scale, 0.7)

    def measured(self, server: Server, frame: bytes, label: str, *, connections: int, depth: int) -> list[Row]:
        """Rate, broker CPU and latency of one load."""
        before = server.cpu_seconds()
        result = load.run(server.port, frame, connections=connections, depth=depth, seconds=self.seconds, warm_seconds=0.0)
        cpu_us = (server.cpu_seconds() - before) / max(result.requests, 1) * 1e6
        return [
            (f"{label}: rate", "req/s", result.rate),
            (f"{label}: broker CPU", "us/req", cpu_us),
            (f"{label}: p99", "ms", result.percentile_ms(0.99)),
        ]


def transactions(bench: Bench) -> list[Row]:
    """One librdkafka producer: how its waits are spread; durable, with what one fdatasync takes meanwhile, and from the page cache."""
    rows: list[Row] = []
    for durable, promise in ((True, "durable"), (False, "page cache")):
        with bench.server(durable=durable) as server:
            load.create_topic(server.port, "txn")
            probe = bench.folder / "probe" if durable else None
            times, syncs = _back_to_back(server.bootstrap, int(10_000 * bench.scale), max(40 * bench.scale, 3.0), probe)
        label = f"back-to-back transactions, {promise}"
        rows.append((label, "txn/s", len(times) / sum(times)))
        rows += _distribution(label, times)
        for begin_ms, end_ms in itertools.pairwise((*STEP_MS, None)):
            among = sum(1 for one in times if begin_ms <= one * 1000 < (end_ms or float("inf")))
            rows.append((f"{label}: {begin_ms} {'ms and more' if end_ms is None else f'to {end_ms} ms'}", "%", 100 * among / len(times)))
        rows += _distribution("fdatasync of the disk meanwhile", syncs) if syncs else []
    return rows


def _distribution(label: str, seconds: list[float]) -> list[Row]:
    ordered = sorted(seconds)
    shares = [(f"p{share * 100:g}", ordered[int(len(ordered) * share)]) for share in (0.5, 0.9, 0.99, 0.999)]
    return [(f"{label}: {name}", "ms", value * 1000) for name, value in (*shares, ("longest", ordered[-1]))]


def _back_to_back(bootstrap: str, count: int, most_seconds: float, probe: Path | None) -> tuple[list[float], list[float]]:
    """Seconds of each transaction, and of a few appends between them to the file `probe`, each with its fdatasync."""
    producer = librdkafka.producer(bootstrap, "bench-alone")
    times: list[float] = []
    syncs: list[float] = []
    stop = time.perf_counter() + most_seconds
    with probe.open("wb", buffering=0) if probe is not None else contextlib.nullcontext() as file:
        while len(times) < max(count, 10) and time.perf_counter() < stop:
            begin = time.perf_counter()
            producer.begin_transaction()
            producer.produce("txn", b"x" * 100, partition=0)
            producer.commit_transaction(60)
            times.append(time.perf_counter() - begin)
            if file is not None and len(times) % 10 == 0:
                file.write(b"x" * 200)
                begin = time.perf_counter()
                os.fdatasync(file.fileno())
                syncs.append(time.perf_counter() - begin)
    return times, syncs


def restart(bench: Bench) -> list[Row]:
    """kill -9 under a full log, then the time until ApiVersions."""
    rows: list[Row] = []
    sizes = [bench.restart_gb]
    if issubclass(bench.server_class, Oncelog) and bench.restart_gb >= 10:
        sizes = [bench.restart_gb / 10, bench.restart_gb]
    for gigabytes in sizes:
        with bench.server(durable=True) as server:
            load.create_topic(server.port, "fill")
            frame = load.produce_frame("fill", range(1), load.batch(1000, 1000), -1)
            for _ in range(max(int(gigabytes * 1e9 / len(frame)), 1)):
                load.exchange(server.port, frame)
            server.kill()
            rows.append((f"restart after kill -9 with {gigabytes:g} GB", "ms", server.start() * 1000))
    return rows


def connections(bench: Bench) -> list[Row]:
    """Memory of idle connections, and what a request costs among many."""
    rows: list[Row] = []
    with bench.server() as server:
        load.create_topic(server.port, "small")
        frame = load.produce_frame("small", range(1), load.batch(100), 1)
        load.run(server.port, frame, connections=10, depth=1, seconds=0.5)
        many = int(5_000 * min(max(bench.scale, 0.2), 1.0))
        for count in (10, many):
            rows += bench.measured(server, frame, f"{count} connections", connections=count, depth=1)[:2]
        with _idle(server.port, many) as settle:
            before = server.resident_bytes()
            settle()
            rows.append((f"memory of each of {many} idle connections", "KiB", (server.resident_bytes() - before) / many / 1024))
    return rows


@contextlib.contextmanager
def _idle(port: int, count: int) -> Iterator[Callable[[], None]]:
    import socket

    sockets: list[socket.socket] = []

    def connect() -> None:
        for _ in range(count):
            sockets.append(socket.create_connection(("127.0.0.1", port)))
        load.exchange(port, load.metadata_frame([]))

    try:
        yield connect
    finally:
        for one in sockets:
            one.close()


def partitions(bench: Bench) -> list[Row]:
    """The same request at 1 and at many partitions of the broker, Metadata of all, and the longest that an idle request waited."""
    most = int(10_000 * min(max(bench.scale, 0.1), 1.0)) if issubclass(bench.server_class, Oncelog) else 1_000
    rows: list[Row] = []
    with bench.server() as server:
        load.create_topic(server.port, "small")
        frame = load.produce_frame("small", range(1), load.batch(100), 1)
        rows += bench.measured(server, frame, "1 partition", connections=50, depth=1)[:2]
        for number in range(most // 1_000):
            load.create_topic(server.port, f"many-{number}", 1_000)
        rows += bench.measured(server, frame, f"{most} partitions", connections=50, depth=1)[:2]
        begin = time.perf_counter()
        load.exchange(server.port, load.metadata_frame(None))
        rows.append((f"Metadata of {most} partitions, first", "ms", (time.perf_counter() - begin) * 1000))
        begin = time.perf_counter()
        load.exchange(server.port, load.metadata_frame(None))
        rows.append((f"Metadata of {most} partitions, again", "ms", (time.perf_counter() - begin) * 1000))
        probe = load.frame(18, 0, messages.ApiVersionsRequest())
        result = load.run(server.port, probe, connections=1, depth=1, seconds=max(12 * bench.scale, 6.0))
        rows.append((f"longest wait of a single request at {most} partitions", "ms", max(result.latencies_ms)))
    return rows


def parked(bench: Bench) -> list[Row]:
    """Consumers parked on one partition: from one record's append to the last consumer's answer."""
    import selectors
    import socket

    rows: list[Row] = []
    with bench.server() as server:
        load.create_topic(server.port, "parked")
        for round_, count in enumerate((1, int(1_000 * min(max(bench.scale, 0.2), 1.0)))):
            asked = load.fetch_frame("parked", round_, max_bytes=MIB, max_wait_ms=20_000, min_bytes=1)
            waiting = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(count)]
            for one in waiting:
                one.sendall(asked)
            time.sleep(0.5)  # all of them are parked
            selector = selectors.DefaultSelector()
            for one in waiting:
                selector.register(one, selectors.EVENT_READ)
            begin = time.perf_counter()
            load.exchange(server.port, load.produce_frame("parked", range(1), load.batch(100), 1))
            left = count
            while left:
                for key, _ in selector.select(20):
                    selector.unregister(key.fileobj)
                    left -= 1
            rows.append((f"wake {count} parked consumers", "us each", (time.perf_counter() - begin) * 1e6 / count))
            for one in waiting:
                one.close()
    return rows


def producers(bench: Bench) -> list[Row]:
    """Idempotent producers: the cost of a request while the partition knows one, and while it knows very many."""
    from oncelog.protocol.records import build_batch

    many = int(100_000 * min(max(bench.scale, 0.05), 1.0))
    rows: list[Row] = []

    def frame_of(producer_id: int) -> bytes:
        record = (int(time.time() * 1000), None, b"x" * 100)
        return load.produce_frame(
            "ids", range(1), bytes(build_batch([record], producer_id=producer_id, producer_epoch=0, base_sequence=0)), 1
        )

    with bench.server() as server:
        load.create_topic(server.port, "ids")
        same = frame_of(1)  # answered as a duplicate from the second time on
        rows += bench.measured(server, same, "producer ids: 1", connections=10, depth=1)[:2]
        before = server.resident_bytes()
        load.pump(server.port, (frame_of(2 + number) for number in range(many)))
        rows.append((f"memory of each of {many} producer ids", "B", (server.resident_bytes() - before) / many))
        rows += bench.measured(server, frame_of(many), f"producer ids: {many}", connections=10, depth=1)[:2]
    return rows


def groups(bench: Bench) -> list[Row]:
    """Offset commits of many groups, without members (`assign` consumers)."""
    request = messages.OffsetCommitRequest
    rows: list[Row] = []

    def commit(group: str) -> bytes:
        partition = request.OffsetCommitRequestTopic.OffsetCommitRequestPartition(
            partition_index=0, committed_offset=7, committed_leader_epoch=-1, committed_metadata=""
        )
        topics = [request.OffsetCommitRequestTopic(name="t", partitions=[partition])]
        return load.frame(
            8, 8, request(group_id=group, generation_id_or_member_epoch=-1, member_id="", group_instance_id=None, topics=topics)
        )

    with bench.server() as server:
        load.create_topic(server.port, "t")
        find = messages.FindCoordinatorRequest
        load.exchange(server.port, load.frame(10, 3, find(key="g", key_type=0)))
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:  # the offsets topic is being made
            answer = messages.decode_response(ApiKey.OFFSET_COMMIT, 8, memoryview(load.exchange(server.port, commit("g")))[5:])
            if answer.topics[0].partitions[0].error_code == 0:
                break
            time.sleep(0.2)
        else:
            raise Unavailable("offset commits are not answered without error")
        rows += bench.measured(server, commit("g"), "commit offsets, 1 group", connections=10, depth=1)[:2]
        load.pump(server.port, (commit(f"group-{number}") for number in range(500)))
        rows += bench.measured(server, commit("group-250"), "commit offsets, 500 groups", connections=10, depth=1)[:2]
    return rows


def scale(bench: Bench) -> list[Row]:
    """10,000 partitions, 5,000 connections, 500 groups: what each costs."""
    share = min(max(bench.scale, 0.1), 1.0)
    return scaling.scale(lambda: bench.server(durable=True), share, bench.seconds)


SCENARIOS: dict[str, Scenario] = {
    "transactions": transactions,
    "restart": restart,
    "connections": connections,
    "partitions": partitions,
    "parked": parked,
    "producers": producers,
    "groups": groups,
    "scale": scale,
}
