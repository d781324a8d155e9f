"""Topics of very many partitions over the wire, on virtual time and a slow disk: what others see meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.records import build_batch
from support.sim_place import MANY, Place, create, delete
from support.simbroker import SimClient

pytestmark = pytest.mark.unit


Ask = Callable[..., Awaitable[Any]]


@pytest.fixture
def place() -> Any:
    made = Place()
    yield made
    made.cluster.close()


async def partitions_of(client: SimClient, name: str, *, make: bool = False) -> int | ErrorCode:
    """Of a topic that is there; else the error."""
    answer = await client.call(ApiKey.METADATA, 9, {"topics": [{"name": name}], "allow_auto_topic_creation": make})
    (topic,) = answer.topics
    return ErrorCode(topic.error_code) if topic.error_code else len(topic.partitions)


async def produce(client: SimClient, topic: str, partitions: range) -> list[int]:
    batch = bytes(build_batch([(1, None, b"value")]))
    data = [{"index": index, "records": batch} for index in partitions]
    fields = {"transactional_id": None, "acks": -1, "timeout_ms": 30_000, "topic_data": [{"name": topic, "partition_data": data}]}
    answer = await client.call(ApiKey.PRODUCE, 9, fields)
    return [partition.error_code for partition in answer.responses[0].partition_responses]


def test_others_are_served_while_topics_are_made(place: Place) -> None:
    seen: list[int | ErrorCode] = []

    async def main() -> None:
        maker, other = place.client(), place.client()
        making = asyncio.ensure_future(create(maker, *(f"t{number}" for number in range(9)), partitions=MANY))
        while not making.done():
            seen.append(await partitions_of(other, "t0"))
        assert await making == [0] * 9
        assert await partitions_of(other, "t0") == MANY

    place.run(main)
    assert len(seen) > 1
    assert seen[0] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION  # whole or absent
    assert set(seen) <= {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, MANY}


def test_a_second_creation_meets_the_first(place: Place) -> None:
    async def main() -> None:
        one, two, three = place.client(), place.client(), place.client()
        answers = await asyncio.gather(create(one, "t"), create(two, "t", partitions=3), partitions_of(three, "t", make=True))
        codes = [codes[0] for codes in answers[:2]]
        assert sorted(codes) == [ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS]
        assert await partitions_of(three, "t") in (MANY, 3)

    place.run(main)


def test_what_one_client_sends_behind_a_creation_finds_the_topic(place: Place) -> None:
    """Requests of a connection are looked at one after the other, as Kafka's muted channels do."""

    async def main() -> None:
        client = place.client()
        assert await partitions_of(client, "asked", make=True) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert await partitions_of(client, "asked") == 1
        assert await create(client, "t") == [0]
        assert await partitions_of(client, "t") == MANY
        assert await delete(client, "t") == 0
        assert await partitions_of(client, "t") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert await create(client, "t", partitions=2) == [0]
        assert await partitions_of(client, "t") == 2

    place.run(main)


def test_a_deletion_during_the_creation_finds_nothing(place: Place) -> None:
    async def main() -> None:
        one, two = place.client(), place.client()
        made = asyncio.ensure_future(create(one, "t"))
        codes = set()
        while not made.done():
            codes.add(await delete(two, "t"))
        codes.add(await delete(two, "t"))
        assert await made == [0]
        assert ErrorCode.UNKNOWN_TOPIC_OR_PARTITION in codes
        assert codes <= {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NONE}
        assert await partitions_of(two, "t") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    place.run(main)


def test_the_first_write_to_many_partitions(place: Place) -> None:
    """Their folders are made off the loop, others are served; all are acknowledged and hold what was sent, once."""
    served: list[int | ErrorCode] = []

    async def main() -> None:
        one, two = place.client(), place.client()
        await create(one, "t")
        writing = asyncio.ensure_future(produce(one, "t", range(100, 600)))
        while not writing.done():
            served.append(await partitions_of(two, "t"))
        assert await writing == [0] * 500
        assert await produce(two, "t", range(100, 110)) == [0] * 10
        assert await delete(two, "t") == 0
        assert await produce(one, "t", range(20)) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 20

    place.run(main)
    assert len(served) > 1


def test_a_topic_deleted_while_its_first_folders_are_made(place: Place) -> None:
    async def main() -> None:
        one, two = place.client(), place.client()
        await create(one, "t")
        codes, deleted = await asyncio.gather(produce(one, "t", range(300)), delete(two, "t"))
        assert deleted == 0
        assert set(codes) <= {ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.KAFKA_STORAGE_ERROR}
        assert await create(one, "t", partitions=300) == [0]
        offsets = [{"partition_index": index, "current_leader_epoch": -1, "timestamp": -1} for index in range(300)]
        fields = {"replica_id": -1, "isolation_level": 0, "topics": [{"name": "t", "partitions": offsets}]}
        answer = await two.call(ApiKey.LIST_OFFSETS, 5, fields)
        assert {partition.offset for partition in answer.topics[0].partitions} == {0}

    place.run(main)
