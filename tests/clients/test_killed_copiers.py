"""Consume-transform-produce with stock clients and both group protocols, copiers and broker killed: nothing lost, nothing twice."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from referee import apache_kafka
from support import copier
from support.process import wait_until
from support.programs import Program

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]
PARTITIONS = 3
AHEAD = 200
Command = Callable[[str, str, str], list[str]]


class Copying:
    """Feeds numbers to every partition, a little ahead of what comes out, and reads that."""

    def __init__(self, bootstrap: str, name: str) -> None:
        self.name = name
        self.admin = AdminClient({"bootstrap.servers": bootstrap})
        for made in self.admin.create_topics([NewTopic(f"{name}-{end}", PARTITIONS, 1) for end in ("from", "to")]).values():
            made.result(20)
        self.sent = 0
        self.copied: list[list[int]] = [[] for _ in range(PARTITIONS)]
        self._producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 1})
        settings = {"bootstrap.servers": bootstrap, "group.id": f"{name}-reader", "isolation.level": "read_committed"}
        self._consumer = Consumer({**settings, "enable.auto.commit": False})
        self._consumer.assign([TopicPartition(f"{name}-to", n, 0) for n in range(PARTITIONS)])

    @property
    def least(self) -> int:
        return min(map(len, self.copied))

    def advance(self, records: int) -> None:
        """Go on until every partition got so many more."""
        aim = self.least + records

        def enough() -> bool:
            while self.sent < self.least + AHEAD:
                for partition in range(PARTITIONS):
                    self._producer.produce(f"{self.name}-from", str(self.sent), partition=partition)
                self.sent += 1
            self._producer.poll(0)
            self._read()
            return self.least >= aim

        wait_until(enough, 60, f"{aim} copies in each partition")

    def finish(self) -> None:
        assert self._producer.flush(60) == 0

        def all_there() -> bool:
            self._read()
            return self.least >= self.sent

        wait_until(all_there, 90, f"{self.sent} copies in each partition")
        assert self.copied == [list(range(self.sent))] * PARTITIONS
        self._consumer.close()

    def committed(self) -> list[int]:
        asked = ConsumerGroupTopicPartitions(self.name, [TopicPartition(f"{self.name}-from", n) for n in range(PARTITIONS)])
        found = self.admin.list_consumer_group_offsets([asked])[self.name].result(20)
        return [place.offset for place in found.topic_partitions]

    def _read(self) -> None:
        for message in self._consumer.consume(500, 0.05):
            if message.error() is None:
                self.copied[message.partition()].append(int(message.value()))


def kill_and_copy(bootstrap: str, name: str, command: Command, broker: Any, folder: Path) -> None:
    copying = Copying(bootstrap, name)
    copiers = [Program(command(bootstrap, name, f"{name}-{n}"), folder / f"copier-{n}.log") for n in range(2)]
    with copiers[0] as first, copiers[1] as second:
        copying.advance(200)
        first.kill()
        copying.advance(100)  # once what it left open has timed out
        first.start()
        copying.advance(200)
        broker.kill()
        broker.start()
        copying.advance(200)
        second.kill()
        broker.kill()
        broker.start()
        second.start()
        copying.advance(200)
        copying.finish()
        wait_until(lambda: copying.committed() == [copying.sent] * PARTITIONS, 20, "commit of all")
        assert [program.end() for program in copiers] == [0, 0], "".join(program.text() for program in copiers)
    broker.stop()


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_librdkafka(mortal_broker: Any, name: str, protocol: str, tmp_path: Path) -> None:
    def command(bootstrap: str, name: str, transactional_id: str) -> list[str]:
        return [sys.executable, copier.__file__, bootstrap, name, f"{name}-from", f"{name}-to", transactional_id, protocol]

    kill_and_copy(mortal_broker.bootstrap, name, command, mortal_broker, tmp_path)


@pytest.mark.java
@pytest.mark.skipif(not apache_kafka.available(), reason="needs Java and Kafka's jars (or Maven to fetch them)")
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_java(mortal_broker: Any, name: str, protocol: str, tmp_path: Path, java_command: Callable[..., list[str]]) -> None:
    def command(bootstrap: str, name: str, transactional_id: str) -> list[str]:
        return java_command("Clients", "copier", bootstrap, name, transactional_id, protocol)

    kill_and_copy(mortal_broker.bootstrap, name, command, mortal_broker, tmp_path)
