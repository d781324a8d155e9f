"""A partition lost its end: stock consumers come to the log end all the same, by an empty batch that stands for what is gone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaPythonPartition
from oncelog.spark_jobs.demo_parts.patience import Patience
from support.process import BrokerProcess

SECONDS = 20.0
COUNT = 20


@pytest.fixture(scope="module")
def lost(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a broker whose topic `t` lost the last of its records."""
    with BrokerProcess(tmp_path_factory.mktemp("lost") / "data") as process:
        admin = AdminClient({"bootstrap.servers": process.bootstrap})
        admin.create_topics([NewTopic("t", 1, 1)])["t"].result(SECONDS)
        producer = Producer({"bootstrap.servers": process.bootstrap, "batch.num.messages": 1})
        for number in range(COUNT):
            producer.produce("t", f"value {number}")
        assert producer.flush(SECONDS) == 0
        process.stop()
        cut(process.data_dir / "t-0" / "00000000000000000000.log")
        process.start()
        yield process.bootstrap


def cut(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_librdkafka(lost: str, isolation: str) -> None:
    consumer = Consumer({"bootstrap.servers": lost, "group.id": "g", "enable.partition.eof": True, "isolation.level": isolation})
    place = TopicPartition("t", 0, 0)
    consumer.assign([place])
    values, end, patience = 0, None, Patience(SECONDS)
    while end is None and not patience.over:
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            values += 1
        elif message is not None and message.error().code() == KafkaError._PARTITION_EOF:
            end = message.offset()
    assert 0 < values < COUNT
    assert end == COUNT == consumer.get_watermark_offsets(place)[1]
    consumer.close()


def test_kafka_python(lost: str) -> None:
    consumer = KafkaConsumer(bootstrap_servers=lost, enable_auto_commit=False)
    place = KafkaPythonPartition("t", 0)
    consumer.assign([place])
    consumer.seek_to_beginning(place)
    patience = Patience(SECONDS)
    while consumer.position(place) < COUNT and not patience.over:
        consumer.poll(200)
    assert consumer.position(place) == COUNT == consumer.end_offsets([place])[place]
    consumer.close()
