"""Watches a ledger's postings while everything around them is killed: debits must equal credits at every committed point.

A stock read_committed consumer follows the topic step by step: whenever the last stable offset of a partition has moved, it reads up to
there. Partitions move one after the other, on any Kafka, so a step may show a transaction in one partition already and not yet in the next.
It must be the newest one: all before it stand whole, and every transaction by itself balances. Which record belongs to which transaction
no consumer is told; the logs on the disk say it.
"""

from __future__ import annotations

import json
import threading
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from oncelog.protocol import control_records, records
from oncelog.spark_jobs.demo_parts.patience import Patience

DOWN = ("_TRANSPORT", "_ALL_BROKERS_DOWN", "_TIMED_OUT", "_RESOLVE", "_TIMED_OUT_QUEUE", "_NOENT", "NOT_LEADER_FOR_PARTITION")
"""What a client says while the broker is being killed and started again."""


class Posting(NamedTuple):
    """One side of a transfer."""

    partition: int
    offset: int
    transfer: str
    amount_cents: int


@dataclass
class Transaction:
    """What one producer id and epoch, that is one micro-batch, wrote and how it ended."""

    postings: list[Posting] = field(default_factory=list)
    ends: set[str] = field(default_factory=set)


class Unbalanced(AssertionError):
    """Books that do not balance."""


class Watcher(threading.Thread):
    """Follows `topic` until it is told to finish."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition
        from confluent_kafka.admin import AdminClient

        super().__init__(name=f"watch-{topic}", daemon=True)
        self.points: list[tuple[int, ...]] = []
        """the last stable offsets at each step, in order"""
        self.received: list[Posting] = []
        self.failure: BaseException | None = None
        self._topic = topic
        self._admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        self._reached = [0] * partitions
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
        self._finishing = threading.Event()

    def run(self) -> None:
        try:
            while True:
                last = self._finishing.wait(0.01)  # what was committed before the end was asked for is seen in this round
                point = self._stable_offsets()
                if point is not None and (not self.points or point != self.points[-1]):
                    self._step(point)
                if last and point is not None:
                    break
        except Exception as error:  # handed to whoever calls `finish`
            self.failure = error
        finally:
            self._consumer.close()

    def finish(self, seconds: float = 60.0) -> None:
        """Look once more, then end. Raises what went wrong on the way."""
        self._finishing.set()
        self.join(seconds)
        if self.failure is not None:
            raise self.failure
        assert not self.is_alive(), f"{self.name} hangs at {self.points[-1:]}, has read up to {self._reached}"

    def _stable_offsets(self) -> tuple[int, ...] | None:
        """The last stable offset of each partition; None while the broker is down."""
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

    def _step(self, point: tuple[int, ...]) -> None:
        """Read up to `point`."""
        from confluent_kafka import KafkaError

        if self.points and any(now < before for now, before in zip(point, self.points[-1], strict=True)):
            raise Unbalanced(f"last stable offsets went back from {self.points[-1]} to {point}")
        patience = Patience(60)
        while any(reached < wanted for reached, wanted in zip(self._reached, point, strict=True)):
            if patience.over:
                raise Unbalanced(f"the consumer does not get to {point}: {self._reached}")
            for message in self._consumer.consume(1000, 0.02):
                error, partition = message.error(), message.partition()
                if error is None:
                    self.received.append(posting(partition, message.offset(), message.value()))
                    self._reached[partition] = message.offset() + 1
                elif error.code() == KafkaError._PARTITION_EOF:
                    self._reached[partition] = max(self._reached[partition], message.offset())
                else:
                    check_down(error)
        self.points.append(point)


def check_down(error: Any) -> None:
    """Raises what is no sign of a broker being away."""
    from confluent_kafka import KafkaException

    if error.name() not in DOWN:
        raise KafkaException(error)


def posting(partition: int, offset: int, value: bytes | None) -> Posting:
    found = json.loads(value or b"")
    return Posting(partition, offset, found["transfer"], found["amount_cents"])


def transactions(data_dir: Path, topic: str) -> list[Transaction]:
    """The transactions in the logs of `topic`, in their order: one query, so producer ids and epochs count up."""
    found: dict[tuple[int, int], Transaction] = defaultdict(Transaction)
    for folder in sorted(data_dir.glob(f"{topic}-[0-9]*")):
        partition = int(folder.name.rsplit("-", 1)[1])
        under_way: dict[int, Transaction] = {}
        for log in sorted(folder.glob("*.log")):
            data = log.read_bytes()
            for position, header in records.iter_headers(data):
                batch = data[position : position + header.size_bytes]
                marker = control_records.parse_end_transaction_marker(batch) if header.is_control else None
                if marker is None:
                    transaction = under_way[header.producer_id] = found[header.producer_id, header.producer_epoch]
                    transaction.postings += [posting(partition, each.offset, each.value) for each in records.iter_records(batch)]
                elif header.producer_id in under_way:  # else a partition that was added and got no records
                    under_way.pop(header.producer_id).ends.add("commit" if marker.commit else "abort")
        for transaction in under_way.values():
            transaction.ends.add("open")
    return [transaction for _, transaction in sorted(found.items())]


class Verdict(NamedTuple):
    """What was checked."""

    committed: int
    """transactions, each of which balances"""
    points: int
    """steps at which the consumer had the books after a whole number of transactions"""
    between: int
    """steps at which one partition was ahead with the newest transaction"""


def judge(written: Sequence[Transaction], received: Sequence[Posting], points: Sequence[tuple[int, ...]], transfers: int) -> Verdict:
    """Raises Unbalanced unless every transfer stands once on both sides, at every point."""
    for transaction in written:
        if len(transaction.ends) != 1 or "open" in transaction.ends:
            raise Unbalanced(f"a transaction ended as {sorted(transaction.ends)}: {transaction.postings[:2]}")
    committed = [transaction for transaction in written if transaction.ends == {"commit"}]
    for transaction in committed:
        sides: dict[str, list[int]] = defaultdict(list)
        for each in transaction.postings:
            sides[each.transfer].append(each.amount_cents)
        if wrong := [transfer for transfer, amounts in sides.items() if len(amounts) != 2 or sum(amounts)]:
            raise Unbalanced(f"{len(wrong)} transfers of one transaction are not posted once on both sides: {wrong[:3]}")
    posted = Counter(each.transfer for transaction in committed for each in transaction.postings)
    if len(posted) != transfers or set(posted.values()) != {2}:
        raise Unbalanced(f"{len(posted)} of {transfers} transfers posted, {sum(count != 2 for count in posted.values())} not once")
    if Counter(received) != Counter(each for transaction in committed for each in transaction.postings):
        raise Unbalanced("the consumer got other postings than those that were committed")
    whole = [balances_at(committed, point) for point in points]
    return Verdict(len(committed), sum(whole), len(whole) - sum(whole))


def balances_at(committed: Sequence[Transaction], point: tuple[int, ...]) -> bool:
    """Does what a reader at `point` has balance? False when the newest transaction shows in part. Raises Unbalanced for an older one."""
    visible = [[each for each in transaction.postings if each.offset < point[each.partition]] for transaction in committed]
    newest = max((number for number, postings in enumerate(visible) if postings), default=-1)
    for number, postings in enumerate(visible[: max(newest, 0)]):
        if len(postings) != len(committed[number].postings):
            raise Unbalanced(f"at {point} transaction {number} shows in part, though {newest} shows already")
    if newest >= 0 and len(visible[newest]) != len(committed[newest].postings):
        return False
    if sum(each.amount_cents for postings in visible for each in postings):
        raise Unbalanced(f"at {point} debits and credits differ")
    return True
