"""Kafka Connect with exactly-once sources, unmodified: worker and broker killed, every source record there once, a sink reads them.

The source (`java/Numbers.java`) counts. What it wrote and how far it is are one transaction, so each counter reads 0, 1, 2, … to its end.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType
from referee import apache_kafka
from support.process import free_port, wait_until
from support.programs import Program

pytestmark = [
    pytest.mark.java,
    pytest.mark.slow,
    pytest.mark.skipif(not apache_kafka.available(), reason="needs Java and Kafka's jars (or Maven to fetch them)"),
    pytest.mark.timeout(300),
]
PARTITIONS = 2
COUNTERS = 6
END = 800
NOT_NOW = (404, 409, 500, 503)  # starting, rebalancing, or the leader does not answer
STRINGS = "org.apache.kafka.connect.storage.StringConverter"


class Worker(Program):
    """A distributed worker, asked through its REST interface."""

    def __init__(self, bootstrap: str, name: str, java_command: Callable[..., list[str]], folder: Path) -> None:
        self.port = free_port()
        properties = folder / "worker.properties"
        settings = {
            "bootstrap.servers": bootstrap,
            "group.id": name,
            "exactly.once.source.support": "enabled",
            "config.storage.topic": f"{name}-configs",
            "offset.storage.topic": f"{name}-offsets",
            "status.storage.topic": f"{name}-status",
            **{f"{kind}.storage.replication.factor": "1" for kind in ("config", "offset", "status")},
            "key.converter": STRINGS,
            "value.converter": STRINGS,
            "listeners": f"http://127.0.0.1:{self.port}",
            "plugin.discovery": "service_load",
            "session.timeout.ms": "6000",
            "heartbeat.interval.ms": "1000",
            "scheduled.rebalance.max.delay.ms": "0",
            "consumer.isolation.level": "read_committed",
            "producer.transaction.timeout.ms": "10000",  # a new worker reads all offsets first, and waits for what a killed one left open
        }
        properties.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        command = java_command("org.apache.kafka.connect.cli.ConnectDistributed", str(properties))
        super().__init__(command, folder / "worker.log")

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """The answer; None while the worker cannot give one."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.loads(answer.read() or b"true")
        except urllib.error.HTTPError as refused:
            refused.close()
            if refused.code not in NOT_NOW:
                raise
            return None
        except OSError:
            return None

    def configure(self, connector: str, settings: dict[str, Any]) -> None:
        """Make a connector or change it, and wait until all its tasks run."""
        texts = {key: str(value) for key, value in settings.items()}
        wait_until(lambda: self.ask("PUT", f"/connectors/{connector}/config", texts), 60, f"the configuration of {connector}")
        self.runs(connector, settings["tasks.max"])

    def runs(self, connector: str, tasks: int) -> None:
        def states() -> bool:
            status = self.ask("GET", f"/connectors/{connector}/status")
            return status is not None and [task["state"] for task in status["tasks"]] == ["RUNNING"] * tasks

        wait_until(states, 60, f"{tasks} tasks of {connector}")


class Committed:
    """What readers of committed data see of a topic, by key."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.seen: dict[str, list[int]] = defaultdict(list)
        settings = {"bootstrap.servers": bootstrap, "group.id": topic, "isolation.level": "read_committed", "enable.auto.commit": False}
        self._consumer = Consumer(settings)
        self._consumer.assign([TopicPartition(topic, n, 0) for n in range(PARTITIONS)])

    @property
    def number(self) -> int:
        return sum(map(len, self.seen.values()))

    def until(self, number: int) -> None:
        def enough() -> bool:
            for message in self._consumer.consume(500, 0.1):
                if message.error() is None:
                    self.seen[message.key().decode()].append(int(message.value()))
            return self.number >= number

        wait_until(enough, 90, f"{number} records")

    def close(self) -> None:
        self._consumer.close()


@pytest.fixture
def worker(mortal_broker: Any, name: str, java_command: Callable[..., list[str]], tmp_path: Path) -> Iterator[Worker]:
    with Worker(mortal_broker.bootstrap, name, java_command, tmp_path) as worker:
        yield worker


@pytest.fixture
def topic(mortal_broker: Any, name: str) -> str:
    admin = AdminClient({"bootstrap.servers": mortal_broker.bootstrap})
    admin.create_topics([NewTopic(f"{name}-numbers", PARTITIONS, 1)])[f"{name}-numbers"].result(20)
    return f"{name}-numbers"


def test_every_source_record_once(worker: Worker, mortal_broker: Any, topic: str, name: str, tmp_path: Path, ours: bool) -> None:
    source = {"connector.class": "Numbers", "topic": topic, "counters": COUNTERS, "end": END}
    committed = Committed(mortal_broker.bootstrap, topic)
    worker.configure("source", source | {"tasks.max": 2})
    committed.until(500)
    worker.kill()  # its open transactions are aborted when the next generation fences it
    worker.start()
    committed.until(committed.number + 500)
    mortal_broker.kill()
    mortal_broker.start()
    committed.until(committed.number + 500)
    assert committed.number < COUNTERS * END / 2
    worker.configure("source", source | {"tasks.max": 3})
    if ours:  # the leader fenced the tasks before
        assert "by='connector-worker-adminclient-source@" in mortal_broker.text()
    worker.kill()
    mortal_broker.kill()
    mortal_broker.start()
    worker.start()
    committed.until(COUNTERS * END)
    assert committed.seen == {str(n): list(range(END)) for n in range(COUNTERS)}
    committed.close()

    copied = tmp_path / "copied"
    sink = {"connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector", "topics": topic, "file": copied}
    worker.configure("sink", sink | {"tasks.max": 1})
    wait_until(lambda: copied.exists() and copied.read_text().count("\n") >= COUNTERS * END, 60, "the sink's copy")
    assert sorted(map(int, copied.read_text().split())) == sorted(list(range(END)) * COUNTERS)
    check_internal_topics(AdminClient({"bootstrap.servers": mortal_broker.bootstrap}), name)
    worker.terminate()
    mortal_broker.stop()


def check_internal_topics(admin: AdminClient, name: str) -> None:
    topics = admin.list_topics(timeout=20).topics
    assert {kind: len(topics[f"{name}-{kind}"].partitions) for kind in ("configs", "offsets", "status")} == {
        "configs": 1,
        "offsets": 25,
        "status": 5,
    }
    asked = [ConfigResource(ResourceType.TOPIC, f"{name}-{kind}") for kind in ("configs", "offsets", "status")]
    policies = [described.result(20)["cleanup.policy"].value for described in admin.describe_configs(asked).values()]
    assert policies == ["compact"] * 3
