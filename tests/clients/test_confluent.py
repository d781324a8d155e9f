"""confluent-kafka (librdkafka), unmodified."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka import ConsumerGroupTopicPartitions as GroupPartitions
from confluent_kafka.admin import AdminClient, ConfigResource, NewPartitions, NewTopic, OffsetSpec, ResourceType
from oncelog.spark_jobs.demo_parts.patience import Patience
from support.process import wait_until

SECONDS = 15.0


def producer(bootstrap: str, **settings: Any) -> Producer:
    return Producer({"bootstrap.servers": bootstrap, "linger.ms": 1, **settings})


def consumer(bootstrap: str, group: str, **settings: Any) -> Consumer:
    return Consumer({"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest", **settings})


def create(bootstrap: str, topic: str, partitions: int = 1, **config: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, partitions, 1, config=config)])[topic].result(SECONDS)


def send(bootstrap: str, topic: str, values: list[bytes], **settings: Any) -> list[tuple[int, int]]:
    """Produce `values`; (partition, offset) of each."""
    where: list[tuple[int, int]] = []

    def delivered(error: KafkaError | None, message: Any) -> None:
        assert error is None, error
        where.append((message.partition(), message.offset()))

    client = producer(bootstrap, **settings)
    for value in values:
        client.produce(topic, value, key=value[:40], on_delivery=delivered)
    assert client.flush(SECONDS) == 0
    return where


def read(client: Consumer, count: int, seconds: float = SECONDS) -> list[Any]:
    """`count` messages; fewer when they do not come in time."""
    found: list[Any] = []
    patience = Patience(seconds)
    while len(found) < count and not patience.over:
        for message in client.consume(count - len(found), 0.2):
            if message.error():
                raise KafkaException(message.error())
            found.append(message)
    return found


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_produces_and_consumes_with_every_codec(bootstrap: str, name: str, codec: str) -> None:
    create(bootstrap, name, 3)
    values = [b"%s-%d" % (codec.encode(), i) * 20 for i in range(300)]
    assert len(send(bootstrap, name, values, **{"compression.type": codec})) == 300
    client = consumer(bootstrap, name)
    client.subscribe([name])
    assert Counter(m.value() for m in read(client, 300)) == Counter(values)
    client.close()


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_acks(bootstrap: str, name: str, acks: str) -> None:
    create(bootstrap, name)
    values = [b"%d" % i for i in range(50)]
    send(bootstrap, name, values, acks=acks)
    client = consumer(bootstrap, name)
    client.subscribe([name])
    assert [m.value() for m in read(client, 50)] == values
    client.close()


def test_idempotent_producer_keeps_order_and_offsets(bootstrap: str, name: str) -> None:
    create(bootstrap, name)
    where = send(bootstrap, name, [b"%d" % i for i in range(2000)], **{"enable.idempotence": True, "batch.num.messages": 50})
    assert where == [(0, i) for i in range(2000)]


def test_auto_created_topic(bootstrap: str, name: str) -> None:
    assert send(bootstrap, name, [b"first"]) == [(0, 0)]


def test_headers_timestamps_and_null_values(bootstrap: str, name: str) -> None:
    create(bootstrap, name)
    client = producer(bootstrap)
    now = int(time.time() * 1000)
    client.produce(name, None, key=b"k", headers=[("a", b"1"), ("b", None), ("a", b"2")], timestamp=now)
    client.flush(SECONDS)
    reader = consumer(bootstrap, name)
    reader.assign([TopicPartition(name, 0, OFFSET_BEGINNING)])
    (message,) = read(reader, 1)
    assert (message.key(), message.value(), message.headers()) == (b"k", None, [("a", b"1"), ("b", None), ("a", b"2")])
    assert message.timestamp()[1] == now
    reader.close()


@pytest.mark.parametrize("strategy", ["range", "roundrobin", "cooperative-sticky"])
def test_two_members_share_and_take_over(bootstrap: str, name: str, strategy: str) -> None:
    create(bootstrap, name, 4)
    settings = {"partition.assignment.strategy": strategy, "session.timeout.ms": 6000, "heartbeat.interval.ms": 500}
    first, second = (consumer(bootstrap, name, **settings) for _ in range(2))
    first.subscribe([name])
    wait_until(lambda: first.poll(0.1) is not None or len(first.assignment()) == 4, SECONDS, "the first member's assignment")
    second.subscribe([name])

    def shared() -> bool:
        first.poll(0.05), second.poll(0.05)
        return len(first.assignment()) == len(second.assignment()) == 2

    wait_until(shared, SECONDS, "two partitions each")
    owned = [{(t.topic, t.partition) for t in c.assignment()} for c in (first, second)]
    assert not owned[0] & owned[1]
    second.close()

    def alone() -> bool:
        first.poll(0.05)
        return len(first.assignment()) == 4

    wait_until(alone, SECONDS, "all partitions back")
    first.close()


def test_next_generation_group_protocol(bootstrap: str, name: str) -> None:
    """KIP-848: the broker assigns."""
    create(bootstrap, name, 4)
    send(bootstrap, name, [b"%d" % i for i in range(40)])
    settings = {"group.protocol": "consumer"}
    first, second = (consumer(bootstrap, name, **settings) for _ in range(2))
    first.subscribe([name])
    assert len(read(first, 40)) == 40
    second.subscribe([name])

    def shared() -> bool:
        first.poll(0.05), second.poll(0.05)
        return len(first.assignment()) == len(second.assignment()) == 2

    wait_until(shared, 30, "two partitions each")
    second.close()
    first.close()


@pytest.mark.slow  # new topics are noticed every 10 s
def test_regular_expression_resolved_by_the_broker(bootstrap: str, name: str) -> None:
    """KIP-848: topics that match, and no others; a new one is noticed."""
    for topic in (f"{name}-a1", f"{name}-b1"):
        create(bootstrap, topic)
        send(bootstrap, topic, [topic.encode()])
    client = consumer(bootstrap, name, **{"group.protocol": "consumer"})
    client.subscribe([f"^{name}-a[0-9]"])
    assert [message.topic() for message in read(client, 1)] == [f"{name}-a1"]
    create(bootstrap, f"{name}-a2")
    send(bootstrap, f"{name}-a2", [b"new"])
    assert [message.topic() for message in read(client, 1, 30)] == [f"{name}-a2"]
    assert {place.topic for place in client.assignment()} == {f"{name}-a1", f"{name}-a2"}
    client.close()


def test_a_topic_made_again_is_read_from_its_start(bootstrap: str, name: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    create(bootstrap, name)
    send(bootstrap, name, [b"old"] * 3)
    client = consumer(bootstrap, name, **{"topic.metadata.refresh.interval.ms": 500})
    client.subscribe([name])
    assert len(read(client, 3)) == 3
    admin.delete_topics([name])[name].result(SECONDS)
    wait_until(lambda: name not in admin.list_topics(timeout=SECONDS).topics, what="the deletion")
    create(bootstrap, name)
    send(bootstrap, name, [b"new"])
    seen: list[bytes] = []

    def came() -> bool:
        message = client.poll(0.2)
        if message is not None and message.error() is None:  # it is told of the missing topic first
            seen.append(message.value())
        return bool(seen)

    wait_until(came, 30, "the new topic's record")
    assert seen == [b"new"]
    client.close()


def test_commits_are_resumed(bootstrap: str, name: str) -> None:
    create(bootstrap, name)
    send(bootstrap, name, [b"%d" % i for i in range(20)])
    first = consumer(bootstrap, name, **{"enable.auto.commit": False})
    first.subscribe([name])
    messages = read(first, 10)[:10]
    first.commit(messages[-1], asynchronous=False)
    first.close()
    second = consumer(bootstrap, name)
    second.subscribe([name])
    assert [m.offset() for m in read(second, 10)] == list(range(10, 20))
    assert second.committed([TopicPartition(name, 0)], SECONDS)[0].offset == 10
    second.close()


def test_offsets_for_times_and_watermarks(bootstrap: str, name: str) -> None:
    create(bootstrap, name)
    base = int(time.time() * 1000) - 10_000
    client = producer(bootstrap)
    for i in range(10):
        client.produce(name, b"%d" % i, timestamp=base + i * 100)
        client.flush(SECONDS)
    reader = consumer(bootstrap, name)
    assert reader.get_watermark_offsets(TopicPartition(name, 0), SECONDS) == (0, 10)
    for ask, offset in ((base, 0), (base + 150, 2), (base + 900, 9), (base + 901, -1)):
        (found,) = reader.offsets_for_times([TopicPartition(name, 0, ask)], SECONDS)
        assert found.offset == offset
    reader.close()


def test_admin_topics_partitions_configs_records(bootstrap: str, name: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    create(bootstrap, name, 2, **{"retention.ms": "123456"})
    with pytest.raises(KafkaException) as caught:
        create(bootstrap, name)
    assert caught.value.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS
    assert len(admin.list_topics(name, SECONDS).topics[name].partitions) == 2
    admin.create_partitions([NewPartitions(name, 5)])[name].result(SECONDS)
    wait_until(lambda: len(admin.list_topics(name, SECONDS).topics[name].partitions) == 5, SECONDS)
    resource = ConfigResource(ResourceType.TOPIC, name)
    found = admin.describe_configs([resource])[resource].result(SECONDS)
    assert found["retention.ms"].value == "123456"
    assert found["cleanup.policy"].is_default
    send(bootstrap, name, [b"x"] * 10, partitioner="consistent")
    (partition,) = {p for p in range(5) if _end(admin, name, p) == 10}
    deleted = admin.delete_records([TopicPartition(name, partition, 4)])
    assert next(iter(deleted.values())).result(SECONDS).low_watermark == 4
    admin.delete_topics([name])[name].result(SECONDS)
    wait_until(lambda: name not in admin.list_topics(timeout=SECONDS).topics, SECONDS)


def _end(admin: AdminClient, topic: str, partition: int) -> int:
    asked = TopicPartition(topic, partition)
    return int(admin.list_offsets({asked: OffsetSpec.latest()})[asked].result(SECONDS).offset)


def test_admin_groups(bootstrap: str, name: str) -> None:
    create(bootstrap, name)
    send(bootstrap, name, [b"%d" % i for i in range(5)])
    member = consumer(bootstrap, name, **{"enable.auto.commit": False})
    member.subscribe([name])
    messages = read(member, 5)
    member.commit(messages[2], asynchronous=False)
    admin = AdminClient({"bootstrap.servers": bootstrap})
    listed = admin.list_consumer_groups().result(SECONDS).valid
    assert name in {group.group_id for group in listed}
    described = admin.describe_consumer_groups([name])[name].result(SECONDS)
    assert described.state.name == "STABLE"
    assert [len(m.assignment.topic_partitions) for m in described.members] == [1]
    member.close()
    offsets = admin.list_consumer_group_offsets([GroupPartitions(name)])[name].result(SECONDS)
    assert [p.offset for p in offsets.topic_partitions] == [3]
    altered = admin.alter_consumer_group_offsets([GroupPartitions(name, [TopicPartition(name, 0, 1)])])[name].result(SECONDS)
    assert altered.topic_partitions[0].offset == 1
    admin.delete_consumer_groups([name])[name].result(SECONDS)
    assert name not in {group.group_id for group in admin.list_consumer_groups().result(SECONDS).valid}


def test_describe_of_absent_and_present_groups_in_one_call(bootstrap: str, name: str) -> None:
    """librdkafka ends the process when an answer holds fewer groups than asked."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    asked = [f"{name}-a", f"{name}-b"]
    for future in admin.describe_consumer_groups(asked).values():
        with contextlib.suppress(KafkaException):
            assert future.result(SECONDS).state.name in ("DEAD", "EMPTY")


def test_static_member_restarts_without_a_rebalance(bootstrap: str, name: str) -> None:
    create(bootstrap, name, 2)
    rebalances = Counter[str]()
    settings = {"group.instance.id": "one", "session.timeout.ms": 10000}

    def join() -> Consumer:
        client = consumer(bootstrap, name, **settings)
        client.subscribe([name], on_assign=lambda *_: rebalances.update(["assign"]))
        wait_until(lambda: client.poll(0.1) is not None or len(client.assignment()) == 2, SECONDS)
        return client

    join().close()
    admin = AdminClient({"bootstrap.servers": bootstrap})
    assert [m.group_instance_id for m in admin.describe_consumer_groups([name])[name].result(SECONDS).members] == ["one"]
    join().close()


def test_large_message_passes_every_limit(bootstrap: str, name: str) -> None:
    create(bootstrap, name, **{"max.message.bytes": "4000000"})
    value = bytes(3_000_000)
    send(bootstrap, name, [value], **{"message.max.bytes": 4_000_000})
    reader = consumer(bootstrap, name, **{"fetch.max.bytes": 100_000, "max.partition.fetch.bytes": 50_000, "message.max.bytes": 100_000})
    reader.assign([TopicPartition(name, 0, OFFSET_BEGINNING)])
    (message,) = read(reader, 1)
    assert message.value() == value
    reader.close()


def test_transactions_commit_and_abort(bootstrap: str, name: str) -> None:
    create(bootstrap, name)
    client = producer(bootstrap, **{"transactional.id": name})
    client.init_transactions(SECONDS)
    for i in range(6):
        client.begin_transaction()
        client.produce(name, b"%d" % i)
        client.flush(SECONDS)
        client.abort_transaction(SECONDS) if i % 2 else client.commit_transaction(SECONDS)
    seen = {}
    for level in ("read_committed", "read_uncommitted"):
        reader = consumer(bootstrap, f"{name}-{level}", **{"isolation.level": level})
        reader.assign([TopicPartition(name, 0, OFFSET_BEGINNING)])
        seen[level] = [m.value() for m in read(reader, 3 if level == "read_committed" else 6)]
        reader.close()
    assert seen == {"read_committed": [b"0", b"2", b"4"], "read_uncommitted": [b"%d" % i for i in range(6)]}


def test_offsets_of_an_open_transaction_are_waited_for(bootstrap: str, name: str) -> None:
    create(bootstrap, name)
    send(bootstrap, name, [b"1", b"2", b"3"])
    reader, place = consumer(bootstrap, name), TopicPartition(name, 0, 2)
    reader.assign([place])
    writer = producer(bootstrap, **{"transactional.id": name})
    writer.init_transactions(SECONDS)
    writer.begin_transaction()
    writer.send_offsets_to_transaction([place], reader.consumer_group_metadata(), SECONDS)
    with pytest.raises(KafkaException) as unstable:
        reader.committed([place], 1.0)
    assert unstable.value.args[0].code() == KafkaError._TIMED_OUT
    writer.commit_transaction(SECONDS)
    assert [found.offset for found in reader.committed([place], SECONDS)] == [2]
    reader.close()


def test_a_transaction_open_for_too_long_is_aborted(bootstrap: str, name: str) -> None:
    create(bootstrap, name)
    writer = producer(bootstrap, **{"transactional.id": name, "transaction.timeout.ms": 1000})
    writer.init_transactions(SECONDS)
    writer.begin_transaction()
    writer.produce(name, b"too long")
    assert writer.flush(SECONDS) == 0
    send(bootstrap, name, [b"behind it"])
    reader = consumer(bootstrap, name, **{"isolation.level": "read_committed"})
    reader.subscribe([name])
    assert [message.value() for message in read(reader, 1, 30)] == [b"behind it"]
    with pytest.raises(KafkaException) as late:
        writer.commit_transaction(SECONDS)
    assert late.value.args[0].fatal() or late.value.args[0].txn_requires_abort()
    assert read(reader, 1, 0.5) == []
    reader.close()


def test_second_instance_fences_the_first_and_aborts_its_transaction(bootstrap: str, name: str) -> None:
    create(bootstrap, name)
    first, second = (producer(bootstrap, **{"transactional.id": name}) for _ in range(2))
    first.init_transactions(SECONDS)
    first.begin_transaction()
    first.produce(name, b"lost")
    first.flush(SECONDS)
    second.init_transactions(SECONDS)
    with pytest.raises(KafkaException) as caught:
        first.commit_transaction(SECONDS)
    assert caught.value.args[0].fatal()
    second.begin_transaction()
    second.produce(name, b"kept")
    second.commit_transaction(SECONDS)
    reader = consumer(bootstrap, name)
    reader.assign([TopicPartition(name, 0, OFFSET_BEGINNING)])
    assert [m.value() for m in read(reader, 1)] == [b"kept"]
    reader.close()


def test_consume_transform_produce(bootstrap: str, name: str) -> None:
    source, target = f"{name}-in", f"{name}-out"
    create(bootstrap, source, 2)
    create(bootstrap, target, 2)
    send(bootstrap, source, [b"%d" % i for i in range(100)])
    reader = consumer(bootstrap, name, **{"enable.auto.commit": False})
    reader.subscribe([source])
    writer = producer(bootstrap, **{"transactional.id": name})
    writer.init_transactions(SECONDS)
    aborted = False
    copied = 0
    while copied < 100:
        batch = read(reader, 10)
        writer.begin_transaction()
        for message in batch:
            writer.produce(target, message.value())
        writer.send_offsets_to_transaction(reader.position(reader.assignment()), reader.consumer_group_metadata(), SECONDS)
        if copied >= 50 and not aborted:  # this one is aborted, and done again from the last committed offsets
            aborted = True
            writer.abort_transaction(SECONDS)
            for position in reader.committed(reader.assignment(), SECONDS):
                reader.seek(TopicPartition(position.topic, position.partition, max(position.offset, 0)))
            continue
        writer.commit_transaction(SECONDS)
        copied += len(batch)
    check = consumer(bootstrap, f"{name}-check", **{"isolation.level": "read_committed"})
    check.subscribe([target])
    assert Counter(m.value() for m in read(check, 100)) == Counter(b"%d" % i for i in range(100))
    assert read(check, 1, 1.0) == []
    check.close()
    reader.close()
