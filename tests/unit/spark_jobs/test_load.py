"""The loader against a producer and a group in memory: rows and position move together, whatever is aborted or interrupted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import confluent_kafka
import confluent_kafka.admin
import pytest
from oncelog.spark_jobs import load
from oncelog.spark_jobs.flights import Event
from oncelog.spark_jobs.load import Loader, LoadError, chunks, create_topic, load_idempotent, load_transactional, settled

ROWS = [Event(b"k", b"%d" % number, number) for number in range(23)]


class Kafka:
    """What was committed; `dies_at` ends the program before so many commits."""

    def __init__(self) -> None:
        self.values: list[int] = []
        self.aborted = self.position = 0
        self.dies_at = 10**9
        self.full = 0
        self.error: Any = None
        self.settings: dict[str, Any] = {}


class DeadError(Exception):
    """The process is gone."""


class Producer:
    kafka: Kafka

    def __init__(self, settings: dict[str, Any]) -> None:
        self.kafka.settings = settings
        self.open: list[int] = []
        self.offset: int | None = None
        self.deliveries: list[Any] = []
        self.transactional = False

    def init_transactions(self, _seconds: float) -> None:
        self.transactional = True

    def begin_transaction(self) -> None:
        assert not self.open

    def produce(self, _topic: str, value: bytes, _key: bytes | None, *, timestamp: int, on_delivery: Any) -> None:
        if self.kafka.full:
            self.kafka.full -= 1
            raise BufferError
        assert timestamp == int(value)
        self.open.append(int(value))
        self.deliveries.append(on_delivery)

    def poll(self, _seconds: float) -> None:
        if self.deliveries:
            self.deliveries.pop(0)(self.kafka.error, None)

    def flush(self) -> None:
        while self.deliveries:
            self.poll(0)
        if not self.transactional:
            self.kafka.values += self.open
            self.open = []

    def abort_transaction(self, _seconds: float) -> None:
        self.kafka.aborted += len(self.open)
        self.open, self.offset = [], None

    def send_offsets_to_transaction(self, offsets: list[Any], metadata: object, _seconds: float) -> None:
        assert metadata == "metadata"
        (self.offset,) = [one.offset for one in offsets]

    def commit_transaction(self, _seconds: float) -> None:
        if self.kafka.dies_at == 0:
            raise DeadError
        self.kafka.dies_at -= 1
        assert self.offset is not None
        self.kafka.values += self.open
        self.kafka.position, self.open = self.offset, []


class Consumer:
    kafka: Kafka

    def __init__(self, _settings: dict[str, Any]) -> None:
        pass

    def committed(self, partitions: list[Any], _seconds: float) -> list[Any]:
        (one,) = partitions
        one.offset = self.kafka.position if self.kafka.values else confluent_kafka.OFFSET_INVALID
        return [one]

    def consumer_group_metadata(self) -> str:
        return "metadata"

    def close(self) -> None:
        pass


@pytest.fixture
def kafka(monkeypatch: pytest.MonkeyPatch) -> Kafka:
    made = Producer.kafka = Consumer.kafka = Kafka()
    monkeypatch.setattr(confluent_kafka, "Producer", Producer)
    monkeypatch.setattr(confluent_kafka, "Consumer", Consumer)

    def events(start: int = 0) -> Iterator[Event]:
        return iter(ROWS[start:])

    monkeypatch.setattr(load.flights, "events", events)
    monkeypatch.setattr(load, "REPORT_EVERY", 10)
    return made


def test_chunks() -> None:
    assert [len(chunk) for chunk in chunks(iter(ROWS), 10)] == [10, 10, 3]
    assert [row for chunk in chunks(iter(ROWS), 7) for row in chunk] == ROWS
    assert list(chunks(iter([]), 7)) == []


def test_every_row_once_without_transactions(kafka: Kafka) -> None:
    reports: list[int] = []
    kafka.full = 3
    assert load_idempotent("h:1", "t", reports.append) == 23
    assert kafka.values == list(range(23))
    assert reports[-1] == 23
    assert reports == sorted(reports)
    assert kafka.settings["enable.idempotence"] is True


@pytest.mark.parametrize("size", [1, 5, 23, 100])
def test_every_row_once_in_transactions(kafka: Kafka, size: int) -> None:
    reports: list[int] = []
    assert load_transactional("h:1", "t", size, 0.0, 1, reports.append) == 23
    assert kafka.values == list(range(23))
    assert reports == [0, *range(size, 23, size), 23]
    assert (kafka.settings["transactional.id"], kafka.aborted) == ("t-loader", 0)


@pytest.mark.parametrize("seed", range(5))
def test_what_is_aborted_on_purpose_is_sent_again(kafka: Kafka, seed: int) -> None:
    assert load_transactional("h:1", "t", 2, 60.0, seed, lambda _rows: None) == 23
    assert kafka.values == list(range(23))
    assert kafka.aborted > 0


@pytest.mark.parametrize("dies_at", range(5))
def test_a_killed_loader_goes_on_where_its_last_commit_was(kafka: Kafka, dies_at: int) -> None:
    kafka.dies_at = dies_at
    with pytest.raises(DeadError):
        load_transactional("h:1", "t", 5, 30.0, 1, lambda _rows: None)
    assert kafka.position == len(kafka.values) == dies_at * 5
    kafka.dies_at = 10**9
    reports: list[int] = []
    assert load_transactional("h:1", "t", 5, 30.0, 1, reports.append) == 23
    assert kafka.values == list(range(23))
    assert reports[0] == dies_at * 5


def test_the_first_error_ends_the_loading(kafka: Kafka) -> None:
    kafka.error = "Broker: Message size too large"
    loader = Loader("h:1", "t")
    loader.send(ROWS[:2])
    kafka.error = "another"
    with pytest.raises(LoadError, match="Message size too large"):
        loader.flush()
    assert loader.acknowledged == 0


def refusal(code: int, *, retriable: bool = False) -> confluent_kafka.KafkaException:
    return confluent_kafka.KafkaException(confluent_kafka.KafkaError(code, retriable=retriable))


def test_what_passes_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(load.time, "sleep", pauses.append)
    later = [refusal(16), refusal(15), refusal(99, retriable=True), 7]

    def call() -> Any:
        found = later.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    assert settled(call) == 7
    assert len(pauses) == 3
    later = [refusal(30), 7]
    with pytest.raises(confluent_kafka.KafkaException):
        settled(call)
    later = [refusal(16), 7]
    with pytest.raises(confluent_kafka.KafkaException):
        settled(call, seconds=0.0)


@pytest.mark.parametrize(("code", "refused"), [(None, False), (36, False), (41, True)])
def test_a_topic_that_is_there_is_good(monkeypatch: pytest.MonkeyPatch, code: int | None, refused: bool) -> None:
    asked: list[Any] = []

    class Made:
        def result(self) -> None:
            if code is not None:
                raise refusal(code)

    class Admin:
        def __init__(self, _settings: object) -> None:
            pass

        def create_topics(self, topics: list[Any], **_options: object) -> dict[str, Made]:
            asked.extend(topics)
            return {one.topic: Made() for one in topics}

    monkeypatch.setattr(confluent_kafka.admin, "AdminClient", Admin)
    if refused:
        with pytest.raises(confluent_kafka.KafkaException):
            create_topic("h:1", "t", 3, {"a": "b"})
    else:
        create_topic("h:1", "t", 3, {"a": "b"})
    assert [(one.topic, one.num_partitions, one.config) for one in asked] == [("t", 3, {"a": "b"})]


@pytest.mark.parametrize(
    ("more", "call"), [([], "idempotent"), (["--transactions", "500", "--abort-percent", "5", "--seed", "3"], "transactional")]
)
def test_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], more: list[str], call: str) -> None:
    calls: dict[str, tuple[Any, ...]] = {}
    for name in ("create_topic", "load_idempotent", "load_transactional"):
        monkeypatch.setattr(load, name, lambda *arguments, name=name: calls.update({name: arguments}))
    assert load.main(["--topic", "t", *more]) == 0
    assert calls["create_topic"] == ("127.0.0.1:9092", "t", 3, load.TOPIC_SETTINGS)
    given = calls[f"load_{call}"]
    assert given[:-1] == (("127.0.0.1:9092", "t") if not more else ("127.0.0.1:9092", "t", 500, 5.0, 3))
    assert len(calls) == 2
    given[-1](12)
    assert capsys.readouterr().out == "rows=12\n"
