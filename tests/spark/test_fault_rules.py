"""The exactly-once sink under the test kit's rules: answers that are lost, refusals, cut connections, a broker that dies at its points."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from oncelog.broker.testkit import Broker, assert_exactly_once, assert_no_open_transactions
from oncelog.spark_jobs.exactly_once import BatchWriter, Sink, SinkError
from pyspark.errors import PySparkException

RULES = Path(__file__).parents[2] / "examples" / "rules"
TRIES = 5  # a query is started again so often


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as made:
        made.create_topic("out", 3)
        yield made


@pytest.fixture
def write(spark: Any, broker: Broker) -> Iterator[Callable[[int], int]]:
    """Batch n of a query, 100 rows, by drivers started anew until one says that it is done; how many it took."""
    spark.sparkContext.setLocalProperty("sql.streaming.queryId", "q")

    def batch(number: int) -> int:
        rows = spark.range(100 * number, 100 * (number + 1)).selectExpr("CAST(id AS STRING) AS key", "CAST(id AS STRING) AS value")
        for tries in range(1, TRIES):
            try:
                BatchWriter(Sink(broker.bootstrap, "out", "q", transaction_timeout=60.0, compression=None))(rows, number)
            except (SinkError, PySparkException, OSError):
                continue
            return tries
        raise AssertionError(f"batch {number} was not written by {TRIES} drivers")

    yield batch
    spark.sparkContext.setLocalProperty("sql.streaming.queryId", None)


def lost_answer() -> dict[str, Any]:
    """The rule of the examples, for whatever id the sink has."""
    rule: dict[str, Any] = json.loads((RULES / "lost-answer.json").read_text())
    del rule["match"]["transactional_id"]
    return rule


def rule(api: str, **action: Any) -> dict[str, Any]:
    return {"match": {"api": api}, "action": action, "must_hit": True}


def every_row_once(broker: Broker, batches: int) -> None:
    assert_exactly_once(broker, "out", [str(number) for number in range(100 * batches)])
    assert_no_open_transactions(broker)


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(lost_answer(), id="answer of EndTxn lost"),
        pytest.param(rule("Produce", type="drop_answer"), id="answer of Produce lost", marks=pytest.mark.slow),
        pytest.param(rule("TxnOffsetCommit", type="drop_answer"), id="answer of TxnOffsetCommit lost", marks=pytest.mark.slow),
        pytest.param(rule("InitProducerId", type="drop_answer"), id="answer of InitProducerId lost", marks=pytest.mark.slow),
        pytest.param(rule("EndTxn", type="drop_request"), id="EndTxn lost", marks=pytest.mark.slow),
        pytest.param(rule("EndTxn", type="error", code="CONCURRENT_TRANSACTIONS"), id="EndTxn refused", marks=pytest.mark.slow),
        pytest.param(rule("EndTxn", type="short_write"), id="half of an answer", marks=pytest.mark.slow),
        pytest.param(rule("Produce", type="reset"), id="connection reset", marks=pytest.mark.slow),
    ],
)
def test_every_row_once_whatever_the_rule(broker: Broker, write: Callable[[int], int], asked: dict[str, Any]) -> None:
    assert write(0) == 1
    broker.faults.add_rule(asked)
    write(1)
    assert write(2) == 1
    every_row_once(broker, 3)
    broker.faults.clear()  # raises where the rule had not hit


@pytest.mark.slow
@pytest.mark.parametrize("power", [False, True], ids=["kill", "power cut"])
@pytest.mark.parametrize("point", ["after-prepare", "after-marker", "before-complete", "before-offsets", "mid-write", "after-sync"])
def test_every_row_once_wherever_the_broker_dies(broker: Broker, write: Callable[[int], int], point: str, power: bool) -> None:
    write(0)
    broker.crash_at(point)

    def revive() -> None:
        broker.wait_down()
        if power:
            broker.power_cut()
        broker.restart()

    with ThreadPoolExecutor(1) as pool:
        revived = pool.submit(revive)
        write(1)
        write(2)
        revived.result()  # raises where the point was not passed
    every_row_once(broker, 3)
