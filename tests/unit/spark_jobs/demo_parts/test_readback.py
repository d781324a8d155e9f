"""Counting, comparing, and reading topics to their end with a stock consumer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from oncelog.spark_jobs.demo_parts import readback
from oncelog.spark_jobs.demo_parts.readback import Message, ReadError, count_rows, differences, newest_by_key, read_all, read_parquet


@pytest.mark.parametrize(("numbers", "missing", "extra"), [([0, 1, 2], 0, 0), ([0, 2, 2], 1, 1), ([], 3, 0), ([0, 1, 2, 7], 0, 1)])
def test_count_rows(numbers: list[int], missing: int, extra: int) -> None:
    times = count_rows(numbers, 3)
    assert (times.missing, times.extra) == (missing, extra)


def test_differences_name_the_cell() -> None:
    assert differences({"a": 1, "b": 2}, {"a": 1, "b": 3, "c": 4}) == ["b: found 2, expected 3", "c: found nothing, expected 4"]


def test_rows_are_once_when_none_is_missing_and_none_more() -> None:
    assert count_rows([2, 0, 1], 3).exactly_once
    assert not count_rows([0, 1], 3).exactly_once
    assert not count_rows([0, 1, 2, -1], 3).exactly_once


def test_no_more_differences_than_wanted() -> None:
    assert len(differences({str(n): n for n in range(99)}, {}, limit=3)) == 3
    assert differences({"a": 1}, {"a": 1}) == []


def test_the_newest_of_a_key() -> None:
    messages = [Message(0, 0, b"a", b'{"n": 1}'), Message(1, 0, b"b", b"2"), Message(0, 1, b"a", b'{"n": 3}'), Message(0, 2, None, None)]
    assert newest_by_key(messages) == {"a": {"n": 3}, "b": 2, "": None}


def test_a_table_of_several_files(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    for number in range(2):
        parquet.write_table(pyarrow.table({"n": [number]}), tmp_path / f"part-{number}.parquet")
    assert sorted(row["n"] for row in read_parquet(tmp_path)) == [0, 1]


class Record:
    """A message, or an error in place of one."""

    def __init__(self, offset: int | None, code: int | None = None) -> None:
        self._offset, self._code = offset, code

    def error(self) -> Any:
        return None if self._code is None else confluent_kafka.KafkaError(self._code)

    def offset(self) -> int | None:
        return self._offset

    def key(self) -> bytes | None:
        return None

    def value(self) -> bytes | None:
        return b"%d" % (self._offset or 0)


END = Record(None, confluent_kafka.KafkaError._PARTITION_EOF)


class Consumer:
    """Gives what stands in `topics`: for each partition the answers of `consume`, one after the other."""

    topics: dict[str, dict[int, list[list[Record]]]]
    made: list[Consumer]

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings, self.closed, self.at = settings, False, iter(())
        self.made.append(self)

    def list_topics(self, topic: str, _seconds: float) -> Any:
        found = self.topics.get(topic)
        error = confluent_kafka.KafkaError(3) if found is None else None
        one = type("Topic", (), {"error": error, "partitions": found or {}})
        return type("Listed", (), {"topics": {topic: one}})

    def assign(self, partitions: list[Any]) -> None:
        (one,) = partitions
        assert one.offset == confluent_kafka.OFFSET_BEGINNING
        self.at = iter(self.topics[one.topic][one.partition])

    def consume(self, _most: int, _seconds: float) -> list[Record]:
        return next(self.at, [])

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def topics(monkeypatch: pytest.MonkeyPatch) -> Any:
    Consumer.topics, Consumer.made = {}, []
    monkeypatch.setattr(confluent_kafka, "Consumer", Consumer)
    monkeypatch.setattr(readback, "PATIENCE_SECONDS", 0.0)
    yield Consumer.topics
    assert all(consumer.closed for consumer in Consumer.made)


def test_partition_by_partition_to_the_end(topics: Any) -> None:
    topics["t"] = {1: [[Record(0), END]], 0: [[Record(0), Record(3)], [Record(4), END]], 2: [[END]]}
    assert [(message.partition, message.offset) for message in read_all("h:1", "t")] == [(0, 0), (0, 3), (0, 4), (1, 0)]


@pytest.mark.parametrize(("committed", "level"), [(True, "read_committed"), (False, "read_uncommitted")])
def test_whose_view_it_is(topics: Any, committed: bool, level: str) -> None:
    topics["t"] = {0: [[END]]}
    assert list(read_all("h:1", "t", committed=committed, settings={"client.id": "me"})) == []
    (consumer,) = Consumer.made
    assert (consumer.settings["isolation.level"], consumer.settings["client.id"], consumer.settings["enable.auto.commit"]) == (
        level,
        "me",
        False,
    )


def test_errors_and_silence(topics: Any) -> None:
    with pytest.raises(ReadError, match="topic none"):
        list(read_all("h:1", "none"))
    topics["t"] = {0: [[Record(0)], [Record(None, confluent_kafka.KafkaError.TOPIC_AUTHORIZATION_FAILED)]]}
    with pytest.raises(ReadError, match="t-0: "):
        list(read_all("h:1", "t"))
    topics["t"] = {0: [[Record(0)]]}
    with pytest.raises(ReadError, match="nothing more from t-0 within 0 s"):
        list(read_all("h:1", "t"))
