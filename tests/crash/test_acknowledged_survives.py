"""kill -9 under load: what was acknowledged stays, once."""

from __future__ import annotations

import random
from collections import Counter

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from oncelog.spark_jobs.demo_parts.patience import Patience
from support.process import BrokerProcess

PARTITIONS = 3


def test_no_acknowledged_record_is_lost_or_doubled(own_broker: BrokerProcess, runs: int | None, seed: int) -> None:
    """An idempotent acks=all producer runs on while its broker is killed and restarted; then every record is there once."""
    chance = random.Random(seed)
    topic = "survivors"
    admin = AdminClient({"bootstrap.servers": own_broker.bootstrap})
    admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result(10)
    acknowledged: dict[bytes, tuple[int, int]] = {}
    failed: list[object] = []

    def delivered(error: object, message: object) -> None:
        if error is not None:
            failed.append(error)
        else:
            acknowledged[message.value()] = (message.partition(), message.offset())  # type: ignore[attr-defined]

    producer = Producer(
        {
            "bootstrap.servers": own_broker.bootstrap,
            "enable.idempotence": True,
            "acks": "all",
            "linger.ms": 1,
            "reconnect.backoff.ms": 20,
            "reconnect.backoff.max.ms": 100,
        }
    )
    sent = 0
    for _ in range(runs or 20):
        wanted = len(acknowledged) + chance.randrange(1, 1_500)  # the kill comes in the middle of whatever is under way then
        patience = Patience(30)
        while len(acknowledged) < wanted and not patience.over:
            if len(producer) < 2_000:
                producer.produce(topic, b"%d" % sent, partition=sent % PARTITIONS, on_delivery=delivered)
                sent += 1
            producer.poll(0 if len(producer) < 2_000 else 0.01)
        own_broker.kill()
        own_broker.start()
    assert producer.flush(60) == 0
    assert failed == []
    assert len(acknowledged) == sent
    stored = read_all(own_broker.bootstrap, topic)
    assert stored == acknowledged
    print(f"seed={seed} sent={sent} kills={runs or 20} lost=0 doubled=0")


def read_all(bootstrap: str, topic: str) -> dict[bytes, tuple[int, int]]:
    """value -> (partition, offset) of everything in `topic`; AssertionError when a value is there twice."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "audit", "enable.partition.eof": False})
    ends = {p: consumer.get_watermark_offsets(TopicPartition(topic, p), 10)[1] for p in range(PARTITIONS)}
    consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in ends])
    found: dict[bytes, tuple[int, int]] = {}
    counts: Counter[bytes] = Counter()
    patience = Patience(60)
    while sum(counts.values()) < sum(ends.values()) and not patience.over:
        for message in consumer.consume(5000, 0.5):
            assert message.error() is None, message.error()
            counts[message.value()] += 1
            found[message.value()] = (message.partition(), message.offset())
    consumer.close()
    assert sum(counts.values()) == sum(ends.values())
    doubled = [value for value, count in counts.items() if count > 1]
    assert doubled == []
    return found
