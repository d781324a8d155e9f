"""Minimal transactions without a client library: one Produce v12 of one record, one EndTxn v5, over and over on each connection.

What a library costs would hide the broker. Each frame is a template into which the pair, the sequence and the checksum are patched.
A transaction that begins before the markers of the last one are written is refused by Kafka: it is sent again at once.
"""

from __future__ import annotations

import selectors
import socket
import struct
import time
from contextlib import nullcontext
from typing import Any

import crc32c
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.records import build_batch

from tests.bench.generators import Window
from tests.bench.load import Result, exchange, frame

INIT_VERSION, PRODUCE_VERSION, END_VERSION = 5, 12, 5
CONCURRENT_TRANSACTIONS = 51
_PAIR, _CRC = struct.Struct(">qh"), struct.Struct(">I")
_MARK = 0x1122334455667788  # stands for the producer id until it is patched
_CRC_AT, _ATTRIBUTES_AT, _PAIR_AT = 17, 21, 43  # of a record batch


class TransactionalConnection:
    """One producer on one connection; `send` and `received` take turns."""

    def __init__(self, port: int, transactional_id: str, topic: str, size_bytes: int) -> None:
        self._find(port, transactional_id)
        request = messages.InitProducerIdRequest
        asked = request(transactional_id=transactional_id, transaction_timeout_ms=60_000, producer_id=-1, producer_epoch=-1)
        deadline = time.monotonic() + 30
        while True:
            raw = memoryview(exchange(port, frame(ApiKey.INIT_PRODUCER_ID, INIT_VERSION, asked)))[5:]
            answer = messages.decode_response(ApiKey.INIT_PRODUCER_ID, INIT_VERSION, raw)
            if answer.error_code == 0:
                break
            if time.monotonic() > deadline:
                raise TimeoutError(f"InitProducerId: {answer.error_code}")
            time.sleep(0.02)
        self._pair = answer.producer_id, answer.producer_epoch
        records = bytes(
            build_batch(
                [(int(time.time() * 1000), None, b"x" * size_bytes)],
                producer_id=0,
                producer_epoch=0,
                base_sequence=0,
                is_transactional=True,
            )
        )
        produce = messages.ProduceRequest
        data = [produce.TopicProduceData.PartitionProduceData(index=0, records=records)]
        topics = [produce.TopicProduceData(name=topic, partition_data=data)]
        sent = frame(0, PRODUCE_VERSION, produce(transactional_id=transactional_id, acks=-1, timeout_ms=30_000, topic_data=topics))
        self._produce = bytearray(sent)
        self._batch_at = sent.index(records)
        self._batch_end = self._batch_at + len(records)
        end = messages.EndTxnRequest
        marked = frame(
            26, END_VERSION, end(transactional_id=transactional_id, producer_id=0x1122334455667788, producer_epoch=0x99, committed=True)
        )
        self._end = bytearray(marked)
        self._end_pair_at = marked.index(struct.pack(">q", 0x1122334455667788))
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._ending = self._refused = False
        self.began = 0.0
        self.retries = 0

    def _find(self, port: int, transactional_id: str) -> None:
        request = messages.FindCoordinatorRequest
        exchange(port, frame(ApiKey.FIND_COORDINATOR, 4, request(key_type=1, coordinator_keys=[transactional_id])))

    def send(self) -> None:
        if self._ending:
            _PAIR.pack_into(self._end, self._end_pair_at, *self._pair)
            self.socket.sendall(self._end)
            return
        if not self._refused:
            self.began = time.perf_counter()
        view = memoryview(self._produce)[self._batch_at : self._batch_end]
        _PAIR.pack_into(view, _PAIR_AT, *self._pair)
        _CRC.pack_into(view, _CRC_AT, crc32c.crc32c(view[_ATTRIBUTES_AT:]))
        self.socket.sendall(self._produce)

    def received(self) -> bool:
        """An answer was read; True when a transaction is over."""
        data = self.socket.recv(65536)
        if len(data) < 4 or len(data) != 4 + int.from_bytes(data[:4]):
            raise ConnectionError(f"a short answer of {len(data)} bytes")
        if self._ending:
            error, pid, epoch = struct.unpack_from(">hqh", data, 4 + 4 + 1 + 4)
            if not self._try_again("EndTxn", error):
                self._pair = pid, epoch
                self._ending = False
                return True
        elif not self._try_again("Produce", self._produce_error(data)):
            self._ending = True
        return False

    def _try_again(self, what: str, error: int) -> bool:
        """At once: what a stock client waits for would hide the broker. Raises RuntimeError where that does not help."""
        if error not in (0, CONCURRENT_TRANSACTIONS):
            raise RuntimeError(f"{what}: {error}")
        self._refused = error != 0
        self.retries += self._refused
        return self._refused

    def _produce_error(self, data: bytes) -> int:
        answer: Any = messages.decode_response(ApiKey.PRODUCE, PRODUCE_VERSION, memoryview(data)[9:])
        return int(answer.responses[0].partition_responses[0].error_code)


def run(
    port: int, topic: str, *, producers: int, seconds: float, size_bytes: int = 100, warm_seconds: float = 0.5, window: Window = nullcontext
) -> tuple[Result, int]:
    """Transactions of `producers` connections, one at a time each, and how often one was refused; `window` is open while they count."""
    selector = selectors.DefaultSelector()
    connections = [TransactionalConnection(port, f"raw-{number}", topic, size_bytes) for number in range(producers)]
    for connection in connections:
        selector.register(connection.socket, selectors.EVENT_READ, connection)
        connection.send()

    def until(end: float) -> Result:
        result, begin = Result(), time.perf_counter()
        while time.perf_counter() < end:
            for key, _ in selector.select(1.0):
                connection = key.data
                if connection.received():
                    result.requests += 1
                    result.latencies_ms.append((time.perf_counter() - connection.began) * 1000)
                connection.send()
        result.seconds = time.perf_counter() - begin
        return result

    until(time.perf_counter() + warm_seconds)
    before = sum(connection.retries for connection in connections)
    with window():
        result = until(time.perf_counter() + seconds)
    retries = sum(connection.retries for connection in connections) - before
    for connection in connections:
        connection.socket.close()
    return result, retries
