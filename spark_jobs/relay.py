"""Copy a topic into another, record by record; the shortest job there is, to see what a sink does when it is killed.

    spark-submit --packages org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0 spark_jobs/relay.py \\
        --bootstrap-servers 127.0.0.1:9092 --input flights --output flights-once --checkpoint ./checkpoint --delivery exactly-once

Kill it in the middle (kill -9), start it again, and compare `--delivery stock` with `--delivery exactly-once` by audit.py.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Any

from oncelog.spark_jobs.job import arguments, read_topic, run_queries, start_topic


def transform(records: Any) -> Any:
    """Key and value as they are."""
    return records.select("key", "value")


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; see the text at the top of this file."""
    options = arguments("relay", __doc__, argv)

    def queries(session: Any) -> list[Any]:
        records = transform(read_topic(session, options))
        return [start_topic(records, output, re.sub(r"\W+", "-", f"relay-{output}"), "append", options) for output in options.output]

    return run_queries("relay", queries)


if __name__ == "__main__":
    sys.exit(main())
