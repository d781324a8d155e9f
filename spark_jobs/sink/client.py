"""A small blocking Kafka client: connections with several requests in flight, metadata, coordinators. Standard library only.

Settings are Kafka's: `security.protocol` (PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL), `ssl.ca.location`, `ssl.certificate.location`,
`ssl.key.location`, `sasl.mechanism` (PLAIN, SCRAM-SHA-256, SCRAM-SHA-512), `sasl.username`, `sasl.password`.
"""

from __future__ import annotations

import logging
import socket
import ssl
import struct
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from oncelog.spark_jobs.sink import wire
from oncelog.spark_jobs.sink.sasl import log_in

log = logging.getLogger(__name__)

T = TypeVar("T")

RETRIABLE = frozenset({3, 5, 6, 7, 13, 14, 15, 16, 19, 20, 51, 56, 88})
"""Errors that pass: no leader yet, coordinator loading or moving, the former transaction still being completed, …"""
FENCED = frozenset({47, 90})
"""INVALID_PRODUCER_EPOCH (older requests), PRODUCER_FENCED."""
LARGEST_ANSWER_BYTES = 100 << 20
NAMES = {
    3: "UNKNOWN_TOPIC_OR_PARTITION",
    10: "MESSAGE_TOO_LARGE",
    14: "COORDINATOR_LOAD_IN_PROGRESS",
    16: "NOT_COORDINATOR",
    17: "INVALID_TOPIC_EXCEPTION",
    29: "TOPIC_AUTHORIZATION_FAILED",
    30: "GROUP_AUTHORIZATION_FAILED",
    45: "OUT_OF_ORDER_SEQUENCE_NUMBER",
    47: "INVALID_PRODUCER_EPOCH",
    48: "INVALID_TXN_STATE",
    49: "INVALID_PRODUCER_ID_MAPPING",
    50: "INVALID_TRANSACTION_TIMEOUT",
    51: "CONCURRENT_TRANSACTIONS",
    53: "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
    87: "INVALID_RECORD",
    88: "UNSTABLE_OFFSET_COMMIT",
    90: "PRODUCER_FENCED",
    120: "TRANSACTION_ABORTABLE",
}


class BrokerError(RuntimeError):
    """The broker refused; `code` is Kafka's."""

    def __init__(self, code: int, what: str) -> None:
        super().__init__(code, what)
        self.code = code

    def __str__(self) -> str:
        return f"{self.args[1]}: {NAMES.get(self.code, 'error')} ({self.code})"


class FencedError(BrokerError):
    """Another producer with the same transactional id has taken over."""


class NotReachedError(RuntimeError):
    """No broker gave a final answer in time."""


class Connection:
    """One socket; requests may be sent before earlier answers are read, answers come in the order of the requests."""

    def __init__(self, address: tuple[str, int], settings: Mapping[str, str], timeout: float) -> None:
        self._socket = socket.create_connection(address, timeout)
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            protocol = settings.get("security.protocol", "PLAINTEXT").upper()
            if protocol.endswith("SSL"):
                self._socket = tls_context(settings).wrap_socket(self._socket, server_hostname=address[0])
            self._waiting: deque[tuple[wire.Api, int]] = deque()
            self._correlation_id = 0
            if protocol.startswith("SASL"):
                log_in(self.call, settings)
        except BaseException:
            self._socket.close()
            raise

    def send(self, api: wire.Api, body: Iterable[bytes]) -> None:
        """Send without waiting. Raises OSError."""
        self._correlation_id += 1
        self._waiting.append((api, self._correlation_id))
        self._socket.sendall(wire.frame(api, self._correlation_id, "oncelog-spark", body))

    def receive(self) -> bytes:
        """Body of the answer to the oldest unanswered request. Raises OSError (a time-out is one); LookupError when nothing was asked."""
        api, expected = self._waiting.popleft()
        (size,) = struct.unpack(">i", self._exactly(4))
        if not 4 <= size <= LARGEST_ANSWER_BYTES:
            raise ConnectionError(f"{size} bytes announced: this is no Kafka, or TLS is expected")
        answer = self._exactly(size)
        (correlation_id,) = struct.unpack_from(">i", answer)
        if correlation_id != expected:
            raise ConnectionError(f"answer {correlation_id} where {expected} was due")
        return answer[5 if api in wire.FLEXIBLE else 4 :]

    def call(self, api: wire.Api, body: Iterable[bytes]) -> bytes:
        """Send and wait."""
        self.send(api, body)
        return self.receive()

    def _exactly(self, size: int) -> bytes:
        data = bytearray(size)
        view = memoryview(data)
        while view:
            got = self._socket.recv_into(view)
            if not got:
                raise ConnectionError("connection closed by the broker")
            view = view[got:]
        return bytes(data)

    def close(self) -> None:
        self._socket.close()


def tls_context(settings: Mapping[str, str]) -> ssl.SSLContext:
    """TLS as the settings say; the broker's certificate is always checked."""
    context = ssl.create_default_context(cafile=settings.get("ssl.ca.location"))
    if settings.get("ssl.certificate.location"):
        context.load_cert_chain(settings["ssl.certificate.location"], settings.get("ssl.key.location"))
    return context


class Patience:
    """Repeats what may still succeed, with growing pauses, up to a deadline."""

    def __init__(self, seconds: float) -> None:
        self.deadline = time.monotonic() + seconds
        self._pause = 0.01

    def wait(self, reason: BaseException) -> None:
        """Pause, or raise NotReachedError from `reason` when the time is over."""
        if time.monotonic() + self._pause > self.deadline:
            raise NotReachedError(f"gave up: {reason}") from reason
        time.sleep(self._pause)
        self._pause = min(self._pause * 2, 1.0)


class Cluster:
    """Where things are, and a connection to each of them."""

    def __init__(
        self, bootstrap_servers: str, settings: Mapping[str, str] | None = None, patience: float = 60.0, timeout: float = 30.0
    ) -> None:
        self.bootstrap = [_address(server) for server in bootstrap_servers.split(",")]
        self.settings = dict(settings or {})
        self.patience = patience
        self.timeout = timeout
        self._open: dict[tuple[str, int], Connection] = {}
        self._coordinators: dict[tuple[int, str], tuple[str, int]] = {}

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_exc: object) -> None:
        for connection in self._open.values():
            connection.close()
        self._open.clear()

    def open(self, address: tuple[str, int]) -> Connection:
        """A connection of the caller's own, to be closed by him. Raises OSError."""
        return Connection(address, self.settings, self.timeout)

    def connect(self, address: tuple[str, int]) -> Connection:
        """The connection to `address` for single questions, opened if need be."""
        if address not in self._open:
            self._open[address] = self.open(address)
        return self._open[address]

    def forget(self, address: tuple[str, int]) -> None:
        """Close the connection to `address`; whatever was in flight is given up."""
        if address in self._open:
            self._open.pop(address).close()

    def any(self, api: wire.Api, body: Sequence[bytes]) -> bytes:
        """Ask whichever bootstrap server answers. Raises OSError when none does."""
        failure: OSError = ConnectionError("no bootstrap server")
        for address in self.bootstrap:
            try:
                return self.connect(address).call(api, body)
            except OSError as error:
                self.forget(address)
                failure = error
        raise failure

    def metadata(self, topics: Sequence[str]) -> wire.ClusterView:
        """Metadata of `topics`, each with all partitions led. Raises BrokerError(3) naming a missing topic, NotReachedError."""
        patience = Patience(self.patience)
        missing_until = time.monotonic() + min(5.0, self.patience)  # a topic made a moment ago may not be known everywhere
        while True:
            try:
                view = wire.metadata_answer(self.any(wire.METADATA, wire.metadata_request(topics)))
                for topic in topics:
                    _check_topic(topic, view)
                return view
            except OSError as error:
                patience.wait(error)
            except BrokerError as error:
                if error.code not in RETRIABLE or (error.code == 3 and time.monotonic() > missing_until):
                    raise
                patience.wait(error)

    def leader(self, topic: str, partition: int) -> tuple[str, int]:
        """Address of the broker to write this partition to."""
        view = self.metadata([topic])
        node = next(each.leader for each in view.topics[topic][1] if each.number == partition)
        return view.brokers[node]

    def ask_coordinator(
        self, kind: int, key: str, api: wire.Api, body: Sequence[bytes], read: Callable[[bytes], T], error_of: Callable[[T], int], what: str
    ) -> T:
        """Ask the coordinator of a group or transactional id until it gives a final answer; what may pass is tried again.

        `error_of` picks the error out of the answer. Raises FencedError, BrokerError, NotReachedError.
        """
        patience = Patience(self.patience)
        while True:
            try:
                address = self._coordinator(kind, key)
                log.debug("%s asked", what)
                answer = read(self.connect(address).call(api, body))
                code = error_of(answer)
                log.debug("%s answered error=%d", what, code)
                if not code:
                    return answer
                raise FencedError(code, what) if code in FENCED else BrokerError(code, what)
            except OSError as error:
                self.forget(self._coordinators.pop((kind, key), self.bootstrap[0]))
                patience.wait(error)
            except BrokerError as error:
                if error.code not in RETRIABLE:
                    raise
                if error.code in (15, 16):
                    self._coordinators.pop((kind, key), None)
                patience.wait(error)

    def _coordinator(self, kind: int, key: str) -> tuple[str, int]:
        if (kind, key) not in self._coordinators:
            error, address = wire.find_coordinator_answer(self.any(wire.FIND_COORDINATOR, wire.find_coordinator_request(key, kind)))
            if error:
                raise BrokerError(error, f"coordinator of {key}")
            self._coordinators[kind, key] = address
        return self._coordinators[kind, key]


def _check_topic(topic: str, view: wire.ClusterView) -> None:
    error, partitions = view.topics.get(topic, (3, []))
    error = error or next((each.error for each in partitions if each.leader not in view.brokers), 0)
    if error:
        raise BrokerError(error, f"topic {topic}")


def _address(server: str) -> tuple[str, int]:
    host, _, port = server.strip().rpartition(":")
    return host.strip("[]"), int(port)
