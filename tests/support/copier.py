"""One copier: read a topic in a group, write another, the group's offsets in the transaction (confluent-kafka). Run as a script.

    copier.py BOOTSTRAP GROUP SOURCE TARGET TRANSACTIONAL_ID [PROTOCOL [SESSION_TIMEOUT_MS]]

Runs while its input lasts. Prints a line for every turn, so that a supervisor knows that it lives; leaves with status 3 when a new
instance has to take over.
"""

from __future__ import annotations

import faulthandler
import select
import sys
import time
from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

SECONDS = 5.0
TAKE_OVER = 3
NEAR = {"reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 200}


class Copier:
    def __init__(
        self,
        bootstrap: str,
        group: str,
        source: str,
        target: str,
        transactional_id: str,
        protocol: str = "classic",
        session_timeout_ms: str = "6000",
    ) -> None:
        self.target = target
        self.rebalanced = False
        session = {"session.timeout.ms": int(session_timeout_ms), "heartbeat.interval.ms": int(session_timeout_ms) // 5}
        self.consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "group.protocol": protocol,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                **(session if protocol == "classic" else {}),  # the broker tells the members of the other
                **NEAR,
            }
        )
        self.producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "transactional.id": transactional_id,
                "transaction.timeout.ms": 5_000,
                "linger.ms": 0,
                # librdkafka 2.16 forgets brokers when none answers, and then waits for ever for the group coordinator it knew
                "metadata.recovery.strategy": "none",
                **NEAR,
            }
        )
        until_done(lambda: self.producer.init_transactions(SECONDS))
        self.consumer.subscribe([source], on_assign=self._notice, on_revoke=self._notice, on_lost=self._notice)

    def _notice(self, _consumer: Any, _partitions: Any) -> None:
        self.rebalanced = True

    def turn(self) -> None:
        """One transaction, if there is anything to read. What came with a rebalance is read again: it may be another member's now."""
        batch = [message for message in self.consumer.consume(20, 0.2) if message.error() is None]
        if self.rebalanced:
            self.rebalanced = False
            self.rewind()
            return
        if not batch:
            return
        self.producer.begin_transaction()
        ends: dict[tuple[str, int], int] = {}
        for message in batch:
            self.producer.produce(self.target, message.value(), partition=message.partition())
            ends[message.topic(), message.partition()] = message.offset() + 1
        offsets = [TopicPartition(topic, partition, end) for (topic, partition), end in ends.items()]
        until_done(lambda: self.send_offsets(offsets))
        until_done(lambda: self.producer.commit_transaction(SECONDS))

    def send_offsets(self, offsets: list[TopicPartition]) -> None:
        self.producer.send_offsets_to_transaction(offsets, self.consumer.consumer_group_metadata(), SECONDS)

    def rewind(self) -> None:
        """Back to what is committed."""
        for place in until_done(lambda: self.consumer.committed(self.consumer.assignment(), SECONDS)):
            if place.error is not None:
                raise KafkaException(place.error)
            self.consumer.seek(TopicPartition(place.topic, place.partition, max(place.offset, 0)))

    def run(self) -> int:
        while not select.select([sys.stdin], [], [], 0)[0]:
            print(time.monotonic(), flush=True)
            try:
                self.turn()
            except KafkaException as failure:
                if not failure.args[0].txn_requires_abort():
                    print(f"over: {failure}", file=sys.stderr, flush=True)
                    return TAKE_OVER
                until_done(lambda: self.producer.abort_transaction(SECONDS))
                self.rewind()
        self.consumer.close()
        return 0


def until_done(step: Callable[[], Any]) -> Any:
    """As librdkafka asks for: again while the failure can be retried."""
    while True:
        try:
            return step()
        except KafkaException as failure:
            if not failure.args[0].retriable():
                raise


def main() -> int:
    faulthandler.enable()
    try:
        return Copier(*sys.argv[1:]).run()
    except KafkaException as failure:
        print(f"over: {failure}", file=sys.stderr, flush=True)
        return TAKE_OVER


if __name__ == "__main__":
    sys.exit(main())
