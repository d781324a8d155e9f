"""Numbers that Spark's partitioner sends to the task they are meant for."""

from __future__ import annotations

import pytest
from oncelog.spark_jobs.sink.slots import slots, spark_hash


def test_the_hash_is_sparks() -> None:
    """As `SELECT hash(n)` of Spark 4.0 answers; tests/spark asks it again."""
    known = {0: 933211791, 1: -559580957, 2: 1765031574, 41: -1080649125, 2**31 - 1: 133916647}
    assert {number: spark_hash(number) for number in known} == known


@pytest.mark.parametrize("tasks", [1, 2, 3, 7, 50, 200])
def test_each_task_has_the_smallest_number_that_is_sent_to_it(tasks: int) -> None:
    found = slots(tasks)
    assert [spark_hash(number) % tasks for number in found] == list(range(tasks))
    assert all(spark_hash(smaller) % tasks != task for task, number in enumerate(found) for smaller in range(number))
