"""Records of KIP-848 groups are Kafka's, byte for byte: found in data directories of Apache Kafka 4.3.0."""

from __future__ import annotations

import uuid

import pytest
from oncelog.protocol.internal.consumer_groups import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
)
from oncelog.protocol.internal.group_fields import AssignedTopic
from oncelog.protocol.internal.records import decode_value

T = 1_700_000_000_000
TOPIC_ID = uuid.UUID("52bc4994-448f-4af1-82df-07beeda6054c")


CONSUMER_GROUP_RECORDS = [
    (
        ConsumerGroupMetadataKey("g"),
        ConsumerGroupMetadataValue(2, int.from_bytes(bytes.fromhex("adc8314b2e528c9d"), signed=True)),
        "000000000002010008adc8314b2e528c9d",
    ),
    (
        ConsumerGroupMemberMetadataKey("g", "m"),
        ConsumerGroupMemberMetadataValue(None, None, "rdkafka", "/127.0.0.1", ["idem"], "", 300_000, None),
        "000000000872646b61666b610b2f3132372e302e302e3102056964656d01000493e00001000100",
    ),
    (
        ConsumerGroupTargetAssignmentMetadataKey("g"),
        ConsumerGroupTargetAssignmentMetadataValue(2, 0x1A1FC715E15),
        "000000000002010008000001a1fc715e15",
    ),
    (
        ConsumerGroupTargetAssignmentMemberKey("g", "m"),
        ConsumerGroupTargetAssignmentMemberValue([AssignedTopic(TOPIC_ID, [0, 1])]),
        "00000252bc4994448f4af182df07beeda6054c0300000000000000010000",
    ),
    (
        ConsumerGroupCurrentMemberAssignmentKey("g", "m"),
        ConsumerGroupCurrentMemberAssignmentValue(2, 0, 0, [AssignedTopic(TOPIC_ID, [0, 1], [2, 2])]),
        "00000000000200000000000252bc4994448f4af182df07beeda6054c0300000000000000010100090300000002000000020100",
    ),
    (
        ConsumerGroupRegularExpressionKey("g", "a.*"),
        ConsumerGroupRegularExpressionValue(["ab"], 7, T),
        "0000020361620000000000000007" + "0000018bcfe56800" + "00",
    ),
]


@pytest.mark.parametrize(
    ("key", "value", "expected"), CONSUMER_GROUP_RECORDS, ids=[type(row[1]).__name__ for row in CONSUMER_GROUP_RECORDS]
)
def test_consumer_group_value(key: ConsumerGroupMetadataKey, value: ConsumerGroupMetadataValue, expected: str) -> None:
    assert value.encode().hex() == expected
    assert decode_value(key, bytes.fromhex(expected)) == value
