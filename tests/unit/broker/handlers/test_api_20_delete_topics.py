"""DeleteTopics: what the recordings do not show."""

from __future__ import annotations

import uuid

import pytest
from oncelog.broker.auth.acls import AclOperation
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from support.topic_requests import Broker, Deny

pytestmark = pytest.mark.unit


def test_deletion_can_be_disabled() -> None:
    broker = Broker({"t": 1}, delete_topics=False)
    errors = [broker.ask(ApiKey.DELETE_TOPICS, version, topic_names=["t"], timeout_ms=1).responses[0].error_code for version in (1, 3)]
    assert errors == [ErrorCode.INVALID_REQUEST, ErrorCode.TOPIC_DELETION_DISABLED]
    assert broker.logs.get("t") is not None


def test_deleting_by_id_does_not_tell_the_name_to_strangers() -> None:
    refused = (AclOperation.DELETE, "t"), (AclOperation.DESCRIBE, "t"), (AclOperation.DELETE, "kafka-cluster")
    broker = Broker({"t": 1}, authorizer=Deny(*refused))
    state = messages.DeleteTopicsRequest.DeleteTopicState(name=None, topic_id=uuid.UUID(int=1))
    (answer,) = broker.ask(ApiKey.DELETE_TOPICS, 6, topics=[state], timeout_ms=1).responses
    assert (answer.error_code, answer.name) == (ErrorCode.TOPIC_AUTHORIZATION_FAILED, None)
