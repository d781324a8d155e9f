"""Read topics and tables back with other software than what wrote them, and compare."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from oncelog.spark_jobs.demo_parts.patience import Patience

PATIENCE_SECONDS = 60.0


class Message(NamedTuple):
    """A record as a stock consumer sees it."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None


class ReadError(RuntimeError):
    """The broker answered with an error, or not at all."""


def read_all(bootstrap: str, topic: str, *, committed: bool = True, settings: Mapping[str, str] | None = None) -> Iterator[Message]:
    """Every record of `topic`, partition by partition in log order, up to the end at the time of the call, with confluent-kafka.

    `committed=False` shows what read_uncommitted consumers see: aborted records too. Raises ReadError after 60 s without progress.
    """
    from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "readback",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 10,  # the end of a partition is told by a fetch that finds nothing: do not let it wait for more
            "isolation.level": "read_committed" if committed else "read_uncommitted",
            **(settings or {}),
        }
    )
    try:
        found = consumer.list_topics(topic, 30).topics[topic]
        if found.error is not None:
            raise ReadError(f"topic {topic}: {found.error}")
        for partition in sorted(found.partitions):
            consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING)])
            at_end = False
            patience = Patience(PATIENCE_SECONDS)
            while not at_end:
                batch = consumer.consume(10_000, 0.1)  # returns short at the time-out only, so a long one would cost as much per partition
                if batch:
                    patience.restart()
                elif patience.over:
                    raise ReadError(f"nothing more from {topic}-{partition} within {patience}")
                for message in batch:
                    error = message.error()
                    if error is None:
                        yield Message(partition, message.offset() or 0, message.key(), message.value())
                    elif error.code() == KafkaError._PARTITION_EOF:
                        at_end = True
                    else:
                        raise ReadError(f"{topic}-{partition}: {error}")
    finally:
        consumer.close()


def newest_by_key(messages: Iterable[Message]) -> dict[str, Any]:
    """The table that an update stream describes: key → its newest value, read as JSON."""
    return {(message.key or b"").decode(): json.loads(message.value or b"null") for message in messages}


def read_parquet(directory: Path) -> list[dict[str, Any]]:
    """Rows of a Parquet folder, read by pyarrow (not by Spark, which wrote it)."""
    from pyarrow import parquet

    rows: list[dict[str, Any]] = parquet.read_table(directory).to_pylist()
    return rows


class Times(NamedTuple):
    """How often the expected row numbers 0 … n−1 occurred."""

    rows: int
    """records counted"""
    missing: int
    """numbers that never came"""
    extra: int
    """records beyond the first of their number"""

    @property
    def exactly_once(self) -> bool:
        return not self.missing and not self.extra


def count_rows(numbers: Iterable[int], expected: int) -> Times:
    """Compare the row numbers found with 0 … expected−1, each once."""
    seen = Counter(numbers)
    wanted = sum(1 for number in seen if 0 <= number < expected)
    return Times(seen.total(), expected - wanted, seen.total() - wanted)


def differences(found: Mapping[str, Any], expected: Mapping[str, Any], limit: int = 10) -> list[str]:
    """Lines saying where two tables differ; empty when they are equal."""
    lines = []
    for key in sorted(found.keys() | expected.keys()):
        if found.get(key) != expected.get(key):
            lines.append(f"{key}: found {found.get(key, 'nothing')}, expected {expected.get(key, 'nothing')}")
            if len(lines) == limit:
                break
    return lines
