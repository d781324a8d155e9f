"""A request that is refused as a whole: its error stands wherever its API keeps one."""

from __future__ import annotations

from typing import Any

import pytest
from oncelog.broker.net.error_answers import can_be_refused, error_answer
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from support.simbroker import build

pytestmark = pytest.mark.unit
ERROR = ErrorCode.ILLEGAL_SASL_STATE


def answer(key: ApiKey, version: int, /, **fields: Any) -> Any:
    """As a client decodes it; None: there is none."""
    request = build(getattr(messages, f"{key.schema_name}Request"), fields)
    made = error_answer(key, version, request, ERROR)
    return None if made is None else messages.decode_response(key, version, memoryview(bytes(messages.encode_response(key, version, made))))


@pytest.mark.parametrize(
    ("key", "version"),
    [
        (ApiKey.API_VERSIONS, 0),
        (ApiKey.API_VERSIONS, 3),
        (ApiKey.SASL_HANDSHAKE, 1),
        (ApiKey.SASL_AUTHENTICATE, 2),
        (ApiKey.INIT_PRODUCER_ID, 4),
        (ApiKey.HEARTBEAT, 4),
        (ApiKey.LIST_GROUPS, 4),
        (ApiKey.DESCRIBE_CLUSTER, 0),
        (ApiKey.END_TXN, 3),
    ],
)
def test_apis_with_an_error_of_their_own(key: ApiKey, version: int) -> None:
    assert answer(key, version).error_code == ERROR


@pytest.mark.parametrize("key", [ApiKey.DESCRIBE_GROUPS, ApiKey.DELETE_TOPICS, ApiKey.WRITE_TXN_MARKERS])
def test_apis_whose_errors_stand_with_items_alone_have_no_answer(key: ApiKey) -> None:
    assert not can_be_refused(key)
    assert answer(key, messages.valid_versions(key)[1]) is None


@pytest.mark.parametrize("key", [ApiKey.OFFSET_COMMIT, ApiKey.TXN_OFFSET_COMMIT])
def test_commits_of_offsets(key: ApiKey) -> None:
    told = answer(key, 3, topics=[{"name": "a", "partitions": [{"partition_index": 4}, {"partition_index": 0}]}])
    (topic,) = told.topics
    assert can_be_refused(key)
    assert [(topic.name, each.partition_index, each.error_code) for each in topic.partitions] == [("a", 4, ERROR), ("a", 0, ERROR)]


def test_offset_fetch_of_one_and_of_several() -> None:
    assert answer(ApiKey.OFFSET_FETCH, 5, group_id="g").error_code == ERROR
    told = answer(ApiKey.OFFSET_FETCH, 8, groups=[{"group_id": "g"}, {"group_id": "h"}])
    assert [(group.group_id, group.error_code) for group in told.groups] == [("g", ERROR), ("h", ERROR)]


def test_partitions_of_a_transaction() -> None:
    told = answer(ApiKey.ADD_PARTITIONS_TO_TXN, 3, v3_and_below_topics=[{"name": "a", "partitions": [1, 2]}])
    (topic,) = told.results_by_topic_v3_and_below
    assert [(each.partition_index, each.partition_error_code) for each in topic.results_by_partition] == [(1, ERROR), (2, ERROR)]
    assert answer(ApiKey.ADD_PARTITIONS_TO_TXN, 5, transactions=[]).error_code == ERROR


@pytest.mark.parametrize("version", [1, 12, 13])
def test_metadata(version: int) -> None:
    told = answer(ApiKey.METADATA, version, topics=[{"name": "a"}, {"name": "b"}])
    assert [(topic.name, topic.error_code) for topic in told.topics] == [("a", ERROR), ("b", ERROR)]
    assert told.brokers == []
    assert told.error_code == (ERROR if version >= 13 else 0)
    assert answer(ApiKey.METADATA, version, topics=None).topics == []


@pytest.mark.parametrize("version", [0, 3])
def test_find_coordinator_of_one(version: int) -> None:
    told = answer(ApiKey.FIND_COORDINATOR, version, key="g")
    assert (told.error_code, told.node_id) == (ERROR, -1)


@pytest.mark.parametrize("version", [4, 6])
def test_find_coordinator_of_several(version: int) -> None:
    told = answer(ApiKey.FIND_COORDINATOR, version, coordinator_keys=["a", "b"])
    assert [(each.key, each.error_code, each.node_id, each.port) for each in told.coordinators] == [
        ("a", ERROR, -1, -1),
        ("b", ERROR, -1, -1),
    ]


@pytest.mark.parametrize(("acks", "answered"), [(-1, True), (1, True), (0, False)])
def test_produce(acks: int, answered: bool) -> None:
    fields = {"acks": acks, "topic_data": [{"name": "t", "partition_data": [{"index": 0}, {"index": 3}]}]}
    told = answer(ApiKey.PRODUCE, 9, **fields)
    assert (told is not None) is answered
    if told is not None:
        (topic,) = told.responses
        assert [(each.index, each.error_code, each.base_offset) for each in topic.partition_responses] == [(0, ERROR, -1), (3, ERROR, -1)]


@pytest.mark.parametrize("version", [4, 7, 12])
def test_fetch(version: int) -> None:
    told = answer(ApiKey.FETCH, version, topics=[{"topic": "t", "partitions": [{"partition": 2}]}])
    assert told.error_code == (ERROR if version >= 7 else 0)
    ((partition,),) = [topic.partitions for topic in told.responses]
    assert (told.responses[0].topic, partition.partition_index, partition.error_code, partition.high_watermark) == ("t", 2, ERROR, -1)


@pytest.mark.parametrize("version", [1, 9])
def test_list_offsets(version: int) -> None:
    told = answer(ApiKey.LIST_OFFSETS, version, topics=[{"name": "t", "partitions": [{"partition_index": 2, "timestamp": -1}]}])
    ((partition,),) = [topic.partitions for topic in told.topics]
    assert (partition.partition_index, partition.error_code, partition.offset) == (2, ERROR, -1)


def test_create_topics() -> None:
    told = answer(ApiKey.CREATE_TOPICS, 7, topics=[{"name": "a"}, {"name": "b"}])
    assert [(topic.name, topic.error_code) for topic in told.topics] == [("a", ERROR), ("b", ERROR)]
