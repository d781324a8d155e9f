"""Consume, transform, produce with stock clients: input offsets and output records move in one transaction.

    python -m oncelog.spark_jobs.examples.consume_transform_produce [--bootstrap-servers HOST:PORT] [--crashes 3] [--seed 1]

Reads orders, writes invoices. The worker "crashes" at random points in mid-transaction; its successor takes over the transactional id,
which aborts what was open, and reads on from the offsets that were committed. Prints how many invoices there are: one per order.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Sequence
from typing import Any

from oncelog.spark_jobs.demo_parts.readback import count_rows, read_all
from oncelog.spark_jobs.examples import common
from oncelog.spark_jobs.load import settled

ORDERS = 5000
BATCH = 200


class CrashError(Exception):
    """This worker is gone."""


def invoice(order: dict[str, Any]) -> dict[str, Any]:
    """The transformation."""
    return {"order": order["order"], "cents": order["cents"] * 119 // 100}


def work(bootstrap: str, source: str, target: str, dice: random.Random, crash: bool) -> None:
    """A worker's life, until the input is used up. Raises CrashError in the middle of a transaction when told to `crash`."""
    producer = common.producer(bootstrap, transactional_id=f"{target}-invoices", transaction_timeout_ms=10_000)
    producer.init_transactions(30)
    consumer = common.consumer(bootstrap, f"{target}-invoices", [source])
    crash_in = dice.randint(2, 6) if crash else -1
    try:
        done = 0
        while (messages := next_batch(consumer)) or not used_up(consumer, source):
            if not messages:
                continue
            producer.begin_transaction()
            for message in messages:
                producer.produce(target, json.dumps(invoice(json.loads(message.value()))).encode(), message.key())
            done += 1
            if done == crash_in:
                producer.flush()  # the invoices are at the broker, and nobody will commit them
                raise CrashError
            producer.send_offsets_to_transaction(consumer.position(consumer.assignment()), consumer.consumer_group_metadata(), 30)
            producer.commit_transaction(30)
    finally:
        consumer.close()


def next_batch(consumer: Any) -> list[Any]:
    """Up to BATCH records; empty when none came within half a second."""
    return [message for message in consumer.consume(BATCH, 0.5) if message.error() is None]


def used_up(consumer: Any, source: str) -> bool:
    """Are the committed offsets at the end of every partition?"""
    from confluent_kafka import TopicPartition

    partitions = [TopicPartition(source, number) for number in consumer.list_topics(source, 10).topics[source].partitions]
    committed = settled(lambda: consumer.committed(partitions, 10))
    return all(each.offset == consumer.get_watermark_offsets(each, 10)[1] for each in committed)


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; see the text at the top of this file."""
    parser = common.parser("consume_transform_produce", __doc__)
    parser.add_argument("--crashes", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(argv)
    dice = random.Random(options.seed)
    with common.kafka(options.bootstrap_servers) as bootstrap:
        source, target = common.new_topic(bootstrap, "orders"), common.new_topic(bootstrap, "invoices")
        orders = [(f"customer-{number % 50}", json.dumps({"order": number, "cents": 1000 + number})) for number in range(ORDERS)]
        common.send_all(common.producer(bootstrap), source, orders)
        crashes = 0
        while True:
            try:
                work(bootstrap, source, target, dice, crashes < options.crashes)
                break
            except CrashError:
                crashes += 1
                print(f"worker {crashes} crashed in mid-transaction")
        times = count_rows((json.loads(message.value or b"{}")["order"] for message in read_all(bootstrap, target)), ORDERS)
        everything = sum(1 for _ in read_all(bootstrap, target, committed=False))
    aborted = everything - times.rows
    print(f"orders={ORDERS} invoices={times.rows} missing={times.missing} twice={times.extra} aborted={aborted} crashes={crashes}")
    return 0 if times.exactly_once else 1


if __name__ == "__main__":
    sys.exit(main())
