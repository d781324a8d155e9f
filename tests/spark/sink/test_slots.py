"""The partitioner's hash, asked of Spark itself."""

from __future__ import annotations

from typing import Any

from oncelog.spark_jobs.sink.slots import slots, spark_hash


def test_slots_follow_sparks_hash(spark: Any) -> None:
    numbers = [0, 1, 2, 41, 2**31 - 1]
    hashed = spark.createDataFrame([(number,) for number in numbers], "n INT").selectExpr("hash(n) AS h").collect()
    assert [row.h for row in hashed] == [spark_hash(number) for number in numbers]
    for tasks in (1, 3, 50):
        assert [spark_hash(number) % tasks for number in slots(tasks)] == list(range(tasks))
