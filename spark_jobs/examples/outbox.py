"""Transactional outbox: a change in a database and the event about it, both or neither, without a distributed transaction.

    python -m oncelog.spark_jobs.examples.outbox [--bootstrap-servers HOST:PORT] [--database postgresql://…] [--kills 4] [--seed 1]

Two services write orders, each order and its event into two tables of *one* database transaction. A relay reads the event table in order
and sends it in Kafka transactions; the number of the last event sent is committed in the same transaction, as the offset of a group. So
the relay may die at any moment, and the database never needs to know what was sent. Services and relay are processes of their own here,
and get a `kill -9` in the middle of their work. SQLite by default; PostgreSQL with a URL (needs `pip install 'psycopg[binary]'`).
"""

from __future__ import annotations

import argparse
import importlib
import json
import random
import sqlite3
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from oncelog.spark_jobs.demo_parts.children import Child, complaint
from oncelog.spark_jobs.demo_parts.patience import Patience
from oncelog.spark_jobs.demo_parts.readback import Times, count_rows, read_all
from oncelog.spark_jobs.examples import common
from oncelog.spark_jobs.load import settled

ORDERS = 2000
SERVICES = 2
BATCH = 60


class Database:
    """Orders and their outbox; `?` is turned into the driver's own placeholder."""

    def __init__(self, url: str) -> None:
        self.connection: Any
        self.postgres = url.startswith("postgresql:")
        if self.postgres:
            self.connection = importlib.import_module("psycopg").connect(url)
        else:
            self.connection = sqlite3.connect(url, timeout=60, isolation_level=None)

    def run(self, statement: str, *values: object) -> Any:
        cursor = self.connection.cursor()
        cursor.execute(statement.replace("?", "%s") if self.postgres else statement, values)
        return cursor

    def create(self) -> None:
        """The tables, made anew."""
        if not self.postgres:
            self.run("PRAGMA journal_mode = WAL")
        number = "BIGSERIAL" if self.postgres else "INTEGER"
        for table in (
            "orders (id INTEGER PRIMARY KEY, cents INTEGER NOT NULL)",
            f"outbox (number {number} PRIMARY KEY, event TEXT NOT NULL)",
        ):
            self.run(f"DROP TABLE IF EXISTS {table.split()[0]}")
            self.run(f"CREATE TABLE {table}")
        self.connection.commit()

    def place_order(self, order: int, cents: int, fail: bool) -> None:
        """The service's business: order and event in one transaction; `fail` rolls both back.

        Events must become visible in the order of their numbers, or the relay, once past a number, would never see it. SQLite has one
        writer at a time anyway. PostgreSQL gives out numbers before commits, so writers queue for the outbox; readers need not.
        """
        if not self.postgres:
            self.run("BEGIN IMMEDIATE")
        self.run("INSERT INTO orders VALUES (?, ?)", order, cents)
        if self.postgres:
            self.run("LOCK TABLE outbox IN EXCLUSIVE MODE")
        self.run("INSERT INTO outbox (event) VALUES (?)", json.dumps({"order": order, "cents": cents}))
        self.connection.rollback() if fail else self.connection.commit()

    def events_after(self, number: int) -> list[tuple[int, str]]:
        rows: list[tuple[int, str]] = self.run(
            f"SELECT number, event FROM outbox WHERE number > ? ORDER BY number LIMIT {BATCH}", number
        ).fetchall()
        self.connection.commit()
        return rows

    def orders(self) -> set[int]:
        found = {row[0] for row in self.run("SELECT id FROM orders").fetchall()}
        self.connection.commit()
        return found


# ---------------------------------------------------------------------------------------------------------------- the two programs


def fails(order: int) -> bool:
    """One order in ten is rolled back; the same ones after a restart."""
    return zlib.crc32(f"order {order}".encode()) % 10 == 0


def serve(database: Database, number: int) -> None:
    """A service: place every order of its share that is not there yet."""
    placed = database.orders()
    for order in range(number, ORDERS, SERVICES):
        if order not in placed:
            database.place_order(order, 1000 + order, fails(order))
            print(f"order {order}", flush=True)


def relay(bootstrap: str, database: Database, topic: str, follow: bool) -> None:
    """Send what is in the outbox, and with `follow` what comes later."""
    from confluent_kafka import TopicPartition

    producer = common.producer(bootstrap, transactional_id=f"{topic}-relay", transaction_timeout_ms=10_000)
    producer.init_transactions(30)
    consumer = common.consumer(bootstrap, f"{topic}-relay", [])
    last = max(settled(lambda: consumer.committed([TopicPartition(topic, 0)], 10))[0].offset, 0)
    while True:
        events = database.events_after(last)
        if events:
            producer.begin_transaction()
            for _number, event in events:
                producer.produce(topic, event.encode(), str(json.loads(event)["order"]).encode())
            producer.flush()
            print(f"written {len(events)}", flush=True)
            last = events[-1][0]
            producer.send_offsets_to_transaction([TopicPartition(topic, 0, last)], consumer.consumer_group_metadata(), 30)
            producer.commit_transaction(30)
        elif follow:
            time.sleep(0.02)
        else:
            break
    consumer.close()


# ------------------------------------------------------------------------------------------------------------------- the experiment


class Program(Child):
    """A service or the relay, to be killed in the middle of its work."""

    def __init__(self, log: Path, *arguments: str) -> None:
        super().__init__("oncelog.spark_jobs.examples.outbox", *arguments, log=log, on_line=lambda _line: self._at_work.set())
        self._at_work = threading.Event()

    def kill_at_work(self, seconds: float) -> None:
        """`kill -9`, so many seconds after the next line it prints; nothing if it has done its work before."""
        self._at_work.clear()
        patience = Patience(60)
        while self.running and not self._at_work.wait(0.05):
            if patience.over:
                raise complaint(self, f"printed no line within {patience}")
        time.sleep(seconds)
        self.kill()


def experiment(bootstrap: str, url: str, topic: str, kills: int, dice: random.Random, folder: Path) -> int:
    """Let services and relay work and die; returns how many kills it came to."""
    common_options = ["--bootstrap-servers", bootstrap, "--database", url, "--topic", topic]
    services = [Program(folder / f"service-{n}.log", "--role", "service", "--number", str(n), *common_options) for n in range(SERVICES)]
    relaying = Program(folder / "relay.log", "--role", "relay", "--follow", *common_options)
    for service in services:
        service.start()
    for number in range(kills):
        relaying.start()
        relaying.kill_at_work(dice.uniform(0.0, 0.03))
        services[number % SERVICES].kill_at_work(dice.uniform(0.0, 0.1))
        services[number % SERVICES].start()
    for service in services:
        service.finish(120)
    relaying.command.remove("--follow")
    relaying.start().finish(120)
    return 2 * kills


def verdict(bootstrap: str, topic: str, placed: Sequence[int]) -> Times:
    """Every order placed, and no other one, has its event once."""
    place = {order: index for index, order in enumerate(placed)}
    sent = (json.loads(message.value or b"{}")["order"] for message in read_all(bootstrap, topic))
    return count_rows((place.get(order, -1) for order in sent), len(placed))


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = common.parser("outbox", __doc__)
    parser.add_argument("--database", metavar="URL", help="postgresql://… (default: SQLite); its tables orders and outbox are made anew")
    parser.add_argument("--kills", type=int, default=4, help="of the relay, and as many of the services (default %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    for internal in ("--role", "--number", "--topic"):  # how this program starts its parts
        parser.add_argument(internal, help=argparse.SUPPRESS)
    parser.add_argument("--follow", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; see the text at the top of this file."""
    options = arguments(argv)
    if options.role == "service":
        serve(Database(options.database), int(options.number))
        return 0
    if options.role == "relay":
        relay(options.bootstrap_servers, Database(options.database), options.topic, options.follow)
        return 0
    with tempfile.TemporaryDirectory() as folder, common.kafka(options.bootstrap_servers) as bootstrap:
        url = options.database or str(Path(folder) / "shop.db")
        database = Database(url)
        database.create()
        topic = common.new_topic(bootstrap, "order-events")
        killed = experiment(bootstrap, url, topic, options.kills, random.Random(options.seed), Path(folder))
        placed = sorted(database.orders())
        database.connection.close()
        times = verdict(bootstrap, topic, placed)
        aborted = sum(1 for _ in read_all(bootstrap, topic, committed=False)) - times.rows
    counted = f"events={times.rows} missing={times.missing} twice_or_unknown={times.extra} aborted={aborted} kills={killed}"
    print(f"orders={len(placed)} rolled_back={ORDERS - len(placed)} {counted}")
    right = times.exactly_once and placed == [order for order in range(ORDERS) if not fails(order)]
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
