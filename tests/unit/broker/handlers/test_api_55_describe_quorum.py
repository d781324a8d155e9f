"""DescribeQuorum: a quorum of one, leading the metadata partition and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from oncelog.broker.auth.acls import AclOperation
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from support.whole_broker import CLUSTER, WholeBroker

pytestmark = pytest.mark.unit
METADATA = "__cluster_metadata"


def describe(whole: WholeBroker, *asked: tuple[str, list[int]], version: int = 2) -> Any:
    topics = [{"topic_name": name, "partitions": [{"partition_index": number} for number in numbers]} for name, numbers in asked]
    return whole.ask(ApiKey.DESCRIBE_QUORUM, version, topics=topics)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_one_voter_leads_and_never_lags(whole: WholeBroker, version: int) -> None:
    answer = describe(whole, (METADATA, [0]), version=version)
    ((partition,),) = [topic.partitions for topic in answer.topics]
    assert (answer.error_code, partition.error_code) == (ErrorCode.NONE, ErrorCode.NONE)
    assert (partition.leader_id, partition.leader_epoch, partition.high_watermark) == (whole.context.node_id, 1, 0)
    (voter,) = partition.current_voters
    assert (voter.replica_id, voter.log_end_offset, partition.observers) == (whole.context.node_id, 0, [])
    now_ms = whole.clock.time_ms()
    assert (voter.last_fetch_timestamp, voter.last_caught_up_timestamp) == ((now_ms, now_ms) if version >= 1 else (-1, -1))


def test_version_2_names_the_node(whole: WholeBroker) -> None:
    (node,) = describe(whole, (METADATA, [0])).nodes
    (listener,) = node.listeners
    assert (node.node_id, listener.name, listener.host, listener.port) == (whole.context.node_id, "PLAINTEXT", "127.0.0.1", 9092)


@pytest.mark.parametrize(
    "asked",
    [
        [(METADATA, [1])],
        [(METADATA, [0, 1])],
        [(METADATA, [0]), ("t", [0])],
        [("t", [0])],
        [(METADATA, [0]), (METADATA, [0])],
        [(METADATA, [])],
    ],
    ids=str,
)
def test_anything_beside_the_metadata_partition_is_not_here(whole: WholeBroker, asked: list[tuple[str, list[int]]]) -> None:
    answer = describe(whole, *asked)
    told = [(topic.topic_name, [(p.partition_index, p.error_code) for p in topic.partitions]) for topic in answer.topics]
    assert told == [(name, [(number, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) for number in numbers]) for name, numbers in asked]
    assert (answer.error_code, answer.nodes) == (ErrorCode.NONE, [])
    assert all(not p.current_voters for topic in answer.topics for p in topic.partitions)


def test_asked_for_nothing(whole: WholeBroker) -> None:
    answer = describe(whole)
    assert (answer.error_code, answer.topics, answer.nodes) == (ErrorCode.NONE, [], [])


def test_without_the_cluster(whole: WholeBroker) -> None:
    whole.deny(AclOperation.DESCRIBE, *CLUSTER)
    answer = describe(whole, (METADATA, [0]))
    assert (answer.error_code, answer.topics, answer.nodes) == (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, [], [])
