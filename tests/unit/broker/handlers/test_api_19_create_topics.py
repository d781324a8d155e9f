"""CreateTopics: what the recordings do not show."""

from __future__ import annotations

from typing import Any

import pytest
from oncelog.broker.auth.acls import AclOperation
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from support.topic_requests import Broker, Deny

pytestmark = pytest.mark.unit


def created(broker: Broker, name: str, **fields: Any) -> Any:
    topic = messages.CreateTopicsRequest.CreatableTopic(
        name=name, **{"num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": [], **fields}
    )
    return broker.ask(ApiKey.CREATE_TOPICS, 7, topics=[topic], timeout_ms=1000, validate_only=False).topics[0]


def test_created_topic_tells_its_id() -> None:
    broker = Broker()
    answer = created(broker, "t", num_partitions=3)
    topic = broker.logs.get("t")
    assert topic is not None
    assert (answer.error_code, answer.topic_id, topic.partitions) == (ErrorCode.NONE, topic.topic_id, 3)


@pytest.mark.parametrize("partitions", [0, -2])
def test_number_of_partitions_must_be_positive(partitions: int) -> None:
    assert created(Broker(), "t", num_partitions=partitions).error_code == ErrorCode.INVALID_PARTITIONS


def test_any_replication_factor_where_that_is_allowed() -> None:
    answer = created(Broker(strict_replication_factor=False), "t", replication_factor=3)
    assert (answer.error_code, answer.replication_factor) == (ErrorCode.NONE, 1)


def test_partition_assigned_twice() -> None:
    assign = messages.CreateTopicsRequest.CreatableTopic.CreatableReplicaAssignment
    twice = [assign(partition_index=0, broker_ids=[1]), assign(partition_index=0, broker_ids=[1])]
    answer = created(Broker(), "t", num_partitions=-1, replication_factor=-1, assignments=twice)
    assert answer.error_code == ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_unknown_setting_makes_no_topic() -> None:
    broker = Broker()
    config = messages.CreateTopicsRequest.CreatableTopic.CreatableTopicConfig(name="no.such.setting", value="1")
    assert created(broker, "t", configs=[config]).error_code == ErrorCode.INVALID_CONFIG
    assert broker.logs.get("t") is None


def test_settings_without_a_value_are_named_all() -> None:
    kind = messages.CreateTopicsRequest.CreatableTopic.CreatableTopicConfig
    configs = [kind(name="segment.bytes", value=None), kind(name="retention.ms", value="1"), kind(name="segment.ms", value=None)]
    answer = created(Broker(), "t", configs=configs)
    said = "Null value not supported for topic configs: segment.bytes,segment.ms"
    assert (answer.error_code, answer.error_message) == (ErrorCode.INVALID_CONFIG, said)


def test_topics_are_made_by_whom_may_create_the_topic_or_in_the_cluster() -> None:
    cluster, topic = (AclOperation.CREATE, "kafka-cluster"), (AclOperation.CREATE, "t")
    assert created(Broker(authorizer=Deny(cluster)), "t").error_code == ErrorCode.NONE
    assert created(Broker(authorizer=Deny(topic)), "t").error_code == ErrorCode.NONE
    assert created(Broker(authorizer=Deny(cluster, topic)), "t").error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED


def test_settings_are_told_to_whom_may_see_them() -> None:
    answer = created(Broker(authorizer=Deny((AclOperation.DESCRIBE_CONFIGS, "t"))), "t")
    assert (answer.error_code, answer.configs, answer.num_partitions) == (ErrorCode.NONE, [], -1)
