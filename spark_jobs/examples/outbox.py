"""Transactional outbox: a change in a database and the event about it, both or neither, without a distributed transaction.

    python -m oncelog.spark_jobs.examples.outbox [--bootstrap-servers HOST:PORT] [--database postgresql://…] [--crashes 3] [--seed 1]

The service writes the order and the event into two tables of *one* database transaction. A relay reads the event table in order and sends
it in Kafka transactions; the number of the last event sent is committed in the same transaction, as the offset of a group. So the relay
may die at any moment, and the database never needs to know what was sent. SQLite by default; PostgreSQL with a URL (needs `pip install
psycopg[binary]`).
"""

from __future__ import annotations

import json
import random
import sqlite3
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from oncelog.spark_jobs.examples import common
from oncelog.spark_jobs.examples.consume_transform_produce import CrashError
from oncelog.spark_jobs.load import settled
from oncelog.spark_jobs.readback import count_rows, read_all

ORDERS = 2000
BATCH = 150


class Database:
    """Orders and their outbox; `?` is turned into the driver's own placeholder."""

    def __init__(self, url: str) -> None:
        self.connection: Any
        if url.startswith("postgresql:"):
            import importlib

            self.connection, self._mark, number = importlib.import_module("psycopg").connect(url), "%s", "BIGSERIAL"
            self.run("DROP TABLE IF EXISTS orders, outbox")
        else:
            self.connection, self._mark, number = sqlite3.connect(url), "?", "INTEGER"
        self.run("CREATE TABLE orders (id INTEGER PRIMARY KEY, cents INTEGER NOT NULL)")
        self.run(f"CREATE TABLE outbox (number {number} PRIMARY KEY, event TEXT NOT NULL)")
        self.connection.commit()

    def run(self, statement: str, *values: object) -> Any:
        cursor = self.connection.cursor()
        cursor.execute(statement.replace("?", self._mark), values)
        return cursor

    def place_order(self, order: int, cents: int, fail: bool) -> None:
        """The service's business: order and event in one transaction; `fail` rolls both back."""
        self.run("INSERT INTO orders VALUES (?, ?)", order, cents)
        self.run("INSERT INTO outbox (event) VALUES (?)", json.dumps({"order": order, "cents": cents}))
        self.connection.rollback() if fail else self.connection.commit()

    def events_after(self, number: int) -> list[tuple[int, str]]:
        rows: list[tuple[int, str]] = self.run(
            f"SELECT number, event FROM outbox WHERE number > ? ORDER BY number LIMIT {BATCH}", number
        ).fetchall()
        return rows

    def orders(self) -> set[int]:
        return {row[0] for row in self.run("SELECT id FROM orders").fetchall()}


def relay(bootstrap: str, database: Database, topic: str, crash_in: int) -> None:
    """Send what is in the outbox; crashes in batch `crash_in` between writing and committing, or never if that is 0."""
    from confluent_kafka import TopicPartition

    producer = common.producer(bootstrap, transactional_id=f"{topic}-relay", transaction_timeout_ms=10_000)
    producer.init_transactions(30)
    consumer = common.consumer(bootstrap, f"{topic}-relay", [])
    try:
        last = max(settled(lambda: consumer.committed([TopicPartition(topic, 0)], 10))[0].offset, 0)
        batch = 0
        while events := database.events_after(last):
            batch += 1
            producer.begin_transaction()
            for _number, event in events:
                producer.produce(topic, event.encode(), str(json.loads(event)["order"]).encode())
            if batch == crash_in:
                producer.flush()
                raise CrashError
            last = events[-1][0]
            producer.send_offsets_to_transaction([TopicPartition(topic, 0, last)], consumer.consumer_group_metadata(), 30)
            producer.commit_transaction(30)
    finally:
        consumer.close()


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; see the text at the top of this file."""
    parser = common.parser("outbox", __doc__)
    parser.add_argument("--database", metavar="URL", help="postgresql://… (default: SQLite); its tables orders and outbox are made anew")
    parser.add_argument("--crashes", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(argv)
    dice = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder, common.kafka(options.bootstrap_servers) as bootstrap:
        database = Database(options.database or str(Path(folder) / "shop.db"))
        for order in range(ORDERS):
            database.place_order(order, 1000 + order, fail=dice.random() < 0.1)
        topic = common.new_topic(bootstrap, "order-events")
        for life in range(options.crashes + 1):
            try:
                relay(bootstrap, database, topic, dice.randint(1, 4) if life < options.crashes else 0)
                break
            except CrashError:
                print(f"relay {life + 1} crashed before its commit")
        sent = [json.loads(message.value or b"{}")["order"] for message in read_all(bootstrap, topic)]
        placed = sorted(database.orders())
        database.connection.close()
    times = count_rows((placed.index(order) if order in placed else -1 for order in sent), len(placed))
    counted = f"events={times.rows} missing={times.missing} twice_or_unknown={times.extra}"
    print(f"orders={len(placed)} rolled_back={ORDERS - len(placed)} {counted}")
    return 0 if times.exactly_once else 1


if __name__ == "__main__":
    sys.exit(main())
