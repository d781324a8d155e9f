"""How many partitions one request may make: nobody ties up a broker with a number."""

from __future__ import annotations

import pytest
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from support.process import wait_until
from support.wire import Connection

POLICY_VIOLATION, UNKNOWN_SERVER_ERROR = 44, -1


def create_topics(connection: Connection, counts: dict[str, int], *, validate_only: bool) -> list[int]:
    kind = messages.CreateTopicsRequest.CreatableTopic
    topics = [kind(name=name, num_partitions=count, replication_factor=1, assignments=[], configs=[]) for name, count in counts.items()]
    answer = connection.request(ApiKey.CREATE_TOPICS, 7, {"topics": topics, "timeout_ms": 10_000, "validate_only": validate_only})
    return [topic.error_code for topic in answer.topics]


@pytest.mark.parametrize("validate_only", [False, True])
@pytest.mark.parametrize("counts", [(10_001,), (5_001, 5_000), (2**31 - 1,)])
def test_create_topics(bootstrap: str, name: str, counts: tuple[int, ...], *, validate_only: bool) -> None:
    with Connection(bootstrap) as connection:
        asked = {f"{name}-{number}": count for number, count in enumerate(counts)}
        assert create_topics(connection, asked, validate_only=validate_only) == [POLICY_VIOLATION] * len(counts)


@pytest.mark.parametrize("count", [10_002, 2**31 - 1])
def test_create_partitions(bootstrap: str, name: str, ours: bool, count: int) -> None:
    kind = messages.CreatePartitionsRequest.CreatePartitionsTopic

    def grow(count: int) -> int:
        topics = [kind(name=name, count=count, assignments=None)]
        answer = connection.request(ApiKey.CREATE_PARTITIONS, 3, {"topics": topics, "timeout_ms": 10_000, "validate_only": True})
        code: int = answer.results[0].error_code
        return code

    with Connection(bootstrap) as connection:
        assert create_topics(connection, {name: 1}, validate_only=False) == [0]
        wait_until(lambda: grow(2) == 0)
        assert grow(count) == (POLICY_VIOLATION if ours else UNKNOWN_SERVER_ERROR)  # Kafka's controller refuses its own batch
