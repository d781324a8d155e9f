"""Load the flights of 2013 into a topic, with a stock producer; a killed loader goes on where its last commit was.

    python -m oncelog.spark_jobs.load --bootstrap-servers 127.0.0.1:9092 --topic flights                       # idempotent
    python -m oncelog.spark_jobs.load --bootstrap-servers 127.0.0.1:9092 --topic flights --transactions 5000   # 5000 rows a transaction
    python -m oncelog.spark_jobs.load --topic flights --transactions 5000 --abort-percent 5                    # abort some on purpose,
    send them again

With transactions the number of the next row is committed *in* the transaction (as the offset of a group of its own), so rows and position
move together or not at all. Without, a restart begins at row 0 again: idempotence removes the retries of one producer, not those of two.

Progress goes to standard output: `rows=N` lines, N rows being safe at the broker.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from oncelog.spark_jobs import flights
from oncelog.spark_jobs.demo_parts.patience import Patience

TOPIC_SETTINGS = {"retention.ms": "-1", "segment.ms": str(2**53)}
"""Records carry the year 2013: retention must not take them for old, nor may their times roll a segment every week's worth of flights."""
REPORT_EVERY = 5000

T = TypeVar("T")


class LoadError(RuntimeError):
    """The broker refused what the loader sent."""


def create_topic(bootstrap: str, topic: str, partitions: int, settings: dict[str, str]) -> None:
    """Create `topic` unless it is there."""
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 3})
    created = admin.create_topics([NewTopic(topic, partitions, 1, config=settings)], operation_timeout=30)[topic]
    try:
        created.result()
    except KafkaException as refused:
        if refused.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise


class Loader:
    """A producer that counts what was acknowledged and stops at the first error."""

    def __init__(self, bootstrap: str, topic: str, **settings: Any) -> None:
        from confluent_kafka import Producer

        self.bootstrap = bootstrap
        self.topic = topic
        self.error: Any = None
        self.acknowledged = 0
        self.producer = Producer(
            {"bootstrap.servers": bootstrap, "log_level": 2, "acks": "all", "enable.idempotence": True, "linger.ms": 20, **settings}
        )

    def send(self, rows: Iterable[flights.Event]) -> None:
        """Queue rows; waits while the producer's queue is full."""
        for row in rows:
            while True:
                try:
                    self.producer.produce(self.topic, row.value, row.key, timestamp=row.timestamp_ms, on_delivery=self._delivered)
                    break
                except BufferError:
                    self.producer.poll(0.1)
            self.producer.poll(0)

    def flush(self) -> None:
        """Wait until everything queued is acknowledged. Raises LoadError."""
        self.producer.flush()
        if self.error is not None:
            raise LoadError(str(self.error))

    def _delivered(self, error: Any, _message: Any) -> None:
        self.error = self.error or error
        self.acknowledged += error is None


def settled(call: Callable[[], T], seconds: float = 60.0) -> T:
    """The answer of `call`, repeated while the broker says "try again" (a coordinator that loads, an internal topic being made)."""
    from confluent_kafka import KafkaException

    patience = Patience(seconds)
    while True:
        try:
            return call()
        except KafkaException as refused:
            if not refused.args[0].retriable() and refused.args[0].name() not in ("NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE"):
                raise
            if patience.over:
                raise
            time.sleep(0.1)


def chunks(rows: Iterator[flights.Event], size: int) -> Iterator[list[flights.Event]]:
    """Lists of `size` rows, the last one shorter."""
    while chunk := list(itertools.islice(rows, size)):
        yield chunk


def load_idempotent(bootstrap: str, topic: str, report: Callable[[int], None]) -> int:
    """Send every row once; returns how many were acknowledged."""
    loader = Loader(bootstrap, topic)
    for chunk in chunks(flights.events(), REPORT_EVERY):
        loader.send(chunk)
        report(loader.acknowledged)
    loader.flush()
    report(loader.acknowledged)
    return loader.acknowledged


def load_transactional(bootstrap: str, topic: str, size: int, abort_percent: float, seed: int, report: Callable[[int], None]) -> int:
    """Send the rows in transactions of `size`, each of them aborted first with `abort_percent` chance. Returns the number of the next row.

    `report` learns the number of rows committed so far.
    """
    from confluent_kafka import Consumer, TopicPartition

    group = f"{topic}-loader"
    loader = Loader(bootstrap, topic, **{"transactional.id": group, "transaction.timeout.ms": 300_000})
    loader.producer.init_transactions(60)  # the former loader is fenced here, and its open transaction aborted
    consumer = Consumer({"bootstrap.servers": bootstrap, "log_level": 2, "group.id": group, "enable.auto.commit": False})
    # committed() asks for stable offsets: it does not answer before the outcome of the former loader's last transaction is known
    position = max(settled(lambda: consumer.committed([TopicPartition(topic, 0)], 60))[0].offset, 0)
    metadata = consumer.consumer_group_metadata()
    report(position)
    coin = random.Random(f"{seed} {position}")
    for chunk in chunks(flights.events(position), size):
        while coin.random() * 100 < abort_percent:
            loader.producer.begin_transaction()
            loader.send(chunk)
            loader.producer.flush()
            loader.producer.abort_transaction(60)
        loader.producer.begin_transaction()
        loader.send(chunk)
        loader.producer.send_offsets_to_transaction([TopicPartition(topic, 0, position + len(chunk))], metadata, 60)
        loader.producer.commit_transaction(60)
        position += len(chunk)
        report(position)
    consumer.close()
    return position


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; see the text at the top of this file."""
    parser = argparse.ArgumentParser(prog="load", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bootstrap-servers", default="127.0.0.1:9092", help="host:port (default %(default)s)")
    parser.add_argument("--topic", default="flights", help="default %(default)s; created if missing")
    parser.add_argument("--partitions", type=int, default=3, help="of a topic made here (default %(default)s)")
    parser.add_argument("--transactions", type=int, metavar="ROWS", help="rows per transaction; without it an idempotent producer")
    parser.add_argument(
        "--abort-percent", type=float, default=0.0, help="share of transactions aborted on purpose before they are sent again"
    )
    parser.add_argument("--seed", type=int, default=1, help="which transactions are aborted (default %(default)s)")
    options = parser.parse_args(argv)

    def report(rows: int) -> None:
        print(f"rows={rows}", flush=True)

    create_topic(options.bootstrap_servers, options.topic, options.partitions, TOPIC_SETTINGS)
    if options.transactions:
        load_transactional(options.bootstrap_servers, options.topic, options.transactions, options.abort_percent, options.seed, report)
    else:
        load_idempotent(options.bootstrap_servers, options.topic, report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
