"""Mutated requests against a live oncelog: each gets an answer or the end of its connection, in time, and memory stays bounded.

    python -m tests.fuzz --seconds 600 --seed 1 [--first N]

A failure prints the request and the command that repeats it from there (`--first`: the number of the first request to send).
"""

from __future__ import annotations

import argparse
import os
import random
import struct
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))

from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.messages.classes import MessageBase
from oncelog.protocol.records import build_batch
from support.process import BrokerProcess
from support.replay import set_fields
from support.wire import Connection, request_frame

DEADLINE_SECONDS = 8.0
# a mutated wait may be a long one, and a member may wait for others: left alone after a moment
MAY_WAIT = frozenset({ApiKey.FETCH, ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP})
WAIT_SECONDS = 0.5
MEMORY_LIMIT_BYTES = 400 * 1024 * 1024
NAMES = ["fuzz", "fuzz-2", "", "__consumer_offsets", "__transaction_state", "x" * 300, "../etc", "Ω", "g"]
NUMBERS = [0, 1, -1, -2, 2, 7, 127, -128, 255, 1000, 32767, -32768, 65536, 2**31 - 1, -(2**31)]
EDGE_BYTES = [b"\xff", b"\x7f", b"\x80", b"\0", b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x80\0\0\0", b"\xff" * 10]
MAX_WAIT_FIELDS = frozenset({"max_wait_ms", "timeout_ms", "rebalance_timeout_ms"})


class FuzzError(AssertionError):
    """The broker hung, grew or ended."""


@dataclass
class Request:
    key: ApiKey
    version: int
    frame: bytes
    silent: bool  # acks=0 or cut short: nothing may come back


class Generator:
    """Requests by number: the same seed and number give the same bytes."""

    def __init__(self, seed: int, ranges: list[tuple[int, int, int]]) -> None:
        self.seed = seed
        self.ranges = ranges

    def request(self, number: int) -> Request:
        rng = random.Random(f"{self.seed}/{number}")
        key_number, low, high = rng.choice(self.ranges)
        key, version = ApiKey(key_number), rng.randint(low, high)
        if key is ApiKey.PRODUCE:
            version = max(version, 3)
        message = getattr(messages, f"{key.schema_name}Request")()
        body = self.encoded(rng, key, version, message)
        for _ in range(rng.choice([0, 0, 1, 1, 2, 5])):
            body = rng.choice(MUTATIONS)(rng, body)
        client_id = rng.choice(["fuzz", "", None])
        return Request(key, version, request_frame(key, version, number & 0x7FFFFFFF, body, client_id), key is ApiKey.PRODUCE)

    def encoded(self, rng: random.Random, key: ApiKey, version: int, message: Any) -> bytes:
        """A request with some fields set at random; of defaults only when the values do not fit its types."""
        plain = bytes(messages.encode_request(key, version, message))
        try:
            filled = messages.decode_request(key, version, memoryview(plain))
            fill(rng, filled)
            return bytes(messages.encode_request(key, version, filled))
        except (ValueError, TypeError, AttributeError, struct.error, OverflowError):
            return plain


def fill(rng: random.Random, message: MessageBase) -> None:
    for name, value in list(set_fields(message)):
        if isinstance(value, MessageBase):
            fill(rng, value)
        elif rng.random() < 0.3:
            continue
        elif name == "records":
            setattr(message, name, batch(rng))
        elif isinstance(value, bool):
            setattr(message, name, rng.random() < 0.5)
        elif isinstance(value, int):
            setattr(message, name, rng.choice([0, 10, 100]) if name in MAX_WAIT_FIELDS else rng.choice(NUMBERS))
        elif isinstance(value, str):
            setattr(message, name, rng.choice(NAMES))
        elif isinstance(value, list):
            fill_list(rng, message, name)


def fill_list(rng: random.Random, message: MessageBase, name: str) -> None:
    kinds = [kind for kind in vars(type(message)).values() if isinstance(kind, type) and issubclass(kind, MessageBase)]
    if not kinds:
        setattr(message, name, [rng.choice(NAMES) for _ in range(rng.randrange(3))])
        return
    items = []
    for _ in range(rng.randrange(3)):
        item = rng.choice(kinds)()
        for field, default in item._defaults.items():
            if isinstance(default, str):
                setattr(item, field, rng.choice(NAMES))
            elif isinstance(default, int) and not isinstance(default, bool):
                setattr(item, field, rng.choice([0, 1, -1]))
            elif isinstance(default, list) or (default is None and field.endswith("s")):
                fill_list(rng, item, field)
        if "records" in item._defaults:
            item.records = batch(rng)
        items.append(item)
    setattr(message, name, items)


def batch(rng: random.Random) -> bytes:
    """A record batch, sometimes with something wrong in it."""
    records = [
        (rng.choice([0, -1, 1_700_000_000_000, 2**62]), rng.choice([None, b"k"]), rng.randbytes(rng.randrange(50))) for _ in range(3)
    ]
    built = build_batch(
        records, codec=rng.randrange(5), producer_id=rng.choice([-1, 0, 5]), producer_epoch=0, base_sequence=rng.choice([-1, 0])
    )
    if rng.random() < 0.5:
        built[rng.randrange(len(built))] ^= 1 << rng.randrange(8)
    return bytes(built)


def _flip(rng: random.Random, body: bytes) -> bytes:
    changed = bytearray(body or b"\0")
    changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _overwrite(rng: random.Random, body: bytes) -> bytes:
    edge, position = rng.choice(EDGE_BYTES), rng.randrange(len(body) + 1)
    return body[:position] + edge + body[position + len(edge) :]


def _insert(rng: random.Random, body: bytes) -> bytes:
    position = rng.randrange(len(body) + 1)
    return body[:position] + rng.randbytes(rng.choice([1, 2, 4, 100])) + body[position:]


def _cut(rng: random.Random, body: bytes) -> bytes:
    return body[: rng.randrange(len(body) + 1)]


def _double(rng: random.Random, body: bytes) -> bytes:
    start = rng.randrange(len(body) + 1)
    return body + body[start:] * rng.choice([1, 3])


MUTATIONS: list[Callable[[random.Random, bytes], bytes]] = [_flip, _overwrite, _insert, _cut, _double]


class Fuzzer:
    """Sends generated requests one after another and watches the broker."""

    def __init__(self, broker: BrokerProcess, seed: int) -> None:
        self.broker = broker
        with Connection(broker.bootstrap) as connection:
            answer = connection.request(ApiKey.API_VERSIONS, 0, {})
        self.generator = Generator(seed, [(k.api_key, k.min_version, k.max_version) for k in answer.api_keys])
        self.connection: Connection | None = None
        self.sent = self.answered = self.closed = 0

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def run(self, seconds: float, first: int = 0) -> None:
        """Until `seconds` are over. Raises FuzzError with the number of the request."""
        end = time.monotonic() + seconds
        number = first
        while time.monotonic() < end:
            request = self.generator.request(number)
            try:
                self.send(request)
                if number % 100 == 0:
                    self.watch()
            except FuzzError as error:
                raise FuzzError(
                    f"{error}\n  request {number}: {request.key.name} v{request.version} {request.frame.hex()[:4000]}"
                ) from error
            number += 1
        self.watch()

    def send(self, request: Request) -> None:
        if self.connection is None:
            self.connection = Connection(self.broker.bootstrap, timeout=DEADLINE_SECONDS)
        self.sent += 1
        self.connection.socket.settimeout(WAIT_SECONDS if request.key in MAY_WAIT else DEADLINE_SECONDS)
        try:
            self.connection.send_frame(request.frame)
            if request.silent:  # acks may have become 0: what comes next tells that it was dealt with
                self.connection.send_frame(request_frame(ApiKey.API_VERSIONS, 0, 1, b""))
            frame = self.connection.receive_frame()
            if request.silent and frame is not None and frame[:4] == request.frame[4:8]:
                frame = self.connection.receive_frame()
        except TimeoutError as error:
            if request.key not in MAY_WAIT:
                raise FuzzError(f"no answer within {DEADLINE_SECONDS} s") from error
            frame = None
        except ConnectionError:
            frame = None
        if frame is None:
            self.closed += 1
            self.close()
        else:
            self.answered += 1

    def watch(self) -> None:
        """Is it alive, does it answer others, does it keep within its memory?"""
        if not self.broker.running:
            raise FuzzError(f"the broker ended:\n{self.broker.text()[-3000:]}")
        with Connection(self.broker.bootstrap, timeout=DEADLINE_SECONDS) as other:
            if other.request(ApiKey.API_VERSIONS, 0, {}).error_code != 0:
                raise FuzzError("ApiVersions is refused")
        statm = Path(f"/proc/{self.broker.pid}/statm")
        if statm.exists() and (used := int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")) > MEMORY_LIMIT_BYTES:
            raise FuzzError(f"the broker uses {used >> 20} MiB")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args(arguments)
    print(f"seed {given.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder, BrokerProcess(Path(folder) / "data") as broker:
        fuzzer = Fuzzer(broker, given.seed)
        try:
            fuzzer.run(given.seconds, given.first)
        except FuzzError as error:
            number = max(given.first + fuzzer.sent - 20, 0)
            print(
                f"{error}\nrepeat: python -m tests.fuzz --seconds {given.seconds:g} --seed {given.seed} --first {number}", file=sys.stderr
            )
            return 1
        finally:
            fuzzer.close()
        tracebacks = broker.text().count("Traceback")
        print(f"{fuzzer.sent} requests, {fuzzer.answered} answered, {fuzzer.closed} connections closed, {tracebacks} tracebacks")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
