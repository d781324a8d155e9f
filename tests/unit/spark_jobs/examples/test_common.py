"""What the examples share: a broker that goes with them, topics of their own, and clients that do not commit by themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from oncelog.spark_jobs.examples import common


class Broker:
    """Remembers what became of it."""

    made: list[Broker]
    fails = False

    def __init__(self, folder: Path) -> None:
        self.folder, self.calls, self.bootstrap = folder, list[str](), "127.0.0.1:7"
        self.made.append(self)

    def start(self) -> Broker:
        self.calls.append("start")
        if self.fails:
            raise OSError("no port")
        return self

    def stop(self) -> None:
        self.calls.append("stop")


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Broker]:
    Broker.made, Broker.fails = [], False
    monkeypatch.setattr(common, "Broker", Broker)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(common.tempfile, "tempdir", None)
    return Broker.made


def test_a_kafka_that_runs_already_is_used(brokers: list[Broker]) -> None:
    with common.kafka("h:1") as bootstrap:
        assert bootstrap == "h:1"
    assert brokers == []


@pytest.mark.parametrize("ends", ["well", "badly", "not started"])
def test_a_broker_of_its_own_leaves_nothing(brokers: list[Broker], tmp_path: Path, ends: str) -> None:
    def example() -> None:
        with common.kafka(None) as bootstrap:
            assert bootstrap == "127.0.0.1:7"
            assert brokers[0].folder.is_dir()
            if ends == "badly":
                raise KeyError

    Broker.fails = ends == "not started"
    if ends == "well":
        example()
    else:
        with pytest.raises((KeyError, OSError)):
            example()
    assert brokers[0].calls == ["start", "stop"]
    assert list(tmp_path.iterdir()) == []


def test_no_two_runs_share_a_topic(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[Any, ...]] = []
    monkeypatch.setattr(common.load, "create_topic", lambda *given: made.append(given))
    names = [common.new_topic("h:1", "orders", 5) for _ in range(3)]
    assert len(set(names)) == 3
    assert made == [("h:1", name, 5, {}) for name in names]
    assert all(name.startswith("orders-") for name in names)


class Client:
    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings, self.calls = settings, list[Any]()

    def subscribe(self, topics: list[str]) -> None:
        self.calls.append(topics)

    def produce(self, *given: Any) -> None:
        self.calls.append(given)

    def flush(self) -> None:
        self.calls.append("flush")


def test_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confluent_kafka, "Producer", Client)
    monkeypatch.setattr(confluent_kafka, "Consumer", Client)
    producer = common.producer("h:1", transactional_id="x", linger_ms=0)
    assert (producer.settings["transactional.id"], producer.settings["linger.ms"], producer.settings["acks"]) == ("x", 0, "all")
    reader, group = common.consumer("h:1", "g", ("a", "b")), common.consumer("h:1", "g", [])
    assert (reader.calls, group.calls) == ([["a", "b"]], [])
    wanted = {"isolation.level": "read_committed", "enable.auto.commit": False, "auto.offset.reset": "earliest", "group.id": "g"}
    assert wanted.items() <= reader.settings.items()
    common.send_all(producer, "t", [("k", "ä"), ("l", "2")])
    assert producer.calls == [("t", "ä".encode(), b"k"), ("t", b"2", b"l"), "flush"]


def test_the_option_that_all_have() -> None:
    made = common.parser("x", "doc")
    assert made.parse_args([]).bootstrap_servers is None
    assert made.parse_args(["--bootstrap-servers", "h:1"]).bootstrap_servers == "h:1"
