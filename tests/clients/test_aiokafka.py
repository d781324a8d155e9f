"""aiokafka, unmodified."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import TopicAlreadyExistsError


def run(coroutine: Coroutine[Any, Any, None], seconds: float = 40) -> None:
    asyncio.run(asyncio.wait_for(coroutine, seconds))


async def create(bootstrap: str, topic: str, partitions: int = 1) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    await admin.create_topics([NewTopic(topic, partitions, 1)])
    await admin.close()


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
def test_produces_and_consumes_with_every_codec(bootstrap: str, name: str, codec: str | None) -> None:
    async def scenario() -> None:
        await create(bootstrap, name)
        values = [b"%d" % i * 30 for i in range(100)]
        async with AIOKafkaProducer(bootstrap_servers=bootstrap, compression_type=codec, enable_idempotence=True) as producer:
            for value in values:
                await producer.send(name, value)
        async with AIOKafkaConsumer(name, bootstrap_servers=bootstrap, group_id=name, auto_offset_reset="earliest") as consumer:
            assert [(await consumer.getone()).value for _ in values] == values
            await consumer.commit()
            assert await consumer.committed(TopicPartition(name, 0)) == 100

    run(scenario())


def test_two_members_rebalance(bootstrap: str, name: str) -> None:
    async def scenario() -> None:
        await create(bootstrap, name, 4)
        settings = {"bootstrap_servers": bootstrap, "group_id": name, "session_timeout_ms": 6000, "heartbeat_interval_ms": 300}
        async with AIOKafkaConsumer(name, **settings) as first:
            await until(lambda: len(first.assignment()) == 4)
            async with AIOKafkaConsumer(name, **settings) as second:
                await until(lambda: len(first.assignment()) == len(second.assignment()) == 2)
            await until(lambda: len(first.assignment()) == 4)

    run(scenario())


async def until(condition: Any) -> None:
    """Waits on the client's own loop; the scenario's time limit ends it."""
    while not condition():  # noqa: ASYNC110 - the client offers no event for this
        await asyncio.sleep(0.02)


def test_transactions_commit_abort_and_offsets(bootstrap: str, name: str) -> None:
    async def scenario() -> None:
        await create(bootstrap, name)
        partition = TopicPartition(name, 0)
        async with AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=name) as producer:
            for i in range(4):
                await producer.begin_transaction()
                await producer.send_and_wait(name, b"%d" % i)
                await producer.send_offsets_to_transaction({partition: i + 1}, name)
                await (producer.abort_transaction() if i % 2 else producer.commit_transaction())
        settings = {"auto_offset_reset": "earliest", "isolation_level": "read_committed"}
        async with AIOKafkaConsumer(name, bootstrap_servers=bootstrap, **settings) as consumer:
            assert [(await consumer.getone()).value for _ in range(2)] == [b"0", b"2"]
        async with AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id=name) as member:
            member.assign([partition])
            assert await member.committed(partition) == 3

    run(scenario())


def test_admin(bootstrap: str, name: str) -> None:
    async def scenario() -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
        await admin.start()
        await admin.create_topics([NewTopic(name, 2, 1)])
        answer = await admin.create_topics([NewTopic(name, 2, 1)])
        assert answer.topic_errors[0][1] == TopicAlreadyExistsError.errno
        assert name in await admin.list_topics()
        await admin.delete_topics([name])
        await admin.close()

    run(scenario())
