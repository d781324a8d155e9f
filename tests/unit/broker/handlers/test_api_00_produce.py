"""What an acknowledgement of Produce is worth, on virtual time and a slow disk that forgets at a power cut."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.records import build_batch
from support.simbroker import SimClient, SimCluster

pytestmark = pytest.mark.unit
SEEDS = range(5)


@pytest.fixture(params=SEEDS)
def cluster(request: pytest.FixtureRequest) -> Iterator[SimCluster]:
    made = SimCluster(request.param)
    made.start()
    yield made
    made.close()


def run(cluster: SimCluster, work: Any) -> Any:
    task = cluster.loop.create_task(work)
    task.add_done_callback(lambda _done: cluster.loop.stop())
    cluster.run(30.0)
    assert task.done(), "not answered in time"
    assert not cluster.errors
    return task.result()


async def create(client: SimClient) -> None:
    topic = {"name": "t", "num_partitions": 2, "replication_factor": 1, "assignments": [], "configs": []}
    answer = await client.call(ApiKey.CREATE_TOPICS, 7, {"topics": [topic], "timeout_ms": 30_000, "validate_only": False})
    assert answer.topics[0].error_code == 0


async def produce(client: SimClient, acks: int, partitions: int) -> int:
    """The offset behind what was acknowledged on partition 0."""
    data = [{"index": index, "records": bytes(build_batch([(1, None, b"value")]))} for index in range(partitions)]
    fields = {"transactional_id": None, "acks": acks, "timeout_ms": 30_000, "topic_data": [{"name": "t", "partition_data": data}]}
    answer = (await client.call(ApiKey.PRODUCE, 9, fields)).responses[0].partition_responses[0]
    assert answer.error_code == 0
    return int(answer.base_offset) + 1


async def latest(client: SimClient) -> int:
    partition = {"partition_index": 0, "current_leader_epoch": -1, "timestamp": -1}
    fields = {"replica_id": -1, "isolation_level": 0, "topics": [{"name": "t", "partitions": [partition]}]}
    answer = (await client.call(ApiKey.LIST_OFFSETS, 5, fields)).topics[0].partitions[0]
    assert answer.error_code == 0
    return int(answer.offset)


@pytest.mark.parametrize("partitions", [1, 2])
@pytest.mark.parametrize("acks", [1, -1])
def test_acknowledged_is_visible_and_survives_a_power_cut(cluster: SimCluster, acks: int, partitions: int) -> None:
    async def before() -> int:
        client = SimClient(cluster, random.Random(0), repeats=False)
        await create(client)
        for _ in range(5):
            end = await produce(client, acks, partitions)
            assert await latest(client) == end
        return await produce(client, acks, partitions)

    end = run(cluster, before())
    cluster.bury(power_cut=True)
    cluster.start()
    assert run(cluster, latest(SimClient(cluster, random.Random(1), repeats=False))) == end
