"""Watches a ledger's postings while everything around them is killed: debits must equal credits at every committed point.

A committed point is where the last stable offsets of the partitions stand after a transaction. oncelog moves those of all partitions at
once, so one ListOffsets request for all of them is such a point; what a stock read_committed consumer finds below must balance.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, NamedTuple

from oncelog.protocol import control_records, records

DOWN = (
    "_TRANSPORT",
    "_ALL_BROKERS_DOWN",
    "_TIMED_OUT",
    "_RESOLVE",
    "_TIMED_OUT_QUEUE",
    "COORDINATOR_NOT_AVAILABLE",
    "NOT_LEADER_FOR_PARTITION",
)
"""What a client says while the broker is being killed and started again."""


class Posting(NamedTuple):
    """One side of a transfer."""

    offset: int
    transfer: str
    amount_cents: int


class Unbalanced(AssertionError):
    """A point at which the books do not balance."""


class Books:
    """Postings up to some point: each transfer on both sides, once, or not at all."""

    def __init__(self) -> None:
        self.sum_cents = 0
        self.sides: dict[str, Counter[int]] = defaultdict(Counter)
        self.half: set[str] = set()

    def post(self, posting: Posting) -> None:
        self.sum_cents += posting.amount_cents
        sides = self.sides[posting.transfer]
        sides[posting.amount_cents] += 1
        (self.half.discard if sides.total() == 2 and not sum(sides.elements()) else self.half.add)(posting.transfer)

    def check(self, where: object) -> None:
        """Raises Unbalanced."""
        if self.sum_cents or self.half:
            few = sorted(self.half)[:3]
            raise Unbalanced(
                f"at {where}: debits and credits differ by {self.sum_cents}, {len(self.half)} transfers not posted once: {few}"
            )


class Watcher(threading.Thread):
    """Looks at every committed point of `topic` until it is told to stop; `join` raises what it found wrong."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition
        from confluent_kafka.admin import AdminClient

        super().__init__(name=f"watch-{topic}", daemon=True)
        self.points: list[tuple[int, ...]] = []
        """the last stable offsets at each point, in order"""
        self.books = Books()
        self.failure: BaseException | None = None
        self._stop_at: tuple[int, ...] | None = None
        self._topic = topic
        self._admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        self._reached = [0] * partitions
        self._waiting: list[list[Posting]] = [[] for _ in range(partitions)]
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "ledger-watch",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "fetch.wait.max.ms": 10,
                "reconnect.backoff.max.ms": 200,
                "log_level": 0,
            }
        )
        self._consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in range(partitions)])
        self._finish = threading.Event()

    def run(self) -> None:
        try:
            while True:
                last = self._finish.is_set()  # what was committed before the end was asked for is seen in this round
                point = self.stable_offsets()
                if point is not None and (not self.points or point != self.points[-1]):
                    self._read_up_to(point)
                    self._check(point)
                if last and point is not None:
                    break
        except BaseException as error:  # handed to whoever joins
            self.failure = error
        finally:
            self._consumer.close()

    def finish(self, seconds: float = 60.0) -> None:
        """Look once more, then end. Raises what was found wrong."""
        self._finish.set()
        self.join(seconds)
        if self.failure is not None:
            raise self.failure
        assert not self.is_alive(), f"{self.name} hangs at {self.points[-1:]}, has read up to {self._reached}"

    def stable_offsets(self) -> tuple[int, ...] | None:
        """The last stable offsets of all partitions, from one answer; None while the broker is down."""
        from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
        from confluent_kafka.admin import OffsetSpec

        places = [TopicPartition(self._topic, number) for number in range(len(self._reached))]
        asked = self._admin.list_offsets(
            dict.fromkeys(places, OffsetSpec.latest()), isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=2
        )
        try:
            offsets = tuple(int(asked[place].result(10).offset) for place in places)
        except KafkaException as refused:
            check_down(refused.args[0])
            return None
        return offsets if min(offsets) >= 0 else None  # librdkafka may report a request that never left as the offset "invalid"

    def _read_up_to(self, point: tuple[int, ...]) -> None:
        from confluent_kafka import KafkaError

        deadline = time.monotonic() + 60
        while any(reached < wanted for reached, wanted in zip(self._reached, point, strict=True)):
            if time.monotonic() > deadline:
                raise Unbalanced(f"the consumer does not get to {point}: {self._reached}")
            for message in self._consumer.consume(1000, 0.02):
                error = message.error()
                if error is None:
                    self._waiting[message.partition()].append(posting(message))
                    self._reached[message.partition()] = message.offset() + 1
                elif error.code() == KafkaError._PARTITION_EOF:
                    self._reached[message.partition()] = max(self._reached[message.partition()], message.offset())
                else:
                    check_down(error)

    def _check(self, point: tuple[int, ...]) -> None:
        if self.points and any(now < before for now, before in zip(point, self.points[-1], strict=True)):
            raise Unbalanced(f"last stable offsets went back from {self.points[-1]} to {point}")
        self.points.append(point)
        for number, end in enumerate(point):
            waiting = self._waiting[number]
            below = [each for each in waiting if each.offset < end]
            self._waiting[number] = waiting[len(below) :]
            for each in below:
                self.books.post(each)
        self.books.check(f"offsets {point}")


def check_down(error: Any) -> None:
    """Raises what is no sign of a broker being away."""
    from confluent_kafka import KafkaException

    if error.name() not in DOWN:
        raise KafkaException(error)


def posting(message: Any) -> Posting:
    value = json.loads(message.value())
    return Posting(message.offset(), value["transfer"], value["amount_cents"])


def check_transactions(data_dir: Path, topic: str) -> int:
    """Each committed transaction by itself, from the logs on the disk; how many there are. Raises Unbalanced.

    A micro-batch has an epoch of its own, so records and markers of all partitions come together by producer id and epoch.
    """
    sent: dict[tuple[int, int], list[Posting]] = defaultdict(list)
    ended: dict[tuple[int, int], set[str]] = defaultdict(set)
    for log in sorted(data_dir.glob(f"{topic}-[0-9]*/*.log")):
        data = log.read_bytes()
        open_: dict[int, tuple[int, int]] = {}
        for position, header in records.iter_headers(data):
            batch = memoryview(data)[position : position + header.size_bytes]
            if header.is_control:
                marker = control_records.parse_end_transaction_marker(batch)
                assert marker is not None
                if header.producer_id in open_:
                    ended[open_.pop(header.producer_id)].add("commit" if marker.commit else "abort")
                continue
            producer = header.producer_id, header.producer_epoch
            open_[header.producer_id] = producer
            for record in records.iter_records(batch):
                value = json.loads(bytes(record.value or b""))
                sent[producer].append(Posting(record.offset, value["transfer"], value["amount_cents"]))
        if open_:
            raise Unbalanced(f"{log}: transactions without an end: {open_}")
    everything, committed = Books(), 0
    for producer, postings in sent.items():
        if len(ended[producer]) != 1:
            raise Unbalanced(f"{topic}: producer {producer} committed in one partition and aborted in another")
        if ended[producer] == {"commit"}:
            committed += 1
            for each in postings:
                everything.post(each)
            everything.check(f"the transaction of producer {producer}")
    return committed
