"""Takes orders, writes payments: each order is paid once, whatever fails meanwhile.

An order's payment and the offset behind the order are one transaction. Where that fails for good (fenced, thrown out of the group) the
service begins again as a new instance, where the last committed transaction ended.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

log = logging.getLogger(__name__)


class Payments:
    """One instance. Raises KafkaException where only a new one can go on."""

    def __init__(self, bootstrap: str, **settings: Any) -> None:
        # not "rebootstrap": librdkafka from 2.10 on (its issue 5511) then waits for a coordinator that it has given up, and
        # send_offsets_to_transaction never returns once all brokers were down
        common = {"bootstrap.servers": bootstrap, "metadata.recovery.strategy": "none", **settings}
        reading = {
            "group.id": "payments",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
        }
        self._consumer = Consumer(common | reading)
        self._producer = Producer(common | {"transactional.id": "payments"})

    def run(self, stopping: threading.Event) -> None:
        self._producer.init_transactions(30)
        self._consumer.subscribe(["orders"])
        while not stopping.is_set():
            orders = [order for order in self._consumer.consume(5, 0.1) if order.error() is None]
            if orders:
                self._pay(orders)

    def _pay(self, orders: list[Message]) -> None:
        self._producer.begin_transaction()
        try:
            for order in orders:
                self._producer.produce("payments", key=order.key(), value=b"paid " + order.value())
            ends = {(order.topic(), order.partition()): order.offset() + 1 for order in orders}
            offsets = [TopicPartition(topic, partition, offset) for (topic, partition), offset in ends.items()]
            metadata = self._consumer.consumer_group_metadata()
            self._producer.send_offsets_to_transaction(offsets, metadata, 3)
            repeated(lambda: self._producer.commit_transaction(5))
        except KafkaException as failed:
            if failed.args[0].txn_requires_abort():
                self._producer.abort_transaction(30)
            raise

    def close(self) -> None:
        self._consumer.close()


def repeated(call: Callable[[], None]) -> None:
    """Ask again while nobody knows how it ended: the coordinator answers as it did the first time."""
    while True:
        try:
            return call()
        except KafkaException as failed:
            if not failed.args[0].retriable():
                raise


def serve(bootstrap: str, stopping: threading.Event, **settings: Any) -> None:
    """Pay until told to stop."""
    while not stopping.is_set():
        payments = Payments(bootstrap, **settings)
        try:
            payments.run(stopping)
        except KafkaException as failed:
            log.warning("a new instance goes on: %s", failed)
        finally:
            payments.close()
