"""Idempotent producers with five requests in flight whose connections are cut around them: each record once, in order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from kafka import KafkaProducer
from referee import apache_kafka
from support.cutting_proxy import CuttingProxy
from support.process import BrokerProcess, wait_until
from support.programs import facts

RECORDS = 1500
ONE_IN = 8  # Produce requests


@pytest.fixture
def proxy(request: pytest.FixtureRequest, tmp_path: Path, seed: int) -> Iterator[CuttingProxy]:
    """In front of a broker that tells clients to come through it."""
    given = request.config.getoption("--bootstrap")
    with CuttingProxy(seed, ONE_IN) as proxy:
        told = {"advertised.listeners": f"PLAINTEXT://127.0.0.1:{proxy.port}"}
        with (
            apache_kafka.ApacheKafka(tmp_path / "kafka", apache_kafka.free_ports(), told)
            if given
            else BrokerProcess(tmp_path / "data", told) as broker
        ):
            if given:
                broker.start()
            proxy.target_port = broker.port
            yield proxy


@pytest.fixture
def bootstrap(proxy: CuttingProxy) -> str:
    return f"127.0.0.1:{proxy.port}"


@pytest.fixture
def topic(bootstrap: str, name: str) -> str:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(20)
    return name


def check(bootstrap: str, topic: str, proxy: CuttingProxy) -> None:
    assert proxy.cuts["before"] > 1
    assert proxy.cuts["after"] > 1
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": topic, "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[int] = []

    def all_there() -> bool:
        found.extend(int(message.value()) for message in consumer.consume(500, 0.2) if message.error() is None)
        return len(found) >= RECORDS

    wait_until(all_there, 30, "all records")
    assert found == list(range(RECORDS))
    assert consumer.get_watermark_offsets(TopicPartition(topic, 0), 20) == (0, RECORDS)
    consumer.close()


def test_confluent(bootstrap: str, topic: str, proxy: CuttingProxy) -> None:
    settings = {"bootstrap.servers": bootstrap, "enable.idempotence": True, "batch.num.messages": 5, "linger.ms": 1}
    producer = Producer({**settings, "reconnect.backoff.ms": 10, "retry.backoff.ms": 10})
    for number in range(RECORDS):
        producer.produce(topic, str(number))
    assert producer.flush(60) == 0
    check(bootstrap, topic, proxy)


def test_kafka_python(bootstrap: str, topic: str, proxy: CuttingProxy) -> None:
    producer = KafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True, batch_size=120, reconnect_backoff_ms=10)
    sent = [producer.send(topic, str(number).encode()) for number in range(RECORDS)]
    assert [future.get(60).offset for future in sent] == list(range(RECORDS))
    producer.close()
    check(bootstrap, topic, proxy)


def test_aiokafka(bootstrap: str, topic: str, proxy: CuttingProxy) -> None:
    async def main() -> None:
        async with AIOKafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True, max_batch_size=150) as producer:
            sent = [await producer.send(topic, str(number).encode()) for number in range(RECORDS)]
            await asyncio.wait_for(asyncio.gather(*sent), 60)

    asyncio.run(main())
    check(bootstrap, topic, proxy)


@pytest.mark.java
@pytest.mark.slow
@pytest.mark.skipif(not apache_kafka.available(), reason="needs Java and Kafka's jars (or Maven to fetch them)")
def test_java(bootstrap: str, topic: str, proxy: CuttingProxy, java_command: Callable[..., list[str]]) -> None:
    assert facts(java_command("Clients", "numbers", bootstrap, topic, str(RECORDS))) == {"in_order": True}
    check(bootstrap, topic, proxy)
