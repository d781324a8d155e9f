"""A cluster on virtual time, and clients of it as many as a test wants."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable

from oncelog.protocol.api_keys import ApiKey

from support.simbroker import SimClient, SimCluster

MANY = 1000


class Place:
    """A cluster and as many clients as a test wants."""

    def __init__(self, seed: int = 1) -> None:
        self.cluster = SimCluster(seed)
        self.cluster.start()

    def client(self) -> SimClient:
        return SimClient(self.cluster, random.Random(0), repeats=False)

    def run(self, main: Callable[[], Awaitable[None]], seconds: float = 30.0) -> None:
        task = self.cluster.loop.create_task(main())  # type: ignore[arg-type]
        task.add_done_callback(lambda _done: self.cluster.loop.stop())
        self.cluster.run(seconds)
        assert task.done(), "the requests were not answered in time"
        task.result()
        assert not self.cluster.errors


async def create(client: SimClient, *names: str, partitions: int = MANY) -> list[int]:
    topics = [{"name": name, "num_partitions": partitions, "replication_factor": 1, "assignments": [], "configs": []} for name in names]
    answer = await client.call(ApiKey.CREATE_TOPICS, 7, {"topics": topics, "timeout_ms": 30_000, "validate_only": False})
    return [topic.error_code for topic in answer.topics]


async def delete(client: SimClient, name: str) -> int:
    answer = await client.call(ApiKey.DELETE_TOPICS, 5, {"topic_names": [name], "timeout_ms": 30_000})
    code: int = answer.responses[0].error_code
    return code
