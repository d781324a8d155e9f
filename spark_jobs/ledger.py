"""A double-entry ledger: transfers in, two postings each out, and debits equal credits at every committed point.

Input: JSON transfers such as `{"id": "t-17", "debit": "alice", "credit": "bob", "amount_cents": 1250}`. Output topic: one posting per side,
keyed by account: `{"transfer": "t-17", "account": "alice", "amount_cents": -1250}` and the same for bob with +1250. The exactly-once sink
is not a choice here: with any other, a restart would move money twice, and a reader could see one side without the other's batch.

    spark-submit --packages org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0 spark_jobs/ledger.py post \\
        --bootstrap-servers 127.0.0.1:9092 --input transfers --output postings --checkpoint ./checkpoint
    spark-submit --packages org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0 spark_jobs/ledger.py balances \\
        --bootstrap-servers 127.0.0.1:9092 --input postings

`balances` reads the committed postings and prints what each account holds; exit status 1 when debits and credits differ or a transfer was
posted other than once. Transfers that are not well formed (an amount that is not positive, a missing account) are not posted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from oncelog.spark_jobs.job import arguments, read_topic, run_queries, start_topic
from oncelog.spark_jobs.session import kafka_session

TRANSFER = "id STRING, debit STRING, credit STRING, amount_cents BIGINT"
POSTING = "transfer STRING, account STRING, amount_cents BIGINT"


def transform(records: Any) -> Any:
    """Records of the Kafka source (`value` holds a transfer) → two records (key, value) per transfer, one posting each."""
    from pyspark.sql import functions as F

    transfer = F.from_json(F.col("value").cast("string"), TRANSFER).alias("transfer")
    transfers = records.select(transfer).select("transfer.*")
    sound = transfers.where("id IS NOT NULL AND debit IS NOT NULL AND credit IS NOT NULL AND amount_cents > 0")
    sides = F.array(
        F.struct(F.col("id").alias("transfer"), F.col("debit").alias("account"), (-F.col("amount_cents")).alias("amount_cents")),
        F.struct(F.col("id").alias("transfer"), F.col("credit").alias("account"), F.col("amount_cents").alias("amount_cents")),
    )
    postings = sound.select(F.explode(sides).alias("posting"))
    return postings.select(F.col("posting.account").alias("key"), F.to_json("posting").alias("value"))


def postings(records: Any) -> Any:
    """Records of the output topic → their fields."""
    from pyspark.sql import functions as F

    return records.select(F.from_json(F.col("value").cast("string"), POSTING).alias("posting")).select("posting.*")


def balances(posted: Any) -> Any:
    """Postings → one row per account: what it holds, and over how many postings."""
    from pyspark.sql import functions as F

    return posted.groupBy("account").agg(F.sum("amount_cents").alias("balance_cents"), F.count("*").alias("postings")).orderBy("account")


def unsound(posted: Any) -> Any:
    """Postings → transfers that are not posted exactly once on each side."""
    from pyspark.sql import functions as F

    sides = posted.groupBy("transfer").agg(F.count("*").alias("postings"), F.sum("amount_cents").alias("difference_cents"))
    return sides.where("postings <> 2 OR difference_cents <> 0")


def post(argv: Sequence[str]) -> int:
    """The streaming half."""
    options = arguments("ledger post", __doc__, argv)
    options.delivery = "exactly-once"

    def queries(session: Any) -> list[Any]:
        records = transform(read_topic(session, options))
        return [start_topic(records, output, f"ledger-{output}", "append", options) for output in options.output]

    return run_queries("ledger", queries)


def show_balances(argv: Sequence[str]) -> int:
    """The checking half."""
    parser = argparse.ArgumentParser(prog="ledger balances")
    parser.add_argument("--bootstrap-servers", default="127.0.0.1:9092")
    parser.add_argument("--input", required=True, metavar="TOPIC")
    options = parser.parse_args(argv)
    session = kafka_session("ledger")
    try:
        reader = session.read.format("kafka").option("kafka.bootstrap.servers", options.bootstrap_servers)
        posted = postings(reader.option("kafka.isolation.level", "read_committed").option("subscribe", options.input).load()).cache()
        rows, wrong = balances(posted).collect(), unsound(posted).count()
    finally:
        session.stop()
    for row in rows:
        print(f"{row.account:<24}{row.balance_cents / 100:>16,.2f}{row.postings:>10,}")
    total = sum(row.balance_cents for row in rows)
    print(f"accounts={len(rows)} postings={sum(row.postings for row in rows)} sum_cents={total} unsound_transfers={wrong}")
    return 0 if total == 0 and wrong == 0 else 1


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; see the text at the top of this file."""
    given = list(sys.argv[1:] if argv is None else argv)
    command = {"post": post, "balances": show_balances}.get(given[0] if given else "")
    if command is None:
        print(__doc__)
        return 0 if given in (["-h"], ["--help"]) else 2
    return command(given[1:])


if __name__ == "__main__":
    sys.exit(main())
