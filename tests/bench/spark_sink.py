"""How fast is the exactly-once sink beside Spark's own? Same rows, same topic layout, same session, taking turns.

    python tests/bench/spark_sink.py [--bootstrap HOST:PORT] [--rows 1000000] [--value-bytes 300] [--rounds 3]

Prints rows per second for each round, and the ratio of the medians. Nothing is asserted. Without --bootstrap it starts a broker.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
import uuid
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from oncelog.spark_jobs.demo_parts.children import Broker
from oncelog.spark_jobs.exactly_once import BatchWriter, Sink
from oncelog.spark_jobs.load import create_topic
from oncelog.spark_jobs.session import kafka_session


def rows(session: Any, count: int, value_bytes: int) -> Any:
    """Keyed rows whose values are half random, half repeated: they compress about as JSON does."""
    half = value_bytes // 2
    text = f"concat(substring(repeat(sha2(CAST(id AS STRING), 256), {half // 64 + 1}), 1, {half}), repeat('a', {half}))"
    return session.range(0, count, 1, 3).selectExpr("CAST(id % 5000 AS STRING) AS key", f"{text} AS value")


def timed(write: Callable[[], None]) -> float:
    begun = time.monotonic()
    write()
    return time.monotonic() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bootstrap")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--value-bytes", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        broker = None if options.bootstrap else Broker(Path(folder)).start()
        bootstrap = broker.bootstrap if broker else options.bootstrap
        session = kafka_session("spark_sink", {"spark.log.level": "ERROR"})
        try:
            run(session, bootstrap, options)
        finally:
            session.stop()
            if broker:
                broker.stop()


def run(session: Any, bootstrap: str, options: argparse.Namespace) -> None:
    """Measure and print."""
    name = f"bench-{uuid.uuid4().hex[:6]}"
    create_topic(bootstrap, name, 3, {})
    session.sparkContext.setLocalProperty("sql.streaming.queryId", name)
    sink = BatchWriter(Sink(bootstrap, name, name, transaction_timeout=600.0, compression=None))
    taken: dict[str, list[float]] = {"exactly-once": [], "Spark's own": []}
    for round_number in range(options.rounds + 1):
        count = options.rows if round_number else options.rows // 20  # the first round warms up
        table = rows(session, count, options.value_bytes)
        stock = table.write.format("kafka").option("kafka.bootstrap.servers", bootstrap).option("topic", name)
        measured = {"exactly-once": timed(partial(sink, table, round_number)), "Spark's own": timed(stock.save)}
        if round_number:
            for each, seconds in measured.items():
                taken[each].append(seconds)
                print(f"round={round_number} sink={each!r} rows_per_s={count / seconds:,.0f}", flush=True)
    once, own = (options.rows / statistics.median(seconds) for seconds in taken.values())
    print(f"exactly-once {once:,.0f} rows/s, Spark's own {own:,.0f} rows/s, ", end="")
    print(f"ratio {once / own:.2f}")


if __name__ == "__main__":
    main()
