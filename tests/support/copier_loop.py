"""A consume-transform-produce loop with librdkafka: `copier_loop.py BOOTSTRAP NAME TRANSACTIONAL_ID PROTOCOL`, while its input lasts.

Copies NAME-from to NAME-to, partition by partition, records and offsets in one transaction.
"""

from __future__ import annotations

import select
import sys

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition


def consumer(bootstrap: str, name: str, protocol: str) -> Consumer:
    settings = {"bootstrap.servers": bootstrap, "group.id": name, "group.protocol": protocol, "auto.offset.reset": "earliest"}
    if protocol == "classic":
        settings |= {"session.timeout.ms": 6000, "heartbeat.interval.ms": 1000}
    made = Consumer({**settings, "enable.auto.commit": False, "isolation.level": "read_committed"})
    made.subscribe([f"{name}-from"])
    return made


def copy(reader: Consumer, writer: Producer, name: str) -> None:
    """One transaction, when there is something to copy. Raises KafkaException."""
    records = [record for record in reader.consume(50, 0.1) if record.error() is None]
    if not records:
        return
    writer.begin_transaction()
    ends: dict[tuple[str, int], int] = {}
    for record in records:
        writer.produce(f"{name}-to", record.value(), partition=record.partition())
        ends[record.topic(), record.partition()] = record.offset() + 1
    positions = [TopicPartition(topic, partition, offset) for (topic, partition), offset in ends.items()]
    writer.send_offsets_to_transaction(positions, reader.consumer_group_metadata())
    writer.commit_transaction()


def main(bootstrap: str, name: str, transactional_id: str, protocol: str) -> None:
    # librdkafka 2.16 forgets brokers when none answers, and then waits for ever for the group coordinator it knew
    patience = {"metadata.recovery.strategy": "none"}
    settings = {"bootstrap.servers": bootstrap, "transactional.id": transactional_id, "transaction.timeout.ms": 5000}
    writer = Producer({**settings, "linger.ms": 0, **patience})
    writer.init_transactions()
    reader = consumer(bootstrap, name, protocol)
    while not select.select([sys.stdin], [], [], 0)[0]:
        try:
            copy(reader, writer, name)
        except KafkaException as refused:
            print(refused.args[0], flush=True)
            if not refused.args[0].txn_requires_abort():
                raise
            writer.abort_transaction()
            reader.close()  # the next one begins at what was committed
            reader = consumer(bootstrap, name, protocol)
    reader.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
