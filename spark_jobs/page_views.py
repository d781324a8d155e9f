"""Lines of a web server's access log in, a table of views per page, status class and minute out.

Input: records whose value is one line in the common or combined log format (Apache, nginx). Query strings are cut off, lines that do not
parse are counted under the page `(unparsed)` instead of vanishing. Output, one row each: `minute` (UTC), `page`, `status` (2xx, 4xx, …),
`views`, `bytes`.

    spark-submit --packages org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0 spark_jobs/page_views.py \\
        --bootstrap-servers 127.0.0.1:9092 --input access-log --output page-views --output ./page-views.parquet --checkpoint ./checkpoint

Without spark-submit, on this machine (the connector is found by itself):

    python -m oncelog.spark_jobs.page_views --input access-log --output page-views --checkpoint ./checkpoint
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from oncelog.spark_jobs.job import Job, run

LINE = (
    r"^\S+ \S+ \S+ \[(\d\d/[A-Z][a-z]{2}/(?:19|20)\d\d:\d\d:\d\d:\d\d [+-](?:0\d|1[0-4])[0-5]\d)\] "
    r'"(?:[A-Z]+) ([^ "]*)[^"]*" (\d{3}) (\d{1,15}|-)(?!\d)'
)
"""Common log format; what the combined format appends needs no parsing. Groups: time, target, status, bytes. ASCII, as Java reads it."""
TIME = "dd/MMM/yyyy:HH:mm:ss Z"
UNPARSED = "(unparsed)"


def transform(records: Any) -> Any:
    """Records of the Kafka source (`value` holds one line) → one row per minute, page and status class."""
    from pyspark.sql import functions as F

    line = F.col("value").cast("string")
    parsed = records.select(
        "timestamp", *(F.regexp_extract(line, LINE, group).alias(name) for group, name in enumerate(("at", "target", "code", "size"), 1))
    )
    logged = F.try_to_timestamp(F.nullif("at", F.lit("")), F.lit(TIME))
    views = parsed.select(
        # a line without a readable time is counted in the minute its record carries
        F.date_trunc("minute", F.coalesce(logged, "timestamp")).alias("minute"),
        F.when(logged.isNull(), UNPARSED).otherwise(F.substring_index("target", "?", 1)).alias("page"),
        F.when(logged.isNull(), "").otherwise(F.concat(F.substring("code", 1, 1), F.lit("xx"))).alias("status"),
        F.coalesce(F.expr("try_cast(size AS BIGINT)"), F.lit(0)).alias("size"),
    )
    return views.groupBy("minute", "page", "status").agg(F.count("*").alias("views"), F.sum("size").alias("bytes"))


def key() -> Any:
    """`2026-01-31T12:05:00Z /index.html 2xx`."""
    from pyspark.sql import functions as F

    return F.format_string("%s %s %s", F.date_format("minute", "yyyy-MM-dd'T'HH:mm:ssX"), "page", "status")


JOB = Job("page-views", __doc__, transform, key)


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; see the text at the top of this file."""
    return run(JOB, argv)


if __name__ == "__main__":
    sys.exit(main())
