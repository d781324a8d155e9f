"""Clients that mean harm, and what a well-behaved one notices meanwhile: `python -m tests.abuse [--seconds N] [attack…]` (`make abuse`).

Each attack runs against a broker of its own on loopback. The table shows the broker's largest resident memory, the processor time of its
longest turn, and the latency of one client, in a process of its own, that produces and fetches a small record all the while: that means
something on a quiet machine only.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from oncelog.protocol import messages

from tests.bench.load import FETCH_VERSION, batch, create_topic, exchange, fetch_frame, metadata_frame, produce_frame, pump
from tests.bench.load import frame as load_frame
from tests.support import turn_meter
from tests.support.process import BrokerProcess, free_port
from tests.support.well_behaved import WellBehaved

MAX_RSS_MB = 200
MAX_P99_MS = 100
MAX_TURN_MS = 100  # processor time
METER = "longest_turn"
STORED_MB = 60
TOPIC, OTHER, WIDE = "abused", "quiet", "wide"
WIDE_PARTITIONS = 200
HARMLESS = (ConnectionError, TimeoutError, ssl.SSLError, BlockingIOError)

Sockets = list[socket.socket]


class Crowd:
    """Connections to one port, closed together."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._all: Sockets = []

    def connect(self, count: int) -> Sockets:
        found: Sockets = []
        for _ in range(count):
            with contextlib.suppress(*HARMLESS):
                found.append(socket.create_connection(("127.0.0.1", self._port), 10))
        self._all += found
        return found

    def close(self) -> None:
        for one in self._all:
            one.close()


def send(victims: Sockets, data: bytes | Callable[[int], bytes]) -> None:
    """To each, as far as it is taken without waiting."""
    for number, victim in enumerate(victims):
        victim.setblocking(False)
        with contextlib.suppress(*HARMLESS):
            victim.send(data(number) if callable(data) else data)


def unread_answers(crowd: Crowd) -> Iterator[None]:
    """50 connections ask for 55 MB each and do not read."""
    mine = crowd.connect(50)
    send(mine, fetch_frame(TOPIC, 0, max_bytes=55 << 20))
    while True:
        yield


def pipelining_unread(crowd: Crowd) -> Iterator[None]:
    """50 connections ask again and again, and read nothing."""
    mine = crowd.connect(50)
    frames = (metadata_frame(None) + fetch_frame(TOPIC, 0, max_bytes=1 << 20)) * 500
    while True:
        send(mine, frames)
        yield


def parked_unread(crowd: Crowd) -> Iterator[None]:
    """50 connections with 500 fetches each that wait for more than there is, where others write."""
    mine = crowd.connect(50)
    send(mine, fetch_frame(OTHER, 0, max_bytes=1 << 20, max_wait_ms=30_000, min_bytes=1 << 30) * 500)
    while True:
        yield


def parked_wide(crowd: Crowd) -> Iterator[None]:
    """30 connections with 120 fetches each that wait for a record in one of 200 partitions."""
    request = messages.FetchRequest
    kind = request.FetchTopic.FetchPartition
    wanted = [
        kind(
            partition=each, current_leader_epoch=-1, fetch_offset=0, last_fetched_epoch=-1, log_start_offset=-1, partition_max_bytes=1 << 20
        )
        for each in range(WIDE_PARTITIONS)
    ]
    asked = request(
        replica_id=-1,
        max_wait_ms=30_000,
        min_bytes=1 << 30,
        max_bytes=1 << 20,
        isolation_level=0,
        session_id=0,
        session_epoch=-1,
        topics=[request.FetchTopic(topic=WIDE, partitions=wanted)],
        forgotten_topics_data=[],
        rack_id="",
    )
    whole = load_frame(1, FETCH_VERSION, asked) * 120
    mine = crowd.connect(30)
    at = dict.fromkeys(mine, 0)
    for one in mine:
        one.setblocking(False)
    while True:
        for one in mine:
            with contextlib.suppress(*HARMLESS):
                at[one] += one.send(whole[at[one] :][: 1 << 20])
        yield


def announced_lengths(crowd: Crowd) -> Iterator[None]:
    """40 connections announce 100 MiB each."""
    mine = crowd.connect(40)
    send(mine, struct.pack(">i", 100 << 20))
    while True:
        yield


def large_requests(crowd: Crowd) -> Iterator[None]:
    """40 connections send as much of 100 MiB each as they are let."""
    mine = crowd.connect(40)
    send(mine, struct.pack(">i", 100 << 20))
    piece = bytes(1 << 20)
    while True:
        send(mine, piece)
        yield


def drips(crowd: Crowd) -> Iterator[None]:
    """2,000 connections send a request of 1 MiB byte by byte."""
    mine = crowd.connect(2000)
    send(mine, struct.pack(">i", 1 << 20))
    while True:
        send(mine, b"x")
        yield


def half_frames(crowd: Crowd) -> Iterator[None]:
    """Connections that send half a request of 60 kB and go."""
    while True:
        mine = crowd.connect(50)
        send(mine, struct.pack(">i", 60_000) + bytes(30_000))
        for one in mine:
            one.close()
        yield


def garbage(crowd: Crowd) -> Iterator[None]:
    """Noise, behind a plausible length and without."""
    chance = random.Random(1)
    while True:
        mine = crowd.connect(50)
        send(mine, lambda number: (struct.pack(">i", 10_000) if number % 2 else b"") + chance.randbytes(10_000))
        for one in mine:
            one.close()
        yield


def idle_connections(crowd: Crowd) -> Iterator[None]:
    """3,000 connections that say nothing."""
    mine = crowd.connect(3000)
    while True:
        yield
        assert mine


def bombs(crowd: Crowd) -> Iterator[None]:
    """Small batches that unpack to 100 MB."""
    import gzip

    plain = batch(1 << 20)
    packed = gzip.compress(plain[61:] + bytes(100 << 20))
    bomb = bytearray(plain[:61]) + packed
    struct.pack_into(">i", bomb, 8, len(bomb) - 12)
    struct.pack_into(">h", bomb, 21, 1)
    from oncelog.protocol.primitives import crc32c

    struct.pack_into(">I", bomb, 17, crc32c(bytes(bomb[21:])))
    frame = produce_frame(TOPIC, range(1), bytes(bomb), 1)
    mine = crowd.connect(20)
    while True:
        send(mine, frame)
        yield


def hellos(crowd: Crowd) -> Iterator[None]:
    """500 connections begin a TLS handshake and leave it at that; others come and go."""
    context = ssl.create_default_context()
    hello = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), hello, server_hostname="localhost").do_handshake()
    first = hello.read()
    mine = crowd.connect(500)
    send(mine, first)
    while True:
        passing = crowd.connect(20)
        send(passing, first)
        for one in passing:
            one.close()
        yield


def comers_and_goers(crowd: Crowd) -> Iterator[None]:
    """2,000 connections come, and leave all at once, again and again."""
    while True:
        mine = crowd.connect(2000)
        for one in mine:
            one.close()
        yield


ATTACKS: dict[str, Callable[[Crowd], Iterator[None]]] = {
    attack.__name__: attack
    for attack in (
        unread_answers,
        pipelining_unread,
        parked_unread,
        parked_wide,
        announced_lengths,
        large_requests,
        drips,
        half_frames,
        garbage,
        idle_connections,
        bombs,
        hellos,
        comers_and_goers,
    )
}
OVER_TLS = {"hellos"}


@dataclass
class Seen:
    """What one run showed. Latencies in ms."""

    rss_mb: float = 0.0
    turn_ms: float = 0.0
    latencies: list[float] = field(default_factory=list)
    failure: str | None = None

    def percentile(self, share: float) -> float:
        ordered = sorted(self.latencies)
        return ordered[min(int(len(ordered) * share), len(ordered) - 1)] if ordered else float("nan")


def rss_mb(pid: int) -> float:
    """Resident memory of a process now."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


def run(broker: BrokerProcess, name: str, seconds: float) -> Seen:
    """One attack of `seconds` after it has been set up; `broker` has been fed."""
    seen = Seen()
    os.kill(broker.pid, signal.SIGUSR1)
    client = WellBehaved(broker.port, (produce_frame(OTHER, range(1), batch(100), 1), fetch_frame(OTHER, 0, max_bytes=1000)))
    crowd = Crowd(tls_port(broker) if name in OVER_TLS else broker.port)
    attack = ATTACKS[name](crowd)
    next(attack)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and client.asks:
        next(attack)
        seen.rss_mb = max(seen.rss_mb, rss_mb(broker.pid))
        time.sleep(0.01)  # the pace of the attack
    seen.latencies, seen.failure = client.end()
    crowd.close()
    seen.turn_ms = float((broker.data_dir.parent / METER).read_text())
    return seen


def feed(broker: BrokerProcess) -> None:
    """Topics, and records for those who will not read them."""
    create_topic(broker.port, TOPIC)
    create_topic(broker.port, OTHER)
    create_topic(broker.port, WIDE, WIDE_PARTITIONS)
    pump(broker.port, [produce_frame(TOPIC, range(1), batch(900_000), 1)] * STORED_MB)
    exchange(broker.port, produce_frame(OTHER, range(1), batch(100), 1))


def tls_port(broker: BrokerProcess) -> int:
    return int(broker.overrides["listeners"].rpartition(":")[2])


def overrides(folder: Path, port: int, tls: int) -> dict[str, str]:
    """A plain listener and one with TLS."""
    new = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    pem = folder / "both.pem"
    subprocess.run(["openssl", *new, "-keyout", folder / "key.pem", "-out", folder / "cert.pem"], check=True, capture_output=True)
    pem.write_text((folder / "key.pem").read_text() + (folder / "cert.pem").read_text())
    return {
        "listeners": f"PLAINTEXT://127.0.0.1:{port},SSL://127.0.0.1:{tls}",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(pem),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("attacks", nargs="*", default=list(ATTACKS))
    given = parser.parse_args()
    print(f"{'attack':20}{'RSS MB':>8}{'turn ms':>9}{'p50 ms':>9}{'p99 ms':>9}{'longest':>9}")
    print(f"{'at most':20}{MAX_RSS_MB:8}{MAX_TURN_MS:9}{'':9}{MAX_P99_MS:9}")
    bad = 0
    for name in given.attacks:
        with tempfile.TemporaryDirectory() as folder, started(Path(folder)) as broker:
            seen = run(broker, name, given.seconds)
        p99 = seen.percentile(0.99)
        right = seen.failure is None and seen.rss_mb <= MAX_RSS_MB and seen.turn_ms <= MAX_TURN_MS and p99 <= MAX_P99_MS
        bad += not right
        figures = f"{seen.rss_mb:8.0f}{seen.turn_ms:9.1f}{seen.percentile(0.5):9.1f}{p99:9.1f}{seen.percentile(1):9.1f}"
        print(f"{name:20}{figures}   {'' if right else 'BAD'} {seen.failure or ''}", flush=True)
    return bad


@contextlib.contextmanager
def started(folder: Path) -> Iterator[BrokerProcess]:
    """A broker with both listeners, fed; it measures its turns."""
    broker = BrokerProcess(folder / "data", env={turn_meter.TURN_METER: str(folder / METER)})
    broker.launcher = (turn_meter.__file__,)
    port = free_port()
    broker.overrides = overrides(folder, port, free_port())
    broker.port = port
    with broker:
        feed(broker)
        yield broker


if __name__ == "__main__":
    sys.exit(main())
