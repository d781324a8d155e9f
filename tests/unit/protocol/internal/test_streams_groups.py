"""Records of KIP-1071 groups are Kafka's, byte for byte: what the serializers of Apache Kafka 4.3.0 made of the same values."""

from __future__ import annotations

import pytest
from oncelog.protocol.internal.fields import CorruptRecord
from oncelog.protocol.internal.records import UnknownKey, decode_key, decode_value
from oncelog.protocol.internal.streams_groups import (
    STREAMS_GROUP_KEYS,
    Endpoint,
    StreamsGroupCurrentMemberAssignmentKey,
    StreamsGroupCurrentMemberAssignmentValue,
    StreamsGroupKey,
    StreamsGroupMemberMetadataKey,
    StreamsGroupMemberMetadataValue,
    StreamsGroupMetadataKey,
    StreamsGroupMetadataValue,
    StreamsGroupTargetAssignmentMemberKey,
    StreamsGroupTargetAssignmentMemberValue,
    StreamsGroupTargetAssignmentMetadataKey,
    StreamsGroupTargetAssignmentMetadataValue,
    StreamsGroupValue,
    TaskIds,
)
from oncelog.protocol.internal.streams_topology import KeyValue
from oncelog.protocol.names import CONSUMER_OFFSETS

RECORDS = [
    (
        StreamsGroupMetadataKey("g"),
        StreamsGroupMetadataValue(2, 282915587610181440, 0, [KeyValue("num.standby.replicas", "0")]),
        "00000000000203ed1e3a5cecff4002000400000000011902156e756d2e7374616e6462792e7265706c69636173023000",
    ),
    (StreamsGroupMetadataKey("g"), StreamsGroupMetadataValue(2, 1), "000000000002000000000000000100"),
    (
        StreamsGroupMemberMetadataKey("g", "m"),
        StreamsGroupMemberMetadataValue(
            None, "r", "probe", "/127.0.0.1", 300_000, 3, "p1", Endpoint("h1", 50_000), [KeyValue("zone", "a")]
        ),
        "00000002720670726f62650b2f3132372e302e302e31000493e00000000303703101036831c3500002057a6f6e6502610000",
    ),
    (
        StreamsGroupMemberMetadataKey("g", "m"),
        StreamsGroupMemberMetadataValue(None, None, "probe", "/127.0.0.1", 300_000, 0, "p1", None, []),
        "000000000670726f62650b2f3132372e302e302e31000493e000000000037031ff0100",
    ),
    (
        StreamsGroupTargetAssignmentMetadataKey("g"),
        StreamsGroupTargetAssignmentMetadataValue(2, 1_795_317_713_597),
        "000000000002010008000001a201464abd",
    ),
    (
        StreamsGroupTargetAssignmentMemberKey("g", "m"),
        StreamsGroupTargetAssignmentMemberValue([TaskIds("0", [0, 1])], [TaskIds("1", [2])]),
        "0000020230030000000000000001000202310200000002000100",
    ),
    (
        StreamsGroupCurrentMemberAssignmentKey("g", "m"),
        StreamsGroupCurrentMemberAssignmentValue(
            2,
            0,
            1,
            [TaskIds("0", [0, 1], [2, 2])],
            [TaskIds("1", [2])],
            active_tasks_pending_revocation=[TaskIds("0", [3], [1])],
        ),
        "00000000000200000000010202300300000000000000010100090300000002000000020202310200000002000102023002000000030100050200000001010100",
    ),
]


@pytest.mark.parametrize(("key", "value", "encoded"), RECORDS)
def test_value_is_kafkas(key: StreamsGroupKey, value: StreamsGroupValue, encoded: str) -> None:
    assert value.encode().hex() == encoded
    assert decode_value(key, bytes.fromhex(encoded)) == value


@pytest.mark.parametrize(("key_type", "key"), [(n, read) for n, read in STREAMS_GROUP_KEYS.items()])
def test_key_is_kafkas(key_type: int, key: object) -> None:
    """int16 type, then strings with an int16 length."""
    both = key_type in (19, 21, 22)
    encoded = key_type.to_bytes(2, "big") + b"\x00\x01g" + (b"\x00\x01m" if both else b"")
    decoded = decode_key(CONSUMER_OFFSETS, encoded)
    assert not isinstance(decoded, UnknownKey)
    assert decoded.encode() == encoded


def test_another_version_is_refused() -> None:
    with pytest.raises(CorruptRecord, match="version 1"):
        decode_value(StreamsGroupMetadataKey("g"), b"\x00\x01" + bytes(12))
