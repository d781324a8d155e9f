"""One Spark for all tests of this folder; `--bootstrap host:port` runs them against another Kafka."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

THEIRS = (":ResourceWarning", ":pytest.PytestUnraisableExceptionWarning", "PySpark does not yet fully support:FutureWarning")

pytest.importorskip("pyspark", reason="PySpark is not installed: make install-spark")


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A session whose tasks may fail twice before their job does, as on a cluster."""
    from oncelog.spark_jobs.session import SessionError, kafka_session

    try:
        session = kafka_session(
            "tests", {"spark.master": "local[2,3]", "spark.log.level": "OFF", "spark.sql.streaming.pollingDelay": "10ms"}
        )
    except SessionError as missing:
        pytest.skip(str(missing))
    yield session
    session.stop()


@pytest.fixture
def topic(bootstrap: str) -> Callable[[int], str]:
    """Creates topics: `topic(partitions)` gives the name of a new one."""
    from oncelog.spark_jobs.load import create_topic

    def create(partitions: int = 3) -> str:
        name = f"t-{uuid.uuid4().hex[:10]}"
        create_topic(bootstrap, name, partitions, {})
        return name

    return create


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """PySpark and py4j leave closing their sockets to the garbage collector and warn of a pandas they ask for: theirs to mend."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            for warning in THEIRS:
                item.add_marker(pytest.mark.filterwarnings(f"ignore:{warning}"))
