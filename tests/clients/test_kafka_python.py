"""kafka-python, unmodified."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic
from kafka.errors import TopicAlreadyExistsError
from support.process import wait_until


def create(bootstrap: str, topic: str, partitions: int = 1) -> None:
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    admin.create_topics([NewTopic(topic, partitions, 1)])
    admin.close()


def send(bootstrap: str, topic: str, values: list[bytes], **settings: Any) -> list[tuple[int, int]]:
    with KafkaProducer(bootstrap_servers=bootstrap, **settings) as producer:
        futures = [producer.send(topic, value, key=value) for value in values]
        producer.flush(15)
        return [(f.get(15).partition, f.get(15).offset) for f in futures]


def read(consumer: KafkaConsumer, count: int) -> list[Any]:
    """`count` records."""
    found: list[Any] = []

    def enough() -> bool:
        for batch in consumer.poll(200).values():
            found.extend(batch)
        return len(found) >= count

    wait_until(enough, 20, f"{count} records")
    return found


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
def test_produces_and_consumes_with_every_codec(bootstrap: str, name: str, codec: str | None) -> None:
    create(bootstrap, name, 3)
    values = [b"%d" % i * 30 for i in range(200)]
    assert len(set(send(bootstrap, name, values, compression_type=codec))) == 200
    consumer = KafkaConsumer(name, bootstrap_servers=bootstrap, auto_offset_reset="earliest", group_id=name)
    assert Counter(m.value for m in read(consumer, 200)) == Counter(values)
    consumer.close()


def test_idempotent_order(bootstrap: str, name: str) -> None:
    create(bootstrap, name)
    where = send(bootstrap, name, [b"%d" % i for i in range(500)], enable_idempotence=True, acks="all", batch_size=200)
    assert where == [(0, i) for i in range(500)]


def test_two_members_rebalance(bootstrap: str, name: str) -> None:
    create(bootstrap, name, 4)
    settings = {"bootstrap_servers": bootstrap, "group_id": name, "session_timeout_ms": 6000, "heartbeat_interval_ms": 500}

    def spread(clients: dict[KafkaConsumer, int]) -> bool:
        for client in clients:
            client.poll(300)
        return all(len(client.assignment()) == size for client, size in clients.items())

    first = KafkaConsumer(name, **settings)
    wait_until(lambda: spread({first: 4}), 20, "everything for the first")
    second = KafkaConsumer(name, **settings)
    wait_until(lambda: spread({first: 2, second: 2}), 20, "two each")
    second.close()
    wait_until(lambda: spread({first: 4}), 20, "everything again")
    first.close()


def test_impatient_members_get_their_partitions(bootstrap: str, name: str, ours: bool) -> None:
    """A member that joined before it knew the partitions joins again, and when `poll` returns meanwhile it forgets its assignment, for
    good: with an initial rebalance delay of 0, a third of those that poll like this."""
    if not ours:
        pytest.skip("the initial rebalance delay of that broker is its own matter")
    for number in range(8):
        topic = f"{name}-{number}"
        create(bootstrap, topic, 3)
        with KafkaConsumer(topic, bootstrap_servers=bootstrap, group_id=topic) as consumer:

            def assigned(consumer: KafkaConsumer = consumer) -> bool:
                consumer.poll(10)
                return len(consumer.assignment()) == 3

            wait_until(assigned, 10, f"the assignment of member {number}")


def test_commit_and_positions(bootstrap: str, name: str) -> None:
    create(bootstrap, name)
    send(bootstrap, name, [b"%d" % i for i in range(10)])
    partition = TopicPartition(name, 0)
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id=name, enable_auto_commit=False, auto_offset_reset="earliest")
    consumer.assign([partition])
    assert len(read(consumer, 10)) == 10
    consumer.commit()
    assert consumer.committed(partition) == 10
    assert consumer.beginning_offsets([partition]) == {partition: 0}
    assert consumer.end_offsets([partition]) == {partition: 10}
    consumer.close()


def test_admin(bootstrap: str, name: str) -> None:
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    admin.create_topics([NewTopic(name, 2, 1, topic_configs={"retention.ms": "9999999"})])
    with pytest.raises(TopicAlreadyExistsError):
        admin.create_topics([NewTopic(name, 2, 1)])
    assert name in admin.list_topics()
    (described,) = admin.describe_topics([name])
    assert len(described["partitions"]) == 2
    admin.delete_topics([name])
    wait_until(lambda: name not in admin.list_topics(), 10, "the topic's end")
    admin.close()


def test_transactions(bootstrap: str, name: str) -> None:
    create(bootstrap, name)
    producer = KafkaProducer(bootstrap_servers=bootstrap, transactional_id=name)
    producer.init_transactions()
    for i in range(4):
        producer.begin_transaction()
        producer.send(name, b"%d" % i)
        producer.flush(15)
        producer.abort_transaction() if i % 2 else producer.commit_transaction()
    producer.close()
    consumer = KafkaConsumer(
        name, bootstrap_servers=bootstrap, group_id=name, auto_offset_reset="earliest", isolation_level="read_committed"
    )
    assert [m.value for m in read(consumer, 2)] == [b"0", b"2"]
    consumer.close()
