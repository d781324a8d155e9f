"""What a reader got, counted."""

from __future__ import annotations

from typing import Any

from oncelog.spark_jobs import audit


def test_audit(spark: Any) -> None:
    records = spark.createDataFrame([('{"row": 0}',), ('{"row": 2}',), ('{"row": 2}',), ("{}",), (None,)], "value STRING")
    row = audit.transform(records, "row").first()
    assert (row.records, row.distinct, row.highest, row.unnumbered, row.from_zero) == (5, 2, 2, 2, 2)
