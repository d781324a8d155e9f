"""An exactly-once Kafka sink for Structured Streaming: one Kafka transaction per micro-batch, no jar, no change to the query.

    from oncelog.spark_jobs.exactly_once import write_exactly_once

    query = write_exactly_once(
        df, bootstrap_servers="127.0.0.1:9092", topic="out", query_name="orders", checkpoint="/data/orders", trigger={"availableNow": True}
    )
    query.awaitTermination()

Columns as for Spark's own sink: `value` (string or binary), optional `key`, `headers`, `partition`, and `topic` when no topic is given.
What consumers with `isolation.level=read_committed` see is every row once, whatever fails on the way; README.md beside this file goes
through the failures one by one. Per micro-batch:

1. The driver takes the query's transactional id (InitProducerId). Whoever held it is fenced from here on, a transaction left open is
   aborted. It then asks for the query's position, a committed offset of a consumer group that only this query uses. A batch below it is
   in
   already: done.
2. It opens the transaction by naming the target partitions. Rows are brought together by target partition, each written by exactly one
   task.
3. Tasks write with the driver's producer id and epoch, from sequence number 0. A second attempt of a task refuses to write.
4. The driver puts the number of the next batch into the same transaction and commits. Rows and position become visible together.

If an answer is lost, or anything else fails, the next try starts with step 1, which tells what became of the last one.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from oncelog.spark_jobs.sink import batch_format
from oncelog.spark_jobs.sink.chunks import Chunk, Target, encoder
from oncelog.spark_jobs.sink.client import BrokerError, Cluster, FencedError, NotReachedError
from oncelog.spark_jobs.sink.raw_producer import PartitionWriter
from oncelog.spark_jobs.sink.ship import ship_modules
from oncelog.spark_jobs.sink.slots import slots
from oncelog.spark_jobs.sink.transaction import NOBODY, Position, ProducerIdentity, TransactionClient

log = logging.getLogger(__name__)

CHUNKS = "slot INT, target INT, records INT, data BINARY"
WRITTEN = "stage INT, records BIGINT, bytes BIGINT"


class SinkError(RuntimeError):
    """The query cannot go on; the message says what to change."""


class ReplacedError(SinkError):
    """Another driver runs the query now."""


class SecondAttemptError(RuntimeError):
    """Spark ran a writing task a second time in the same transaction."""


class RepeatedStageError(RuntimeError):
    """Spark ran the writing stage a second time in the same transaction, or cannot say whether it did."""


@dataclass(frozen=True)
class Sink:
    """What the user said about a sink."""

    bootstrap_servers: str
    topic: str | None
    query_name: str
    transaction_timeout: float
    """seconds"""
    compression: str | None
    client: Mapping[str, str] = field(default_factory=dict)
    attempts: int = 3
    takeover: bool = False

    def cluster(self) -> Cluster:
        return Cluster(self.bootstrap_servers, self.client)


def write_exactly_once(
    stream_df: Any,
    *,
    bootstrap_servers: str,
    query_name: str,
    checkpoint: str,
    topic: str | None = None,
    trigger: Mapping[str, Any] | None = None,
    output_mode: str = "append",
    transaction_timeout: float = 900.0,
    compression: str | None = None,
    client: Mapping[str, str] | None = None,
    attempts: int = 3,
    takeover: bool = False,
) -> Any:
    """Start a query that writes `stream_df` to Kafka exactly once; returns the `StreamingQuery`.

    query_name: names the query, its transactional id and its group at the broker. One query, one name; a second one with the same
        name fences the first. The name and the checkpoint belong together: starting with a fresh checkpoint under a used name is
        refused unless `takeover=True`, because batch numbers begin at 0 again.
    topic: where every row goes, unless there is a `topic` column (which costs a second pass over each batch, to see the topics).
    trigger: arguments of `DataStreamWriter.trigger`, e.g. `{"availableNow": True}` or `{"processingTime": "10 seconds"}`.
    transaction_timeout: seconds a batch may take; the broker's `transaction.max.timeout.ms` (15 minutes by default) is the limit.
    compression: "zstd", "gzip", "none", or None for the best one the executors have.
    client: connection settings, see `client.py`.
    attempts: how often a failed batch is tried, in a new transaction each time, before the query stops.

    Raises SinkError for columns that do not fit. Needs pyarrow and pandas on driver and executors, and PySpark's classic mode
    (not Spark Connect).
    """
    check_columns(stream_df, topic)
    batch_format.codec_number(compression)
    sink = Sink(bootstrap_servers, topic, query_name, transaction_timeout, compression, dict(client or {}), attempts, takeover)
    writer = stream_df.writeStream.outputMode(output_mode).queryName(query_name).option("checkpointLocation", checkpoint)
    return writer.trigger(**(trigger or {"processingTime": "0 seconds"})).foreachBatch(BatchWriter(sink)).start()


def check_columns(df: Any, topic: str | None) -> None:
    """The rules of Spark's own sink. Raises SinkError."""
    types = dict(df.dtypes)
    for column, allowed in {
        "key": ("string", "binary"),
        "value": ("string", "binary"),
        "topic": ("string",),
        "partition": ("int",),
    }.items():
        if column in types and types[column] not in allowed:
            raise SinkError(f"column {column} is {types[column]}, it must be {' or '.join(allowed)}")
    if "value" not in types:
        raise SinkError("a column value is required")
    if topic is None and "topic" not in types:
        raise SinkError("give topic=… or a column topic")
    if "headers" in types and types["headers"] != "array<struct<key:string,value:binary>>":
        raise SinkError(f"column headers is {types['headers']}, it must be array<struct<key:string,value:binary>>")


class BatchWriter:
    """The function that Spark calls with every micro-batch."""

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self.identity: ProducerIdentity = NOBODY

    def __call__(self, batch: Any, batch_id: int) -> None:
        """Write one micro-batch, once. Raises SinkError, or what made the last try fail."""
        owner = query_id(batch)
        for attempt in range(1, self.sink.attempts + 1):
            begun = time.monotonic()
            try:
                with self.sink.cluster() as cluster:
                    self._write(cluster, batch, batch_id, owner)
                return
            except job_errors() as failed:
                if time.monotonic() - begun > self.sink.transaction_timeout:
                    raise too_slow(self.sink, batch_id, time.monotonic() - begun) from failed
                if attempt == self.sink.attempts or not worth_another_try(failed):
                    raise
                log.warning(
                    "query=%s batch=%d attempt=%d failed, trying again in a new transaction: %s",
                    self.sink.query_name,
                    batch_id,
                    attempt,
                    failed,
                )

    def _write(self, cluster: Cluster, batch: Any, batch_id: int, owner: str) -> None:
        sink = self.sink
        log.debug("query=%s batch=%d begins", sink.query_name, batch_id)
        transaction = TransactionClient(cluster, sink.query_name, int(sink.transaction_timeout * 1000))
        # our own identity of the last batch goes along: a driver that was thought dead and replaced is told so, and cannot take over again
        self.identity = begin(transaction, self.identity)
        position = transaction.position(owner)
        check_owner(sink, position, owner, batch_id)
        if position.owner == owner and position.next_batch > batch_id:
            log.info("query=%s batch=%d is in already", sink.query_name, batch_id)
            return
        targets = partitions_to_write(cluster, batch, sink.topic)
        if targets:
            transaction.add_partitions(self.identity, by_topic(targets))
            records = write_rows(batch, targets, sink, self.identity)
            transaction.add_position(self.identity, targets[0].topic, Position(batch_id + 1, owner))
            transaction.end(self.identity, commit=True)
            log.info("query=%s batch=%d records=%d committed", sink.query_name, batch_id, records)


def begin(transaction: TransactionClient, former: ProducerIdentity) -> ProducerIdentity:
    """A new epoch. Raises ReplacedError, and SinkError for a time-out the broker does not allow."""
    try:
        return transaction.begin(former)
    except FencedError as fenced:
        raise ReplacedError(f"another driver runs the query {transaction.name!r} now; this one stops") from fenced
    except BrokerError as refused:
        if refused.code == 50:
            raise SinkError(
                f"transaction_timeout={transaction.timeout_ms / 1000:g} s is more than the broker's transaction.max.timeout.ms allows: "
                "lower the one or raise the other"
            ) from refused
        raise


def too_slow(sink: Sink, batch_id: int, seconds: float) -> SinkError:
    """The error for a transaction that the broker aborted because it took too long."""
    return SinkError(
        f"batch {batch_id} of {sink.query_name!r} took {seconds:.0f} s, longer than transaction_timeout={sink.transaction_timeout:g} s: "
        "raise it (the broker's transaction.max.timeout.ms is the limit) or make batches smaller (maxOffsetsPerTrigger)"
    )


def check_owner(sink: Sink, position: Position, owner: str, batch_id: int) -> None:
    """Does the recorded position belong to this checkpoint? Raises SinkError."""
    if position.next_batch and position.owner != owner and not sink.takeover:
        raise SinkError(
            f"the query name {sink.query_name!r} is in use by another checkpoint (query {position.owner}, {position.next_batch} batches "
            f"in). This checkpoint is query {owner}, at batch {batch_id}. Choose another query_name, go back to the old checkpoint, or say "
            "takeover=True to write everything of this checkpoint again"
        )


def job_errors() -> tuple[type[Exception], ...]:
    """What a failed try looks like: Spark's errors around a failed job, and our own client's."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return PySparkException, Py4JError, BrokerError, NotReachedError, RepeatedStageError


def worth_another_try(failed: Exception) -> bool:
    """A broker's refusal is final, but for "your transaction is gone": the next try learns why, or whether someone took over."""
    return not isinstance(failed, BrokerError) or isinstance(failed, FencedError) or failed.code in (48, 49, 120)


def query_id(batch: Any) -> str:
    """Id of the running query: Spark keeps it in the checkpoint, so it outlives restarts and tells two checkpoints apart."""
    found = batch.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId")
    if not found:
        raise SinkError("no query id: write_exactly_once needs PySpark's classic mode")
    return str(found)


def partitions_to_write(cluster: Cluster, batch: Any, topic: str | None) -> list[Target]:
    """All partitions of the topics that the batch goes to, as the cluster has them now. Raises SinkError for a missing topic."""
    if "topic" in batch.columns:
        from pyspark.sql import functions as F

        names = {row[0] for row in batch.select(F.coalesce("topic", F.lit(topic))).distinct().collect()}
        if None in names:
            raise SinkError("a row has neither a topic nor is there a topic=… for it")
    else:
        assert topic is not None
        names = {topic}
    try:
        view = cluster.metadata(sorted(names))
    except BrokerError as refused:
        if refused.code == 3:
            raise SinkError(f"{refused.args[1]} does not exist; this sink creates none") from refused
        raise
    return [Target(name, partition.number) for name in sorted(names) for partition in sorted(view.topics[name][1])]


def by_topic(targets: Sequence[Target]) -> dict[str, Sequence[int]]:
    topics: dict[str, Sequence[int]] = {}
    for target in targets:
        topics[target.topic] = [*topics.get(target.topic, ()), target.partition]
    return topics


# ------------------------------------------------------------------------------------------------------------------- on executors


def write_rows(batch: Any, targets: Sequence[Target], sink: Sink, identity: ProducerIdentity) -> int:
    """Run the Spark job that writes the batch; returns the number of records written."""
    ship_modules(batch.sparkSession.sparkContext)
    chunks = records_of(batch).mapInArrow(encoder(tuple(targets), sink.topic, slots(len(targets))), CHUNKS)
    # `slot` is a number that Spark's own hash partitioner sends to the task of the target's number: one task per Kafka partition
    together = chunks.repartition(len(targets), "slot").drop("slot")
    written = together.mapInArrow(task(tuple(targets), sink, identity), WRITTEN).collect()
    for stage in {row.stage for row in written}:
        check_stage_ran_once(batch.sparkSession.sparkContext.statusTracker(), stage)
    return sum(row.records for row in written)


def check_stage_ran_once(tracker: Any, stage: int, seconds: float = 10.0) -> None:
    """Was every task of the stage run in its first attempt? Raises RepeatedStageError.

    A task that loses its input (FetchFailed) is not tried again itself: Spark repeats the stage, and in that the tasks count their attempts
    from 0. The broker tells such attempts apart by their first batch, but for partitions that get too few rows to differ in it.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        info = tracker.getStageInfo(stage)  # Spark keeps it up to date in a thread of its own, so it may lag behind the job's end
        if info is not None and info.currentAttemptId:
            raise RepeatedStageError(
                f"stage {stage} was repeated: an attempt of its tasks may have written, so the batch must be tried again"
            )
        if info is not None and info.numCompletedTasks >= info.numTasks:
            return
        time.sleep(0.002)
    raise RepeatedStageError(f"Spark does not say how often it ran stage {stage}: is spark.ui.retainedStages very small?")


def records_of(batch: Any) -> Any:
    """The columns that make a record, key and value as bytes."""
    from pyspark.sql import functions as F

    columns = batch.columns
    key = F.col("key") if "key" in columns else F.lit(None)
    others = [name for name in ("topic", "partition", "headers") if name in columns]
    return batch.select(key.cast("binary").alias("key"), F.col("value").cast("binary").alias("value"), *others)


def task(targets: Sequence[Target], sink: Sink, identity: ProducerIdentity) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function that writes one task's chunks; its result says how much went where."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None, "this runs inside a Spark task"
        attempt, codec = context.taskAttemptId(), batch_format.codec_number(sink.compression)
        writers: dict[int, PartitionWriter] = {}
        with sink.cluster() as cluster:
            for batch in batches:
                if context.attemptNumber():
                    raise SecondAttemptError(
                        f"attempt {context.attemptNumber()} of this task: an earlier one may have written, so the batch must be tried again"
                    )
                for target, records, data in zip(*(batch.column(name).to_pylist() for name in ("target", "records", "data")), strict=True):
                    if target not in writers:
                        to = targets[target]
                        writers[target] = PartitionWriter(
                            cluster, sink.query_name, identity, to.topic, to.partition, attempt=attempt, codec=codec
                        )
                    writers[target].write(Chunk(records, data))
            written = [writer.finish() for writer in writers.values()]
        rows = [{"stage": context.stageId(), "records": done.records, "bytes": done.bytes} for done in written]
        schema = pyarrow.schema([("stage", pyarrow.int32()), ("records", pyarrow.int64()), ("bytes", pyarrow.int64())])
        yield pyarrow.RecordBatch.from_pylist(rows, schema=schema)

    return run
