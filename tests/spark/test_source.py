"""Spark's own Kafka source over transactions: it must get past markers and aborted records, split partitions, find times, notice lost data.

The source looks its records up by offset: a poll that brings none is fine only if the consumer's position has moved. A broker that left
out control batches or aborted ones would keep it waiting; `pollTimeoutMs` makes that a failure after seconds instead of two minutes.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from support.process import wait_until

Topic = Callable[[int], str]
MINUTE_MS = 60_000
COMMIT, ABORT, OPEN = "commit", "abort", "open"


@dataclass
class Kafka:
    """Writes transactions with a stock producer, and reads with Spark's source."""

    spark: Any
    bootstrap: str
    producers: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        from confluent_kafka.admin import AdminClient

        self.admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 3})

    def write(self, topic: str, rows: Sequence[int], end: str = COMMIT, *, partition: int = 0, at_ms: int = 0) -> None:
        """One transaction with `rows`, ended as told, or left open."""
        from confluent_kafka import Producer

        name = f"source-{uuid.uuid4().hex}"
        producer = Producer({"bootstrap.servers": self.bootstrap, "transactional.id": name, "log_level": 3, "linger.ms": 0})
        producer.init_transactions(30)
        producer.begin_transaction()
        for row in rows:
            producer.produce(topic, str(row).encode(), partition=partition, **({"timestamp": at_ms} if at_ms else {}))
        producer.flush(30)
        self.producers.append(producer)  # one with an open transaction must live on: its end would abort
        if end == COMMIT:
            producer.commit_transaction(30)
        elif end == ABORT:
            producer.abort_transaction(30)

    def end_offset(self, topic: str, committed: bool = True) -> int:
        """What the broker calls the end of partition 0: the last stable offset, or the high watermark."""
        from confluent_kafka import IsolationLevel, TopicPartition
        from confluent_kafka.admin import OffsetSpec

        place = TopicPartition(topic, 0)
        isolation = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        asked = self.admin.list_offsets({place: OffsetSpec.latest()}, isolation_level=isolation)
        return int(asked[place].result(30).offset)

    def delete_before(self, topic: str, offset: int) -> None:
        """DeleteRecords of partition 0."""
        from confluent_kafka import TopicPartition

        place = TopicPartition(topic, 0, offset)
        self.admin.delete_records([place])[place].result(30)

    def delete_topic(self, topic: str) -> None:
        self.admin.delete_topics([topic])[topic].result(30)
        wait_until(lambda: topic not in self.admin.list_topics(timeout=10).topics, 30, "the end of the topic")

    def options(self, reader: Any, topic: str, options: dict[str, Any]) -> Any:
        common = {"kafka.isolation.level": "read_committed", "kafkaConsumer.pollTimeoutMs": 10_000, "fetchOffset.numRetries": 1}
        reader = reader.format("kafka").option("kafka.bootstrap.servers", self.bootstrap).option("subscribe", topic)
        return reader.options(**{**common, **options}).load().selectExpr("CAST(CAST(value AS STRING) AS INT) AS row", "offset")

    def table(self, topic: str, **options: Any) -> Any:
        """A batch read."""
        return self.options(self.spark.read, topic, options)

    def rows(self, topic: str, **options: Any) -> list[int]:
        return sorted(row.row for row in self.table(topic, **options).collect())

    def stream(self, topic: str, checkpoint: Path, **options: Any) -> Stream:
        """Everything there is, in micro-batches, from where the checkpoint is."""
        stream = Stream()
        options = {"startingOffsets": "earliest", **options}
        writer = self.options(self.spark.readStream, topic, options).writeStream.foreachBatch(stream.take)
        query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
        try:
            assert query.awaitTermination(80), query.status
        finally:
            query.stop()
        stream.progress = [
            each for each in query.recentProgress if each.numInputRows or each.sources[0].startOffset != each.sources[0].endOffset
        ]
        return stream


@dataclass
class Stream:
    """What a streaming query read."""

    batches: list[list[int]] = field(default_factory=list)
    progress: list[Any] = field(default_factory=list)

    def take(self, batch: Any, _number: int) -> None:
        self.batches.append(sorted(row.row for row in batch.collect()))

    @property
    def rows(self) -> list[int]:
        return sorted(row for batch in self.batches for row in batch)


@pytest.fixture
def kafka(spark: Any, bootstrap: str) -> Kafka:
    return Kafka(spark, bootstrap)


@pytest.fixture(params=["admin", "consumer"])
def offsets_by(request: pytest.FixtureRequest, spark: Any) -> Any:
    """The two ways in which Spark's driver asks for offsets."""
    spark.conf.set("spark.sql.streaming.kafka.useDeprecatedOffsetFetching", request.param == "consumer")
    yield request.param
    spark.conf.unset("spark.sql.streaming.kafka.useDeprecatedOffsetFetching")


TAILS = {
    "ends in COMMIT": [COMMIT],
    "ends in ABORT": [COMMIT, ABORT],
    "ends in ABORT and COMMIT": [COMMIT, ABORT, COMMIT],
    "ends in COMMIT and ABORTs": [COMMIT, ABORT, ABORT, ABORT],
    "all of it aborted": [ABORT, ABORT],
}


@pytest.mark.parametrize("ends", TAILS.values(), ids=TAILS.keys())
def test_every_batch_finishes_over_markers(kafka: Kafka, topic: Topic, tmp_path: Path, ends: list[str], offsets_by: str) -> None:
    """With 7 offsets a batch, batches begin and end everywhere: within a transaction, on a marker, among aborted records alone."""
    name = topic(1)
    for number, end in enumerate(ends):
        kafka.write(name, range(number * 10, number * 10 + 10), end)
    committed = [number * 10 + row for number, end in enumerate(ends) if end == COMMIT for row in range(10)]
    stream = kafka.stream(name, tmp_path, maxOffsetsPerTrigger=7)
    assert stream.rows == committed
    assert len(stream.batches) == -(-11 * len(ends) // 7)
    assert kafka.end_offset(name) == 11 * len(ends)
    assert stream.progress[-1].sources[0].endOffset == f'{{"{name}":{{"0":{11 * len(ends)}}}}}'
    assert kafka.rows(name) == committed


def test_a_batch_of_nothing_but_aborted_records_finishes(kafka: Kafka, topic: Topic, tmp_path: Path) -> None:
    name = topic(1)
    kafka.write(name, range(10))
    assert kafka.stream(name, tmp_path).rows == list(range(10))
    kafka.write(name, range(10, 5000), ABORT)
    assert kafka.stream(name, tmp_path).batches == [[]]
    kafka.write(name, range(10, 20))
    assert kafka.stream(name, tmp_path).rows == list(range(10, 20))


def test_an_open_transaction_is_the_end(kafka: Kafka, topic: Topic, tmp_path: Path) -> None:
    """Offsets asked for with read_committed end at the last stable offset, and so does the batch; read_uncommitted sees the rest."""
    name = topic(1)
    kafka.write(name, range(10))
    kafka.write(name, range(10, 20), ABORT)
    kafka.write(name, range(20, 30), OPEN)
    kafka.write(name, range(30, 40))
    stream = kafka.stream(name, tmp_path)
    assert stream.rows == list(range(10))
    assert kafka.end_offset(name) == 22
    assert stream.progress[-1].sources[0].endOffset == f'{{"{name}":{{"0":22}}}}'
    assert kafka.rows(name, **{"kafka.isolation.level": "read_uncommitted"}) == list(range(40))
    kafka.producers[2].commit_transaction(30)
    assert kafka.stream(name, tmp_path).rows == list(range(20, 40))


def test_several_partitions_with_different_tails(kafka: Kafka, topic: Topic, tmp_path: Path) -> None:
    name = topic(4)
    for partition, ends in enumerate([[COMMIT], [ABORT], [COMMIT, ABORT], []]):
        for number, end in enumerate(ends):
            kafka.write(name, [partition * 100 + number * 10 + row for row in range(10)], end, partition=partition)
    expected = [*range(10), *range(200, 210)]
    assert kafka.stream(name, tmp_path, maxOffsetsPerTrigger=9).rows == expected
    assert kafka.rows(name) == expected


def test_min_partitions_splits_one_partition(kafka: Kafka, topic: Topic, tmp_path: Path) -> None:
    """Several consumers read ranges of one partition at once; some ranges hold aborted records and markers only."""
    name = topic(1)
    for number in range(6):
        kafka.write(name, range(number * 100, number * 100 + 100), ABORT if number % 2 else COMMIT)
    expected = [number * 100 + row for number in (0, 2, 4) for row in range(100)]
    table = kafka.table(name, minPartitions=8)
    assert table.rdd.getNumPartitions() == 8
    assert sorted(row.row for row in table.collect()) == expected
    assert kafka.stream(name, tmp_path, minPartitions=8).rows == expected


@pytest.fixture
def soon_ms() -> int:
    """Times a little ahead, as brokers still take them: a marker carries the time at which it was written, and would be found too."""
    return int(time.time()) * 1000 + 10 * MINUTE_MS


def times(topic: str, *partitions: int) -> str:
    """A time per partition, as Spark wants it."""
    return json.dumps({topic: {str(number): at_ms for number, at_ms in enumerate(partitions)}})


def test_starting_offsets_by_timestamp(kafka: Kafka, topic: Topic, tmp_path: Path, soon_ms: int, offsets_by: str) -> None:
    """Per partition, the first record at the time or after it; records of aborted transactions count in finding it."""
    name = topic(2)
    at_ms = [soon_ms + number * MINUTE_MS for number in range(4)]
    for number in range(4):
        kafka.write(name, range(number * 10, number * 10 + 10), ABORT if number == 2 else COMMIT, at_ms=at_ms[number])
    kafka.write(name, range(100, 110), partition=1, at_ms=at_ms[0])
    from_second = [*range(10, 20), *range(30, 40), *range(100, 110)]
    given = times(name, at_ms[1], at_ms[0])
    assert kafka.rows(name, startingOffsetsByTimestamp=given) == from_second
    assert kafka.stream(name, tmp_path, startingOffsetsByTimestamp=given).rows == from_second
    assert kafka.rows(name, startingOffsetsByTimestamp=given, endingOffsetsByTimestamp=times(name, at_ms[3], at_ms[0])) == [*range(10, 20)]
    assert kafka.rows(name, startingOffsetsByTimestamp=times(name, at_ms[2], at_ms[0])) == [*range(30, 40), *range(100, 110)]
    assert kafka.rows(name, startingTimestamp=at_ms[0] - 1) == [*range(20), *range(30, 40), *range(100, 110)]


def test_a_starting_time_after_the_last_record(kafka: Kafka, topic: Topic, tmp_path: Path, soon_ms: int, offsets_by: str) -> None:
    """No offset matches: that fails the query, unless it asks for the latest."""
    name = topic(1)
    kafka.write(name, range(10), at_ms=soon_ms)
    late = times(name, soon_ms + 1)
    with pytest.raises(Exception, match="No offset matched"):
        kafka.rows(name, startingOffsetsByTimestamp=late)
    latest = {"startingOffsetsByTimestamp": late, "startingOffsetsByTimestampStrategy": "latest"}
    assert kafka.stream(name, tmp_path, **latest).rows == []
    kafka.write(name, range(10, 20), at_ms=soon_ms)
    assert kafka.stream(name, tmp_path, **latest).rows == list(range(10, 20))


def test_a_time_before_the_markers_finds_them(kafka: Kafka, topic: Topic) -> None:
    """The first record not older than the time asked for is the first transaction's marker, at offset 10."""
    name = topic(1)
    hour_ago = int(time.time()) * 1000 - 60 * MINUTE_MS
    kafka.write(name, range(10), at_ms=hour_ago)
    kafka.write(name, range(10, 20), at_ms=hour_ago)
    found = kafka.table(name, startingOffsetsByTimestamp=times(name, hour_ago + MINUTE_MS))
    assert sorted(row.offset for row in found.collect()) == list(range(11, 21))


def test_deleted_records_fail_the_query_or_not(kafka: Kafka, topic: Topic, tmp_path: Path) -> None:
    """DeleteRecords moves the start past what the checkpoint says comes next."""
    name = topic(1)
    kafka.write(name, range(10))
    for place in ("strict", "lenient"):
        assert kafka.stream(name, tmp_path / place).rows == list(range(10))
    kafka.write(name, range(10, 20), ABORT)
    kafka.write(name, range(20, 30))
    kafka.delete_before(name, 26)  # 10 rows and a marker, 10 aborted ones and a marker, then four committed ones
    with pytest.raises(Exception, match="failOnDataLoss"):
        kafka.stream(name, tmp_path / "strict", failOnDataLoss="true")
    assert kafka.stream(name, tmp_path / "lenient", failOnDataLoss="false").rows == list(range(24, 30))


def test_a_topic_made_anew_fails_the_query_or_not(kafka: Kafka, topic: Topic, tmp_path: Path, bootstrap: str) -> None:
    """Its offsets begin again, below what the checkpoint says comes next."""
    from oncelog.spark_jobs.load import create_topic

    name = topic(1)
    kafka.write(name, range(10))
    for place in ("strict", "lenient"):
        assert kafka.stream(name, tmp_path / place).rows == list(range(10))
    kafka.delete_topic(name)
    create_topic(bootstrap, name, 1, {})
    kafka.write(name, range(100, 103))
    with pytest.raises(Exception, match="failOnDataLoss"):
        kafka.stream(name, tmp_path / "strict", failOnDataLoss="true")
    kafka.stream(name, tmp_path / "lenient", failOnDataLoss="false")
    kafka.write(name, range(103, 106))
    assert kafka.stream(name, tmp_path / "lenient", failOnDataLoss="false").rows == list(range(103, 106))
