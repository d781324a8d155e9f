"""The exactly-once sink: what a read_committed consumer sees after every failure we can name."""

from __future__ import annotations

import socket
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from oncelog.spark_jobs import exactly_once
from oncelog.spark_jobs.demo_parts.readback import Message, read_all
from oncelog.spark_jobs.exactly_once import (
    BatchWriter,
    RepeatedStageError,
    ReplacedError,
    Sink,
    SinkError,
    check_stage_ran_once,
    write_exactly_once,
)
from oncelog.spark_jobs.sink import batch_format
from oncelog.spark_jobs.sink.chunks import Chunk
from oncelog.spark_jobs.sink.client import Cluster
from oncelog.spark_jobs.sink.raw_producer import AnotherAttemptError, PartitionWriter
from oncelog.spark_jobs.sink.transaction import TransactionClient

Topic = Callable[[int], str]


class Died(BaseException):
    """The driver is gone: nothing of it may run any more."""


@pytest.fixture
def query(spark: Any) -> Iterator[str]:
    """Name and id of a query; batch functions called directly believe that they run in it."""
    name = f"q-{uuid.uuid4().hex[:8]}"
    spark.sparkContext.setLocalProperty("sql.streaming.queryId", name)
    yield name
    spark.sparkContext.setLocalProperty("sql.streaming.queryId", None)


@pytest.fixture
def new_driver(bootstrap: str, query: str) -> Callable[..., BatchWriter]:
    """A batch function as a freshly started driver has it."""

    def create(topic: str | None, **changes: Any) -> BatchWriter:
        return BatchWriter(Sink(bootstrap, topic, query, transaction_timeout=changes.pop("timeout", 60.0), compression=None, **changes))

    return create


def numbered(spark: Any, start: int, end: int) -> Any:
    """Rows start … end−1, the number being key and value."""
    return spark.range(start, end).selectExpr("CAST(id AS STRING) AS key", "CAST(id AS STRING) AS value")


def values(messages: Iterator[Message]) -> Counter[int]:
    return Counter(int(message.value or b"-1") for message in messages)


def test_every_row_once_in_the_partition_that_sparks_sink_picks(
    spark: Any, bootstrap: str, topic: Topic, new_driver: Callable[..., BatchWriter]
) -> None:
    ours, stock = topic(5), topic(5)
    rows = numbered(spark, 0, 20_000)
    new_driver(ours)(rows, 0)
    rows.write.format("kafka").option("kafka.bootstrap.servers", bootstrap).option("topic", stock).save()
    found = {message.key: message.partition for message in read_all(bootstrap, ours)}
    assert values(read_all(bootstrap, ours)) == Counter(range(20_000))
    assert found == {message.key: message.partition for message in read_all(bootstrap, stock)}


def test_columns(spark: Any, bootstrap: str, topic: Topic, new_driver: Callable[..., BatchWriter]) -> None:
    one, two = topic(2), topic(3)
    schema = "topic STRING, partition INT, key BINARY, value BINARY, headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
    rows = [(one, 1, b"k", b"v", [("h", b"x"), ("n", None)]), (two, 2, None, None, None), (None, None, b"k", b"default", [])]
    new_driver(two)(spark.createDataFrame(rows, schema), 0)
    assert [(m.partition, m.key, m.value) for m in read_all(bootstrap, one)] == [(1, b"k", b"v")]
    found = {(m.partition, m.key, m.value) for m in read_all(bootstrap, two)}
    assert found == {(2, None, None), (batch_format.partition_of(b"k", 3), b"k", b"default")}


def test_rows_without_key_are_spread(spark: Any, bootstrap: str, topic: Topic, new_driver: Callable[..., BatchWriter]) -> None:
    name = topic(3)
    new_driver(name)(numbered(spark, 0, 3000).select("value"), 0)
    assert set(Counter(m.partition for m in read_all(bootstrap, name)).values()) == {1000}


def test_a_replayed_batch_is_recognised(spark: Any, bootstrap: str, topic: Topic, new_driver: Callable[..., BatchWriter]) -> None:
    name = topic(3)
    new_driver(name)(numbered(spark, 0, 100), 0)
    new_driver(name)(numbered(spark, 0, 100), 0)
    new_driver(name)(numbered(spark, 100, 200), 1)
    assert values(read_all(bootstrap, name)) == Counter(range(200))


def chunk(numbers: range) -> Chunk:
    return Chunk(
        len(numbers), b"".join(batch_format.encode_record(place, None, str(number).encode()) for place, number in enumerate(numbers))
    )


DEATHS = ["begin", "position", "add_partitions", "write_rows", "add_position", "end"]


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", DEATHS)
def test_driver_death_at_every_step(
    spark: Any,
    bootstrap: str,
    topic: Topic,
    new_driver: Callable[..., BatchWriter],
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    after: bool,
) -> None:
    """Each request either never left, or was carried out while its answer never arrived."""
    name = topic(3)
    new_driver(name)(numbered(spark, 0, 100), 0)
    owner: Any = exactly_once if step == "write_rows" else TransactionClient
    real = getattr(owner, step)

    def dying(*args: Any, **kwargs: Any) -> None:
        if after:
            real(*args, **kwargs)
        raise Died

    with monkeypatch.context() as patched:
        patched.setattr(owner, step, dying)
        with pytest.raises(Died):
            new_driver(name)(numbered(spark, 100, 200), 1)
    committed = values(read_all(bootstrap, name))
    assert committed == Counter(range(200 if (step, after) == ("end", True) else 100))
    new_driver(name)(numbered(spark, 100, 200), 1)
    assert values(read_all(bootstrap, name)) == Counter(range(200))


def test_a_failing_task_aborts_and_the_batch_is_tried_again(
    spark: Any, bootstrap: str, topic: Topic, new_driver: Callable[..., BatchWriter], tmp_path: Path
) -> None:
    name, flag = topic(1), tmp_path / "failed-once"

    def fail_once(results: Any) -> Any:
        for result in results:  # all is written by now
            if not flag.exists():
                flag.touch()
                raise RuntimeError("a task fails")
            yield result

    real = exactly_once.task

    def failing(*args: Any) -> Any:
        write = real(*args)
        return lambda batches: fail_once(write(batches))

    exactly_once.task = failing  # type: ignore[assignment]
    try:
        new_driver(name)(numbered(spark, 0, 30_000), 0)
    finally:
        exactly_once.task = real
    assert flag.exists()
    assert values(read_all(bootstrap, name)) == Counter(range(30_000))
    assert values(read_all(bootstrap, name, committed=False)).total() > 30_000  # the aborted try is there for those who ask for it


class Tracker:
    """Says about a stage what it is told to, one thing after the other, the last one for ever."""

    def __init__(self, *states: tuple[int, int] | None) -> None:
        self.states = list(states)

    def getStageInfo(self, _stage: int) -> Any:
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        return state and SimpleNamespace(currentAttemptId=state[0], numCompletedTasks=state[1], numTasks=3)


def test_a_stage_counts_when_all_its_tasks_ended_in_its_first_attempt() -> None:
    check_stage_ran_once(Tracker(None, (0, 2), (0, 3)), 7)


@pytest.mark.parametrize(("states", "why"), [([(0, 2), (1, 0)], "was repeated"), ([(1, 3)], "was repeated"), ([None], "retainedStages")])
def test_a_repeated_stage_does_not_count(states: list[tuple[int, int] | None], why: str) -> None:
    """Its tasks count their attempts from 0 again: of what they wrote, the broker alone cannot tell what is there twice."""
    with pytest.raises(RepeatedStageError, match=why):
        check_stage_ran_once(Tracker(*states), 7, seconds=0.05)


def test_a_batch_whose_stage_was_repeated_is_written_again(
    spark: Any, bootstrap: str, topic: Topic, new_driver: Callable[..., BatchWriter], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = topic(2)
    check, seen = check_stage_ran_once, []

    def repeated_once(tracker: Any, stage: int) -> None:
        seen.append(stage)
        check(tracker if len(seen) > 1 else Tracker((1, 3)), stage)

    monkeypatch.setattr(exactly_once, "check_stage_ran_once", repeated_once)
    new_driver(name)(numbered(spark, 0, 100), 0)
    assert len(seen) == 2
    assert values(read_all(bootstrap, name)) == Counter(range(100))
    assert values(read_all(bootstrap, name, committed=False)) == Counter(dict.fromkeys(range(100), 2))


def test_a_zombie_driver_is_told(spark: Any, bootstrap: str, topic: Topic, new_driver: Callable[..., BatchWriter]) -> None:
    name = topic(2)
    zombie, successor = new_driver(name), new_driver(name)
    zombie(numbered(spark, 0, 10), 0)
    successor(numbered(spark, 10, 20), 1)
    with pytest.raises(ReplacedError, match="another driver"):
        zombie(numbered(spark, 10, 20), 1)
    successor(numbered(spark, 20, 30), 2)
    assert values(read_all(bootstrap, name)) == Counter(range(30))


def test_another_checkpoint_under_the_same_name(spark: Any, bootstrap: str, topic: Topic, new_driver: Callable[..., BatchWriter]) -> None:
    name = topic(2)
    new_driver(name)(numbered(spark, 0, 10), 0)
    new_driver(name)(numbered(spark, 10, 20), 1)
    spark.sparkContext.setLocalProperty("sql.streaming.queryId", "a fresh checkpoint")
    with pytest.raises(SinkError, match="takeover=True"):
        new_driver(name)(numbered(spark, 20, 30), 0)
    new_driver(name, takeover=True)(numbered(spark, 20, 30), 0)
    assert values(read_all(bootstrap, name)) == Counter(range(30))


def test_a_takeover_recognises_its_own_batches_beside_the_former_ones(
    spark: Any, bootstrap: str, topic: Topic, new_driver: Callable[..., BatchWriter]
) -> None:
    """With a column topic, positions stand under several topics; the former owner's may be the higher one."""
    former, name = topic(1), topic(1)
    new_driver(None)(numbered(spark, 0, 10).selectExpr("value", f"'{former}' AS topic"), 8)
    spark.sparkContext.setLocalProperty("sql.streaming.queryId", "a fresh checkpoint")
    for _ in range(2):
        new_driver(None, takeover=True)(numbered(spark, 10, 20).selectExpr("value", f"'{name}' AS topic"), 0)
    assert values(read_all(bootstrap, name)) == Counter(range(10, 20))


def test_an_empty_batch_commits_its_number_only(
    spark: Any, bootstrap: str, topic: Topic, new_driver: Callable[..., BatchWriter], query: str
) -> None:
    name = topic(2)
    new_driver(name)(numbered(spark, 0, 0), 4)
    assert values(read_all(bootstrap, name)) == Counter()
    with Cluster(bootstrap) as cluster:
        assert TransactionClient(cluster, query, 60_000).position(query) == (5, query)


def test_clear_errors(spark: Any, new_driver: Callable[..., BatchWriter], topic: Topic) -> None:
    with pytest.raises(SinkError, match="does not exist"):
        new_driver("no-such-topic")(numbered(spark, 0, 1), 0)
    with pytest.raises(SinkError, match=r"transaction\.max\.timeout\.ms"):
        new_driver(topic(1), timeout=10_000_000.0)(numbered(spark, 0, 1), 0)
    with pytest.raises(SinkError, match="column value is required"):
        exactly_once.check_columns(spark.range(1), "t")
    with pytest.raises(SinkError, match="partition is bigint"):
        exactly_once.check_columns(spark.range(1).selectExpr("'' AS value", "id AS partition"), "t")


def test_of_two_attempts_one_writes(bootstrap: str, topic: Topic) -> None:
    """The broker itself tells two attempts of a task apart, even when they hold the same rows."""
    name, who = topic(1), f"q-{uuid.uuid4().hex[:8]}"
    with Cluster(bootstrap) as cluster, Cluster(bootstrap) as other:
        transaction = TransactionClient(cluster, who, 60_000)
        identity = transaction.begin()
        transaction.add_partitions(identity, {name: [0]})
        first = PartitionWriter(cluster, who, identity, name, 0, attempt=6, codec=0)
        second = PartitionWriter(other, who, identity, name, 0, attempt=7, codec=0)
        first.write(chunk(range(10)))
        with pytest.raises(AnotherAttemptError):
            second.write(chunk(range(10)))
        assert first.finish().records == 10
        transaction.end(identity, commit=True)
    assert values(read_all(bootstrap, name)) == Counter(range(10))


def test_a_lost_connection_repeats_nothing(bootstrap: str, topic: Topic) -> None:
    """Everything unacknowledged goes out again; the broker keeps what it has."""
    name, who = topic(1), f"q-{uuid.uuid4().hex[:8]}"
    with Cluster(bootstrap) as cluster:
        transaction = TransactionClient(cluster, who, 60_000)
        identity = transaction.begin()
        transaction.add_partitions(identity, {name: [0]})
        writer = PartitionWriter(cluster, who, identity, name, 0, attempt=0, codec=batch_format.codec_number("gzip"))
        for start in range(0, 50_000, 1000):
            writer.write(chunk(range(start, start + 1000)))
            if start % 9000 == 0:
                assert writer._connection is not None
                writer._connection._socket.shutdown(socket.SHUT_RDWR)
        assert writer.finish().records == 50_000
        transaction.end(identity, commit=True)
    assert values(read_all(bootstrap, name)) == Counter(range(50_000))


def test_two_queries_share_a_topic(spark: Any, bootstrap: str, topic: Topic, tmp_path: Path) -> None:
    """Real streaming queries at the same time, each with its own name."""
    source, target = topic(2), topic(3)
    numbered(spark, 0, 2000).write.format("kafka").option("kafka.bootstrap.servers", bootstrap).option("topic", source).save()
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap).option("subscribe", source)
    stream = reader.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", 700).load().select("key", "value")
    names = [f"q-{uuid.uuid4().hex[:8]}" for _ in range(2)]
    queries = [
        write_exactly_once(
            stream,
            bootstrap_servers=bootstrap,
            topic=target,
            query_name=name,
            checkpoint=str(tmp_path / name),
            trigger={"availableNow": True},
        )
        for name in names
    ]
    for each in queries:
        assert each.awaitTermination(100)
        assert each.exception() is None
    assert values(read_all(bootstrap, target)) == Counter(dict.fromkeys(range(2000), 2))


def test_a_stream_without_kafka_source(spark: Any, bootstrap: str, topic: Topic, tmp_path: Path) -> None:
    """A streaming query over files, stopped and started again: the sink alone, also where the connector is missing."""
    name, who, folder = topic(3), f"q-{uuid.uuid4().hex[:8]}", tmp_path / "in"
    folder.mkdir()
    for start in range(0, 600, 100):
        (folder / f"{start}.txt").write_text("".join(f"{number}\n" for number in range(start, start + 100)))
        if start == 200 or start == 500:
            stream = spark.readStream.schema("value STRING").option("maxFilesPerTrigger", 1).text(str(folder))
            checkpoint = str(tmp_path / "checkpoint")
            query = write_exactly_once(
                stream, bootstrap_servers=bootstrap, topic=name, query_name=who, checkpoint=checkpoint, trigger={"availableNow": True}
            )
            assert query.awaitTermination(100)
            assert query.exception() is None
    assert values(read_all(bootstrap, name)) == Counter(range(600))
    with Cluster(bootstrap) as cluster:
        assert TransactionClient(cluster, who, 60_000).position(str(query.id)) == (6, str(query.id))
