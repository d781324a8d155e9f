"""What is named twice in one request: answers of Apache Kafka 4.3.0, API by API."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from oncelog.protocol.api_keys import ApiKey
from support.process import wait_until
from support.wire import Connection

NONE, INVALID_REQUEST = 0, 42


@pytest.fixture
def connection(bootstrap: str) -> Iterator[Connection]:
    with Connection(bootstrap) as opened:
        yield opened


@pytest.fixture
def topic_id(connection: Connection, name: str) -> uuid.UUID:
    """The id of a topic of one partition called `name`."""
    topic = {"name": name, "num_partitions": 1, "replication_factor": 1}
    created = connection.request(ApiKey.CREATE_TOPICS, 7, {"topics": [topic], "timeout_ms": 10_000}).topics[0]
    assert created.error_code == NONE
    wait_until(lambda: names(connection, 9, name) == [(NONE, name)])
    found: uuid.UUID = created.topic_id
    return found


def names(connection: Connection, version: int, *topics: str) -> list[tuple[int, str]]:
    asked = {"topics": [{"name": topic} for topic in topics], "allow_auto_topic_creation": False}
    return [(topic.error_code, topic.name) for topic in connection.request(ApiKey.METADATA, version, asked).topics]


@pytest.mark.parametrize("version", [4, 9, 13])
def test_metadata_tells_a_topic_once(connection: Connection, name: str, topic_id: uuid.UUID, version: int) -> None:
    absent = f"{name}-absent"
    assert sorted(names(connection, version, name, absent, name, absent)) == [(0, name), (3, absent)]


def test_metadata_tells_an_id_once(connection: Connection, name: str, topic_id: uuid.UUID) -> None:
    ids = [topic_id, uuid.uuid4(), topic_id]
    topics = connection.request(ApiKey.METADATA, 12, {"topics": [{"name": None, "topic_id": each} for each in (*ids, ids[1])]}).topics
    assert sorted((topic.error_code, topic.topic_id) for topic in topics) == [(0, topic_id), (100, ids[1])]


def test_described_partitions_tell_a_topic_once(connection: Connection, name: str, topic_id: uuid.UUID) -> None:
    asked = {"topics": [{"name": each} for each in (name, "absent", name, "absent")], "response_partition_limit": 10}
    topics = connection.request(ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, asked).topics
    assert [(topic.name, topic.error_code, len(topic.partitions)) for topic in topics] == [("absent", 3, 0), (name, 0, 1)]


def test_a_cursor_must_be_one_of_the_names(connection: Connection, name: str, topic_id: uuid.UUID) -> None:
    for cursor in (f"{name}-absent", "", "zzz"):
        asked = {"topics": [{"name": name}], "cursor": {"topic_name": cursor, "partition_index": 0}, "response_partition_limit": 10}
        answer = connection.request(ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, asked)
        assert [(topic.name, topic.error_code) for topic in answer.topics] == [(name, INVALID_REQUEST)]
        assert answer.next_cursor is None


@pytest.mark.parametrize("version", [1, 5, 11])
def test_list_offsets_refuses_a_partition_named_twice(connection: Connection, name: str, topic_id: uuid.UUID, version: int) -> None:
    once = {"partition_index": 0, "timestamp": -1, "current_leader_epoch": -1}
    other = {**once, "partition_index": 5}
    for topics in ([{"name": name, "partitions": [once, other, once]}], [{"name": name, "partitions": [p]} for p in (once, other, once)]):
        answer = connection.request(ApiKey.LIST_OFFSETS, version, {"replica_id": -1, "isolation_level": 0, "topics": topics})
        told = [(topic.name, sorted((p.partition_index, p.error_code) for p in topic.partitions)) for topic in answer.topics]
        assert told == [(name, [(0, INVALID_REQUEST), (5, 3)])]


def test_offsets_are_told_as_often_as_asked(connection: Connection, name: str, topic_id: uuid.UUID) -> None:
    topic = {"name": name, "partition_indexes": [0, 0]}
    topics = connection.request(ApiKey.OFFSET_FETCH, 7, {"group_id": name, "topics": [topic, topic]}).topics
    assert [[(p.partition_index, p.error_code) for p in each.partitions] for each in topics] == [[(0, 0), (0, 0)]] * 2
    groups = connection.request(ApiKey.OFFSET_FETCH, 8, {"groups": [{"group_id": name, "topics": [topic]}] * 2}).groups
    assert [group.error_code for group in groups] == [0, 0]


def test_groups_are_described_as_often_as_asked(connection: Connection, name: str) -> None:
    groups = connection.request(ApiKey.DESCRIBE_GROUPS, 5, {"groups": [name, name]}).groups
    assert [(group.group_id, group.error_code) for group in groups] == [(name, 0)] * 2
    groups = connection.request(ApiKey.CONSUMER_GROUP_DESCRIBE, 0, {"group_ids": [name, name]}).groups
    assert [(group.group_id, group.error_code) for group in groups] == [(name, 69)] * 2
