"""The operations that answers tell a client it may do, and the log of a partition that is named."""

from __future__ import annotations

import uuid
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.broker.handlers.shared.topic_access import NamedPartition, authorized_operations
from oncelog.protocol.names import TopicPartition
from support.acl_rules import ALICE, HERE, authorizer

pytestmark = pytest.mark.unit


def test_operations_of_a_super_user_as_kafka_sums_them() -> None:
    made = authorizer(super_users=(ALICE,))
    asked: Any = SimpleNamespace(sees=partial(made.authorize, ALICE, HERE))
    assert authorized_operations(asked, ResourceType.TOPIC, "t") == 3576
    assert authorized_operations(asked, ResourceType.CLUSTER) == 8096


def test_the_log_of_a_named_partition_is_looked_up_once_and_again_when_it_is_gone() -> None:
    logs: dict[TopicPartition, Any] = {}
    asked: list[TopicPartition] = []
    topic_id = uuid.UUID(int=7)

    def log(partition: TopicPartition) -> Any:
        asked.append(partition)
        return logs.get(partition)

    topics = SimpleNamespace(by_id=lambda id: SimpleNamespace(name="t") if id == topic_id else None)
    broker: Any = SimpleNamespace(logs=SimpleNamespace(log=log, topics=topics), authorizer=authorizer(super_users=(ALICE,)))
    alice: Any = SimpleNamespace(principal=ALICE, client_host=HERE)
    bob: Any = SimpleNamespace(principal="User:bob", client_host=HERE)
    partition = TopicPartition("t", 3)
    for named in (NamedPartition("t", None, 3), NamedPartition(None, topic_id.bytes, 3)):
        asked.clear()
        logs.clear()
        assert named.log(broker, alice, AclOperation.WRITE) is None
        first = logs[partition] = SimpleNamespace(offline=None, topic_partition=partition)
        for _ in range(3):
            assert named.log(broker, alice, AclOperation.WRITE) is first
        assert named.log(broker, bob, AclOperation.WRITE) is None
        assert asked == [partition, partition]
        first.offline = "the topic was deleted"
        second = logs[partition] = SimpleNamespace(offline=None, topic_partition=partition)
        assert named.log(broker, alice, AclOperation.WRITE) is second
    assert NamedPartition(None, bytes(16), 3).log(broker, alice, AclOperation.WRITE) is None
