"""What a request names, wherever its API keeps it."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from oncelog.broker.faults.subject import Subject
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.header import parse_request_header
from support.wire import request_frame, request_message

pytestmark = pytest.mark.unit
ID = uuid.UUID(int=5)
K = ApiKey


def subject(key: ApiKey, version: int, fields: dict[str, Any]) -> Subject:
    body = bytes(messages.encode_request(key, version, request_message(key, fields)))
    frame = request_frame(key, version, 7, body, "me")
    return Subject(parse_request_header(frame), frame, "User:x", {ID: "by-id"}.get)


@pytest.mark.parametrize(
    ("key", "version", "fields", "names"),
    [
        (K.END_TXN, 5, {"transactional_id": "t"}, {"transactional_id": "t"}),
        (K.ADD_PARTITIONS_TO_TXN, 3, {"v3_and_below_transactional_id": "t", "v3_and_below_topics": [{"name": "a", "partitions": [4]}]},
         {"transactional_id": "t", "topic": "a", "partition": 4}),
        (K.ADD_PARTITIONS_TO_TXN, 5, {"transactions": [{"transactional_id": "t", "topics": [{"name": "a", "partitions": [4]}]}]},
         {"transactional_id": "t", "topic": "a", "partition": 4}),
        (K.TXN_OFFSET_COMMIT, 3,
         {"transactional_id": "t", "group_id": "g", "topics": [{"name": "a", "partitions": [{"partition_index": 4}]}]},
         {"transactional_id": "t", "group": "g", "topic": "a", "partition": 4}),
        (K.PRODUCE, 9, {"transactional_id": "t", "topic_data": [{"name": "a", "partition_data": [{"index": 4, "records": b""}]}]},
         {"transactional_id": "t", "topic": "a", "partition": 4}),
        (K.PRODUCE, 13, {"topic_data": [{"topic_id": ID, "partition_data": [{"index": 4, "records": b""}]}]},
         {"topic": "by-id", "partition": 4}),
        (K.FETCH, 12, {"topics": [{"topic": "a", "partitions": [{"partition": 4}]}]}, {"topic": "a", "partition": 4}),
        (K.OFFSET_FETCH, 8, {"groups": [{"group_id": "g", "topics": [{"name": "a", "partition_indexes": [4]}]}]},
         {"group": "g", "topic": "a", "partition": 4}),
        (K.FIND_COORDINATOR, 4, {"key_type": 1, "coordinator_keys": ["t"]}, {"transactional_id": "t"}),
        (K.FIND_COORDINATOR, 2, {"key_type": 0, "key": "g"}, {"group": "g"}),
        (K.METADATA, 9, {"topics": [{"name": "a"}]}, {"topic": "a"}),
    ],
)  # fmt: skip
def test_names_are_found(key: ApiKey, version: int, fields: dict[str, Any], names: dict[str, object]) -> None:
    asked = subject(key, version, fields)
    for field in ("transactional_id", "group", "topic", "partition"):
        if field in names:
            assert asked.names(field, names[field]), field
        assert not asked.names(field, "another")


def test_a_body_that_cannot_be_read_names_nothing() -> None:
    frame = request_frame(K.END_TXN, 5, 7, b"\xff", "me")
    asked = Subject(parse_request_header(frame), frame, "User:x", {}.get)
    assert asked.body is None
    assert not asked.names("transactional_id", "t")
    assert not asked.names("topic", "a")
