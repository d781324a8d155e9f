"""Records of share groups are Kafka's, byte for byte: found in a data directory of Apache Kafka 4.3.0."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from oncelog.protocol.internal.fields import CorruptRecord
from oncelog.protocol.internal.group_fields import AssignedTopic
from oncelog.protocol.internal.records import decode_key, decode_value
from oncelog.protocol.internal.share_groups import (
    NamedTopic,
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupMemberMetadataKey,
    ShareGroupMemberMetadataValue,
    ShareGroupMetadataKey,
    ShareGroupMetadataValue,
    ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataValue,
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMemberValue,
    ShareGroupTargetAssignmentMetadataKey,
    ShareGroupTargetAssignmentMetadataValue,
)
from oncelog.protocol.names import CONSUMER_OFFSETS

GROUP, MEMBER = "g13-1795350555", "c2751058-84a5-48a2-8039-a353a8f26130"
IN_KEY = "000e6731332d31373935333530353535"
MEMBER_IN_KEY = "002463323735313035382d383461352d343861322d383033392d613335336138663236313330"
TOPIC_ID = uuid.UUID("ce159218-7bd8-4e3b-8817-0a7ad4a6c96c")
T13 = NamedTopic(TOPIC_ID, "t13", [0, 1])

RECORDS: list[tuple[Any, str, Any, str]] = [
    (
        ShareGroupMemberMetadataKey(GROUP, MEMBER),
        f"000a{IN_KEY}{MEMBER_IN_KEY}",
        ShareGroupMemberMetadataValue(None, "wire", "/127.0.0.1", ["t13"]),
        "00000005776972650b2f3132372e302e302e31020474313300",
    ),
    (
        ShareGroupMetadataKey(GROUP),
        f"000b{IN_KEY}",
        ShareGroupMetadataValue(2, 2585190927349121121),
        "00000000000223e071739535006100",
    ),
    (
        ShareGroupTargetAssignmentMetadataKey(GROUP),
        f"000c{IN_KEY}",
        ShareGroupTargetAssignmentMetadataValue(2, 1795350555838),
        "000000000002010008000001a2033b6cbe",
    ),
    (
        ShareGroupTargetAssignmentMemberKey(GROUP, MEMBER),
        f"000d{IN_KEY}{MEMBER_IN_KEY}",
        ShareGroupTargetAssignmentMemberValue([AssignedTopic(TOPIC_ID, [0, 1])]),
        "000002ce1592187bd84e3b88170a7ad4a6c96c0300000000000000010000",
    ),
    (
        ShareGroupCurrentMemberAssignmentKey(GROUP, MEMBER),
        f"000e{IN_KEY}{MEMBER_IN_KEY}",
        ShareGroupCurrentMemberAssignmentValue(3, 2, 0, [AssignedTopic(TOPIC_ID, [0, 1])]),
        "000000000003000000020002ce1592187bd84e3b88170a7ad4a6c96c0300000000000000010000",
    ),
    (
        ShareGroupStatePartitionMetadataKey(GROUP),
        f"000f{IN_KEY}",
        ShareGroupStatePartitionMetadataValue(initializing=[T13]),
        "000002ce1592187bd84e3b88170a7ad4a6c96c0474313303000000000000000100010100",
    ),
    (
        ShareGroupStatePartitionMetadataKey(GROUP),
        f"000f{IN_KEY}",
        ShareGroupStatePartitionMetadataValue(initialized=[T13]),
        "00000102ce1592187bd84e3b88170a7ad4a6c96c04743133030000000000000001000100",
    ),
    (
        ShareGroupStatePartitionMetadataKey(GROUP),
        f"000f{IN_KEY}",
        ShareGroupStatePartitionMetadataValue(deleting=[T13._replace(partitions=[])]),
        "0000010102ce1592187bd84e3b88170a7ad4a6c96c047431330000",
    ),
]


@pytest.mark.parametrize(("key", "key_hex", "value", "value_hex"), RECORDS, ids=lambda part: type(part).__name__)
def test_record(key: Any, key_hex: str, value: Any, value_hex: str) -> None:
    assert (key.encode().hex(), value.encode().hex()) == (key_hex, value_hex)
    assert decode_key(CONSUMER_OFFSETS, bytes.fromhex(key_hex)) == key
    assert decode_value(key, bytes.fromhex(value_hex)) == value


def test_other_versions_and_cut_values_are_refused() -> None:
    for key, _key_hex, _value, value_hex in RECORDS:
        whole = bytes.fromhex(value_hex)
        with pytest.raises(CorruptRecord, match="of version 1"):
            decode_value(key, b"\0\1" + whole[2:])
        for length in range(len(whole) - 1):  # the last byte says that no tagged field follows
            with pytest.raises(CorruptRecord):
                decode_value(key, whole[:length])
