"""Flights in, a table of departures per origin airport and hour out.

Input: JSON records such as `{"scheduled": "2013-01-01T10:15:00Z", "origin": "EWR", "dep_delay": 2, …}`; `dep_delay` is in minutes and
null for a cancelled flight. Output, one row per airport and hour (UTC): `origin`, `hour`, `departures`, `cancelled`, `delay_minutes`
(sum), `mean_delay_minutes`.

    spark-submit --packages org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0 spark_jobs/departures.py \\
        --bootstrap-servers 127.0.0.1:9092 --input flights --output departures --output ./departures.parquet --checkpoint ./checkpoint

Without spark-submit, on this machine (the connector is found by itself):

    python -m oncelog.spark_jobs.departures --input flights --output departures --checkpoint ./checkpoint
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from oncelog.spark_jobs.job import Job, run

SCHEMA = "scheduled TIMESTAMP, origin STRING, dep_delay INT"
"""The fields of a flight that this job looks at."""


def transform(records: Any) -> Any:
    """Records of the Kafka source (`value` holds a flight as JSON) → one row per origin and hour. Rows that are no flight are left out."""
    from pyspark.sql import functions as F

    flight = F.from_json(F.col("value").cast("string"), SCHEMA).alias("flight")
    flights = records.select(flight).select("flight.*").where("scheduled IS NOT NULL AND origin IS NOT NULL")
    return (
        flights.groupBy("origin", F.date_trunc("hour", "scheduled").alias("hour"))
        .agg(
            F.count("*").alias("departures"),
            F.count(F.when(F.col("dep_delay").isNull(), True)).alias("cancelled"),
            F.coalesce(F.sum("dep_delay"), F.lit(0)).alias("delay_minutes"),
        )
        .withColumn("mean_delay_minutes", F.try_divide("delay_minutes", F.col("departures") - F.col("cancelled")))
    )


def key() -> Any:
    """`EWR 2013-01-01T10:00:00Z`."""
    from pyspark.sql import functions as F

    return F.format_string("%s %s", "origin", F.date_format("hour", "yyyy-MM-dd'T'HH:mm:ssX"))


JOB = Job("departures", __doc__, transform, key)


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; see the text at the top of this file."""
    return run(JOB, argv)


if __name__ == "__main__":
    sys.exit(main())
