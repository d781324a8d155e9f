"""What the examples share: a Kafka to talk to, topics, and counting."""

from __future__ import annotations

import argparse
import shutil
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from oncelog.spark_jobs import load
from oncelog.spark_jobs.demo_parts.children import Broker

PRODUCER = {"acks": "all", "enable.idempotence": True, "log_level": 3, "linger.ms": 5}


def parser(name: str, doc: str | None) -> argparse.ArgumentParser:
    """A parser with the option that all examples have."""
    made = argparse.ArgumentParser(prog=name, description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument(
        "--bootstrap-servers", metavar="HOST:PORT", help="a Kafka that runs already (default: start a broker for this example)"
    )
    return made


@contextmanager
def kafka(bootstrap: str | None) -> Iterator[str]:
    """host:port of the Kafka given, or of a broker that lives as long as the example."""
    if bootstrap:
        yield bootstrap
        return
    folder = Path(tempfile.mkdtemp(prefix="oncelog-example-"))
    broker = Broker(folder)
    try:
        yield broker.start().bootstrap
    finally:
        broker.stop()
        shutil.rmtree(folder, ignore_errors=True)


def new_topic(bootstrap: str, name: str, partitions: int = 3) -> str:
    """A topic that no other run uses."""
    topic = f"{name}-{uuid.uuid4().hex[:6]}"
    load.create_topic(bootstrap, topic, partitions, {})
    return topic


def producer(bootstrap: str, **settings: Any) -> Any:
    """A confluent-kafka producer; settings with `_` for `.`."""
    from confluent_kafka import Producer

    return Producer({"bootstrap.servers": bootstrap, **PRODUCER, **{key.replace("_", "."): value for key, value in settings.items()}})


def consumer(bootstrap: str, group: str, topics: Sequence[str]) -> Any:
    """A confluent-kafka consumer that reads committed records from the start and commits nothing by itself; no topics: just a group."""
    from confluent_kafka import Consumer

    settings = {"group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False, "isolation.level": "read_committed"}
    made = Consumer({"bootstrap.servers": bootstrap, "log_level": 3, "session.timeout.ms": 6000, **settings})
    if topics:
        made.subscribe(list(topics))
    return made


def send_all(made: Any, topic: str, rows: Sequence[tuple[str, str]]) -> None:
    """Send rows (key, value) and wait for all of them."""
    for key, value in rows:
        made.produce(topic, value.encode(), key.encode())
    made.flush()
