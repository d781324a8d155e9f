"""What every job here has in common: its options, its source, its sinks, its progress lines.

A job brings a `transform(df)` and says how one row of its result becomes a Kafka record; `run` does the rest:

    --input TOPIC ──► transform ──┬──► --output TOPIC     (Spark's own Kafka sink, or the exactly-once one with --delivery exactly-once)
                                  └──► --output DIRECTORY (Parquet, the whole table, replaced by every micro-batch)

Each output is a query of its own with a checkpoint of its own, `CHECKPOINT/NAME`, because Spark resumes queries, not programs.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from oncelog.spark_jobs.session import kafka_session

Transform = Callable[[Any], Any]


@dataclass(frozen=True)
class Job:
    """One pipeline: records of a topic in, a keyed table out."""

    name: str
    doc: str
    transform: Transform
    """Kafka source columns → result table."""
    key: Callable[[], Any]
    """Column that names one row of the table; becomes the record's key."""


def arguments(name: str, doc: str, argv: Sequence[str] | None) -> argparse.Namespace:
    """The command line that all jobs share."""
    parser = argparse.ArgumentParser(prog=name, description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bootstrap-servers", default="127.0.0.1:9092", help="host:port[,host:port…] (default %(default)s)")
    parser.add_argument("--input", required=True, metavar="TOPIC", help="topic to read")
    output = parser.add_argument("--output", required=True, action="append", metavar="TOPIC|DIRECTORY")
    output.help = "where the result goes; may be repeated. With a slash: a directory"
    parser.add_argument(
        "--checkpoint", required=True, metavar="DIRECTORY", help="where Spark remembers how far it got; one sub-folder per output"
    )
    parser.add_argument(
        "--trigger", default="available-now", help='"available-now" (all there is, then stop; default) or an interval such as "10 seconds"'
    )
    delivery = parser.add_argument("--delivery", default="stock", choices=["stock", "exactly-once"])
    delivery.help = "which sink writes an output topic: Spark's own, or the exactly-once one (default %(default)s)"
    parser.add_argument("--max-offsets-per-trigger", type=int, metavar="N", help="rows per micro-batch")
    parser.add_argument("--isolation", default="read_committed", choices=["read_committed", "read_uncommitted"], help="default %(default)s")
    parser.add_argument(
        "--kafka-option", action="append", default=[], metavar="KEY=VALUE", help="client setting, e.g. security.protocol=SSL"
    )
    return parser.parse_args(argv)


def run(job: Job, argv: Sequence[str] | None = None) -> int:
    """Run `job` to the end of its trigger (for ever with an interval). Returns the exit status."""
    options = arguments(job.name, job.doc, argv)

    def queries(session: Any) -> list[Any]:
        table = job.transform(read_topic(session, options))
        return [start(job, table, output, options) for output in options.output]

    return run_queries(job.name, queries)


def run_queries(name: str, start_all: Callable[[Any], list[Any]]) -> int:
    """Start queries in a session of their own and wait for all of them; the first failure stops the program."""
    session = kafka_session(name, {"spark.sql.session.timeZone": "UTC"})  # the tables speak UTC wherever they are made
    session.streams.addListener(progress_listener(sys.stderr))
    try:
        for query in start_all(session):
            query.awaitTermination()
    finally:
        session.stop()
    return 0


def client_options(options: argparse.Namespace) -> dict[str, str]:
    """Settings for Kafka's clients inside Spark (`kafka.` is Spark's prefix for them)."""
    pairs = (pair.split("=", 1) for pair in options.kafka_option)
    return {"kafka.bootstrap.servers": options.bootstrap_servers, **{f"kafka.{key}": value for key, value in pairs}}


def read_topic(session: Any, options: argparse.Namespace) -> Any:
    """Spark's own Kafka source, from the first record on."""
    reader = session.readStream.format("kafka").options(**client_options(options)).option("kafka.isolation.level", options.isolation)
    reader = reader.option("subscribe", options.input).option("startingOffsets", "earliest")
    if options.max_offsets_per_trigger:
        reader = reader.option("maxOffsetsPerTrigger", options.max_offsets_per_trigger)
    return reader.load()


def trigger_settings(text: str) -> dict[str, Any]:
    """Arguments for `DataStreamWriter.trigger`."""
    return {"availableNow": True} if text == "available-now" else {"processingTime": text}


def start(job: Job, table: Any, output: str, options: argparse.Namespace) -> Any:
    """Start the query that keeps one output up to date."""
    name = re.sub(r"\W+", "-", f"{job.name}-{output}").strip("-")
    if "/" not in output:
        return start_topic(as_records(job, table), output, name, "update", options)
    writer = table.writeStream.outputMode("complete").foreachBatch(replace_parquet(output)).queryName(name)
    return writer.option("checkpointLocation", checkpoint_of(name, options)).trigger(**trigger_settings(options.trigger)).start()


def start_topic(records: Any, topic: str, name: str, output_mode: str, options: argparse.Namespace) -> Any:
    """Start the query that writes `records` (key, value) to a topic, with the sink that `--delivery` names."""
    trigger, checkpoint = trigger_settings(options.trigger), checkpoint_of(name, options)
    if options.delivery == "exactly-once":
        from oncelog.spark_jobs.exactly_once import write_exactly_once

        return write_exactly_once(
            records,
            bootstrap_servers=options.bootstrap_servers,
            topic=topic,
            query_name=name,
            checkpoint=checkpoint,
            trigger=trigger,
            output_mode=output_mode,
            client=dict(pair.split("=", 1) for pair in options.kafka_option),
        )
    writer = records.writeStream.outputMode(output_mode).format("kafka").options(**client_options(options)).option("topic", topic)
    return writer.queryName(name).option("checkpointLocation", checkpoint).trigger(**trigger).start()


def checkpoint_of(name: str, options: argparse.Namespace) -> str:
    """The query's own folder; a file system's URL stays one."""
    return f"{options.checkpoint.rstrip('/')}/{name}"


def as_records(job: Job, table: Any) -> Any:
    """Rows as Kafka records: the job's key, and the whole row as JSON. The newest record of a key is its row of the table."""
    from pyspark.sql import functions as F

    return table.select(job.key().cast("string").alias("key"), F.to_json(F.struct("*")).alias("value"))


def replace_parquet(directory: str) -> Callable[[Any, int], None]:
    """A batch function that replaces the table in `directory`: running a batch twice leaves what running it once leaves."""

    def write(batch: Any, batch_id: int) -> None:
        batch.coalesce(1).write.mode("overwrite").parquet(directory)

    return write


def progress_listener(out: Any) -> Any:
    """A listener that prints one line per micro-batch."""
    from pyspark.sql.streaming.listener import StreamingQueryListener

    class Progress(StreamingQueryListener):
        def onQueryStarted(self, event: Any) -> None:
            print(f"started query={event.name} id={event.id}", file=out, flush=True)

        def onQueryProgress(self, event: Any) -> None:
            progress = event.progress
            took_ms = progress.durationMs.get("triggerExecution", 0)
            rows = f"rows={progress.numInputRows} rows_per_s={progress.processedRowsPerSecond:.0f}"
            print(f"progress query={progress.name} batch={progress.batchId} {rows} took_ms={took_ms}", file=out, flush=True)

        def onQueryIdle(self, event: Any) -> None:
            pass

        def onQueryTerminated(self, event: Any) -> None:
            reason = f" exception={event.exception.splitlines()[0]}" if event.exception else ""
            print(f"ended id={event.id}{reason}", file=out, flush=True)

    return Progress()
