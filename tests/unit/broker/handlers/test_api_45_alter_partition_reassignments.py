"""AlterPartitionReassignments: replicas stay where they are."""

from __future__ import annotations

from typing import Any

import pytest
from oncelog.broker.auth.acls import AclOperation
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from support.whole_broker import CLUSTER, WholeBroker

pytestmark = pytest.mark.unit


def alter(whole: WholeBroker, *asked: tuple[str, int, list[int] | None], version: int = 1) -> Any:
    topics = [{"name": name, "partitions": [{"partition_index": number, "replicas": replicas}]} for name, number, replicas in asked]
    return whole.ask(ApiKey.ALTER_PARTITION_REASSIGNMENTS, version, timeout_ms=1, topics=topics)


@pytest.mark.parametrize(
    ("asked", "error", "why"),
    [
        (("t", 0, [1]), ErrorCode.NONE, None),
        (("t", 0, None), ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, None),
        (("t", 0, []), 39, "The manual partition assignment includes an empty replica list."),
        (("t", 0, [2]), 39, "The manual partition assignment includes broker 2, but no such broker is registered."),
        (("t", 0, [1, 3, 2]), 39, "The manual partition assignment includes broker 2, but no such broker is registered."),
        (("t", 0, [1, 1]), 39, "The manual partition assignment includes the broker 1 more than once."),
        (("t", 2, [1]), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "Unable to find partition t:2."),
        (("gone", 0, None), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "Unable to find a topic named gone."),
    ],
    ids=str,
)
def test_verdicts(whole: WholeBroker, asked: tuple[str, int, list[int] | None], error: int, why: str | None) -> None:
    answer = alter(whole, asked)
    ((partition,),) = [topic.partitions for topic in answer.responses]
    assert (answer.error_code, answer.responses[0].name) == (ErrorCode.NONE, asked[0])
    assert (partition.partition_index, partition.error_code, partition.error_message) == (asked[1], error, why)


@pytest.mark.parametrize("allowed", [True, False])
def test_version_1_repeats_whether_the_factor_may_change(whole: WholeBroker, allowed: bool) -> None:
    answer = whole.ask(ApiKey.ALTER_PARTITION_REASSIGNMENTS, 1, timeout_ms=1, topics=[], allow_replication_factor_change=allowed)
    assert (answer.allow_replication_factor_change, answer.responses) == (allowed, [])


def test_without_the_cluster(whole: WholeBroker) -> None:
    whole.deny(AclOperation.ALTER, *CLUSTER)
    answer = alter(whole, ("t", 0, [1]), ("gone", 5, None), version=0)
    assert (answer.error_code, answer.error_message) == (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed.")
    told = [(topic.name, p.partition_index, p.error_code) for topic in answer.responses for p in topic.partitions]
    assert told == [("t", 0, 31), ("gone", 5, 31)]
