"""The executors' half of a transaction: one task writes one partition, from sequence number 0 on.

A producer id and epoch given by the driver are good for one micro-batch. That makes the broker the judge between two attempts of a task, if
there ever are two: the first batch an attempt sends holds a number of records that other attempts do not choose, and nothing follows
until it is acknowledged. So of two attempts one gets OUT_OF_ORDER_SEQUENCE_NUMBER and stops, and never is a batch of one taken for a
repetition of the other's.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

from oncelog.spark_jobs.sink import batch_format, wire
from oncelog.spark_jobs.sink.chunks import Chunk, split
from oncelog.spark_jobs.sink.client import FENCED, RETRIABLE, BrokerError, Cluster, Connection, FencedError, Patience
from oncelog.spark_jobs.sink.transaction import ProducerIdentity

IN_FLIGHT = 5
"""Unacknowledged batches per partition: as many as a broker remembers of a producer, so that each can be sent again without harm."""
SEQUENCES = 1 << 31


class AnotherAttemptError(RuntimeError):
    """Another attempt of this task has written to the partition in the same transaction."""


class TooLargeError(RuntimeError):
    """A record is larger than the topic takes."""


class Written(NamedTuple):
    """What a task wrote."""

    records: int
    bytes: int


@dataclass(slots=True)
class Batch:
    """A batch that is not acknowledged yet."""

    sequence: int
    records: int
    data: bytes


class PartitionWriter:
    """Writes records to one partition within a transaction. Memory: up to five batches on their way."""

    def __init__(
        self, cluster: Cluster, transactional_id: str, identity: ProducerIdentity, topic: str, partition: int, *, attempt: int, codec: int
    ) -> None:
        """`attempt` must differ between any two attempts to write this partition with this identity."""
        self.cluster = cluster
        self.transactional_id = transactional_id
        self.identity = identity
        self.topic = topic
        self.partition = partition
        self.codec = codec
        self.sequence = 0
        self.bytes = 0
        self._attempt = attempt
        self._unacknowledged: deque[Batch] = deque()
        self._connection: Connection | None = None

    def write(self, chunk: Chunk) -> None:
        """Send a chunk as one batch; of the very first one only this attempt's own share, and wait for its acknowledgement."""
        if self.sequence == 0:
            share, chunk = split(chunk, 1 + self._attempt % chunk.records)
            self._send(share)
            self._acknowledge_down_to(0)
        if chunk.records:
            self._send(chunk)

    def finish(self) -> Written:
        """Wait until everything is acknowledged."""
        self._acknowledge_down_to(0)
        self._disconnect()
        return Written(self.sequence, self.bytes)

    def _send(self, chunk: Chunk) -> None:
        now_ms = time.time_ns() // 1_000_000
        data = batch_format.record_batch(chunk.data, chunk.records, now_ms, *self.identity, self.sequence % SEQUENCES, self.codec)
        batch = Batch(self.sequence, chunk.records, data)
        self._acknowledge_down_to(IN_FLIGHT - 1)
        self._unacknowledged.append(batch)
        self.sequence += batch.records
        self.bytes += len(data)
        self._transmit(batch)

    def _transmit(self, batch: Batch) -> None:
        try:
            if self._connection is None:
                self._connection = self.cluster.open(self.cluster.leader(self.topic, self.partition))
            self._request(self._connection, batch)
        except OSError as error:
            self._start_over(error, Patience(self.cluster.patience))

    def _request(self, connection: Connection, batch: Batch) -> None:
        timeout_ms = int(self.cluster.timeout * 1000)
        connection.send(wire.PRODUCE, wire.produce_request(self.transactional_id, timeout_ms, self.topic, self.partition, batch.data))

    def _acknowledge_down_to(self, count: int) -> None:
        """Read answers until at most `count` batches are unacknowledged."""
        patience = Patience(self.cluster.patience)
        while len(self._unacknowledged) > count:
            oldest = self._unacknowledged[0]
            try:
                assert self._connection is not None
                error, _base_offset = wire.produce_answer(self._connection.receive())
                if error:
                    self._refused(error, oldest)
            except OSError as lost:
                self._start_over(lost, patience)
            except BrokerError as refused:
                if refused.code not in RETRIABLE:
                    raise
                self._start_over(refused, patience)
            else:
                self._unacknowledged.popleft()

    def _refused(self, error: int, batch: Batch) -> None:
        where = f"{self.topic}-{self.partition}"
        if error in FENCED:
            raise FencedError(error, where)
        if error == 45:
            raise AnotherAttemptError(f"{where} has batches of another attempt of this task (sequence {batch.sequence} refused)")
        if error == 10:
            raise TooLargeError(
                f"{where} refuses a batch of {len(batch.data)} bytes with {batch.records} records: raise max.message.bytes of the topic"
            )
        raise BrokerError(error, where)

    def _start_over(self, reason: Exception, patience: Patience) -> None:
        """A new connection to the leader of now, and everything unacknowledged again, in order: the broker knows those it has."""
        while True:
            patience.wait(reason)
            self._disconnect()
            try:
                self._connection = self.cluster.open(self.cluster.leader(self.topic, self.partition))
                for batch in self._unacknowledged:
                    self._request(self._connection, batch)
                return
            except OSError as error:
                reason = error

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
