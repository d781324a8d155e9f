"""Departures per airport and hour, on a small table."""

from __future__ import annotations

from typing import Any

from oncelog.spark_jobs import departures


def test_departures(spark: Any) -> None:
    values = [
        '{"scheduled": "2013-01-01T10:15:00Z", "origin": "EWR", "dep_delay": 2}',
        '{"scheduled": "2013-01-01T10:59:00Z", "origin": "EWR", "dep_delay": -5}',
        '{"scheduled": "2013-01-01T10:59:00Z", "origin": "EWR", "dep_delay": null}',
        '{"scheduled": "2013-01-01T11:00:00Z", "origin": "EWR"}',
        "not a flight",
        None,
    ]
    records = spark.createDataFrame([(value,) for value in values], "value STRING").selectExpr("CAST(value AS BINARY) AS value")
    table = departures.transform(records).withColumn("name", departures.key()).orderBy("name").collect()
    assert [(row.name, row.departures, row.cancelled, row.delay_minutes, row.mean_delay_minutes) for row in table] == [
        ("EWR 2013-01-01T10:00:00Z", 3, 1, -3, -1.5),
        ("EWR 2013-01-01T11:00:00Z", 1, 1, 0, None),
    ]
