"""Handlers and coordinators read topics through one interface: here from an image that has nothing beside it, no registry and no logs."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from types import SimpleNamespace

import pytest
from oncelog.broker.topics.metadata_cache import NOT_REQUESTED, MetadataCache
from oncelog.coordinator.groups.consumer.draft import Draft, metadata_hash
from oncelog.coordinator.groups.consumer.state import ConsumerGroup, ConsumerMember
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import TopicPartition
from oncelog.protocol.topics import Topic, Topics
from support.topic_requests import Broker

pytestmark = pytest.mark.unit
ID = uuid.UUID(int=7)


class Image:
    def __init__(self, partitions: int, offset: int) -> None:
        self.generation = offset
        self._topic = Topic("t", ID, partitions, {"retention.ms": "5"})

    def get(self, name: str) -> Topic | None:
        return self._topic if name == "t" else None

    def by_id(self, topic_id: uuid.UUID) -> Topic | None:
        return self._topic if topic_id == ID else None

    def all(self) -> list[Topic]:
        return [self._topic]

    def has_partition(self, topic_partition: TopicPartition) -> bool:
        return topic_partition.topic == "t" and 0 <= topic_partition.partition < self._topic.partitions

    def leader_epochs(self, name: str) -> Mapping[int, int]:
        return {1: 4} if name == "t" else {}


def broker_of(topics: Topics) -> Broker:
    return Broker(logs=SimpleNamespace(topics=topics))


def test_handlers_tell_what_the_image_says() -> None:
    broker = broker_of(Image(2, 1))
    (described,) = broker.ask(ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, topics=[], response_partition_limit=10).topics
    assert (described.name, described.topic_id) == ("t", ID)
    assert [(each.partition_index, each.leader_epoch) for each in described.partitions] == [(0, 0), (1, 4)]
    asked = messages.DescribeConfigsRequest.DescribeConfigsResource(resource_type=2, resource_name="t", configuration_keys=["retention.ms"])
    (result,) = broker.ask(ApiKey.DESCRIBE_CONFIGS, 4, resources=[asked]).results
    assert [(entry.name, entry.value) for entry in result.configs] == [("retention.ms", "5")]


def test_partitions_are_there_by_the_image() -> None:
    broker = broker_of(Image(2, 1))
    asked = messages.ElectLeadersRequest.TopicPartitions(topic="t", partitions=[1, 2])
    (result,) = broker.ask(ApiKey.ELECT_LEADERS, 2, election_type=0, topic_partitions=[asked], timeout_ms=0).replica_election_results
    codes = {each.partition_id: each.error_code for each in result.partition_result}
    assert codes == {1: ErrorCode.ELECTION_NOT_NEEDED, 2: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


def test_groups_notice_another_image() -> None:
    draft = Draft(ConsumerGroup("g"))
    draft.put_member(ConsumerMember("m", topic_names=("t",)))
    group = draft.group
    assert metadata_hash(group, Image(2, 1)) == metadata_hash(group, Image(2, 9)) != metadata_hash(group, Image(3, 9))


def test_metadata_is_packed_again_after_a_change() -> None:
    image = Image(2, 1)
    cache = MetadataCache(image, node_id=3)
    packed, key = cache.topic(12, image.all()[0], NOT_REQUESTED), (12, b"body", ("localhost", 9092))
    assert ID.bytes in packed
    assert b"\x00\x00\x00\x01\x00\x00\x00\x03\x00\x00\x00\x04" in packed  # partition 1, led by broker 3 in epoch 4
    assert cache.get(key) is None
    cache.put(key, packed)
    assert cache.get(key) == packed
    image.generation = 2
    assert cache.get(key) is None
