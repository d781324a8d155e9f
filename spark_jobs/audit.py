"""Is every row of a topic there once? Compares what read_committed and read_uncommitted consumers get.

    spark-submit --packages org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0 spark_jobs/audit.py \\
        --bootstrap-servers 127.0.0.1:9092 --topic flights-once --field row --expect 336776

Rows are told apart by a number in their JSON value (`--field`). Prints a table, or one JSON object with `--json`. Exit status 1 when a
committed row is missing or came more than once.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from oncelog.spark_jobs.session import kafka_session


@dataclass(frozen=True)
class Finding:
    """What a reader with one isolation level gets."""

    isolation: str
    records: int
    distinct: int
    duplicates: int
    """records beyond the first of their number"""
    gaps: int
    """numbers from 0 up to the expected count (or the highest seen) that are not there"""
    unnumbered: int
    """records without the field"""


def transform(records: Any, field: str) -> Any:
    """Records of the Kafka source → one row: records, distinct, lowest, highest, unnumbered."""
    from pyspark.sql import functions as F

    number = F.get_json_object(F.col("value").cast("string"), f"$.{field}").cast("bigint").alias("number")
    counted = records.select(number).groupBy("number").count()
    return counted.agg(
        F.coalesce(F.sum("count"), F.lit(0)).alias("records"),
        F.count("number").alias("distinct"),
        F.max("number").alias("highest"),
        F.coalesce(F.sum(F.when(F.col("number").isNull(), F.col("count"))), F.lit(0)).alias("unnumbered"),
        F.count(F.when(F.col("number") >= 0, True)).alias("from_zero"),
    )


def audit(session: Any, bootstrap: str, topic: str, field: str, expect: int | None, isolation: str) -> Finding:
    """Read all of `topic` under `isolation` with Spark's batch source and count."""
    reader = session.read.format("kafka").option("kafka.bootstrap.servers", bootstrap).option("kafka.isolation.level", isolation)
    row = transform(reader.option("subscribe", topic).load(), field).first()
    wanted = expect if expect is not None else (row.highest + 1 if row.highest is not None else 0)
    return Finding(
        isolation, row.records, row.distinct, row.records - row.unnumbered - row.distinct, max(wanted - row.from_zero, 0), row.unnumbered
    )


def table(findings: Sequence[Finding]) -> str:
    """Findings side by side, and what was aborted."""
    names = ["records", "distinct", "duplicates", "gaps", "unnumbered"]
    lines = [f"{'':<12}" + "".join(f"{finding.isolation:>18}" for finding in findings)]
    lines += [f"{name:<12}" + "".join(f"{getattr(finding, name):>18,}" for finding in findings) for name in names]
    return "\n".join([*lines, f"{'aborted':<12}{aborted(findings):>36,}"])


def aborted(findings: Sequence[Finding]) -> int:
    """Records that only read_uncommitted shows: of aborted transactions, and of those still open."""
    committed, everything = findings
    return everything.records - committed.records


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; see the text at the top of this file."""
    parser = argparse.ArgumentParser(prog="audit", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bootstrap-servers", default="127.0.0.1:9092")
    parser.add_argument("--topic", required=True)
    parser.add_argument("--field", default="row", help="number in the JSON value that tells rows apart (default %(default)s)")
    parser.add_argument("--expect", type=int, metavar="N", help="the numbers should be 0 … N-1 (default: up to the highest seen)")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(argv)
    session = kafka_session("audit")
    try:
        arguments = (session, options.bootstrap_servers, options.topic, options.field, options.expect)
        findings = [audit(*arguments, isolation) for isolation in ("read_committed", "read_uncommitted")]
    finally:
        session.stop()
    good = not findings[0].duplicates and not findings[0].gaps and not findings[0].unnumbered
    if options.json:
        print(
            json.dumps(
                {
                    "topic": options.topic,
                    "exactly_once": good,
                    "aborted": aborted(findings),
                    "readers": [asdict(finding) for finding in findings],
                }
            )
        )
    else:
        print(table(findings))
        print("every row once" if good else "NOT every row once")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
