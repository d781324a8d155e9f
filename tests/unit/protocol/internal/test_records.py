"""Internal records are Kafka's, byte for byte: constructed vectors, and records found in data directories of Apache Kafka 4.3.0."""

from __future__ import annotations

import uuid

import pytest
from oncelog.protocol.internal.consumer_groups import (
    ClassicMemberMetadata,
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMetadataKey,
)
from oncelog.protocol.internal.records import (
    CorruptRecord,
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
    TransactionLogKey,
    TransactionLogValue,
    UnknownKey,
    decode_key,
    decode_value,
)
from oncelog.protocol.names import CONSUMER_OFFSETS, TRANSACTION_STATE

T = 1_700_000_000_000
TOPIC_ID = uuid.UUID("52bc4994-448f-4af1-82df-07beeda6054c")


VECTORS = [
    (
        "empty",
        TransactionLogValue(1000, 0, 60_000, 0, None, T, -1),
        0,
        "000000000000000003e800000000ea6000ffffffff0000018bcfe56800ffffffffffffffff",
    ),
    (
        "ongoing",
        TransactionLogValue(1000, 0, 60_000, 1, [("foo", [0, 1])], T, T),
        0,
        "000000000000000003e800000000ea6001000000010003666f6f0000000200000000000000010000018bcfe568000000018bcfe56800",
    ),
    (
        "prepare commit with tags",
        TransactionLogValue(1000, 1, 60_000, 2, [("foo", [0, 1])], T + 500, T, previous_producer_id=1000, client_transaction_version=2),
        1,
        "000100000000000003e800010000ea60020204666f6f030000000000000001000000018bcfe569f40000018bcfe5680002000800000000000003e802020002",
    ),
    (
        "first record of an id",
        TransactionLogValue(13, 0, 60_000, 0, None, 0x1A1FC713AA5, -1, previous_producer_id=13),
        1,
        "0001000000000000000d00000000ea600000000001a1fc713aa5ffffffffffffffff010008000000000000000d",
    ),
    ("offset v3", OffsetCommitValue(100, 7, "", T), 3, "000300000000000000640000000700000000018bcfe56800"),
    ("offset v4", OffsetCommitValue(40, 0, "", 0x1A1FC7159D8), 4, "0004000000000000002800000000010000" + "01a1fc7159d8" + "00"),
    (
        "empty classic group",
        GroupMetadataValue("", 0, None, None, 0x1A1FC71586D),
        3,
        "0003000000000000ffffffff000001a1fc71586d00000000",
    ),
]


@pytest.mark.parametrize(("value", "version", "expected"), [row[1:] for row in VECTORS], ids=[row[0] for row in VECTORS])
def test_versioned_value(value: TransactionLogValue | OffsetCommitValue | GroupMetadataValue, version: int, expected: str) -> None:
    assert value.encode(version).hex() == expected
    assert type(value).decode(bytes.fromhex(expected)) == value


KEYS = [
    (TRANSACTION_STATE, TransactionLogKey("my-txn"), "000000066d792d74786e"),
    (CONSUMER_OFFSETS, OffsetCommitKey("g1", "foo", 0), "0001000267310003666f6f00000000"),
    (CONSUMER_OFFSETS, GroupMetadataKey("g-txn"), "00020005672d74786e"),
    (CONSUMER_OFFSETS, ConsumerGroupMetadataKey("g-848"), "00030005672d383438"),
    (
        CONSUMER_OFFSETS,
        ConsumerGroupMemberMetadataKey("g-848", "DRrPy6rxSTyGBvefc7MtvPw"),
        "00050005672d3834380017" + b"DRrPy6rxSTyGBvefc7MtvPw".hex(),
    ),
    (CONSUMER_OFFSETS, ConsumerGroupTargetAssignmentMetadataKey("g-848"), "00060005672d383438"),
    (CONSUMER_OFFSETS, ConsumerGroupTargetAssignmentMemberKey("g", "m"), "0007000167" + "00016d"),
    (CONSUMER_OFFSETS, ConsumerGroupCurrentMemberAssignmentKey("g", "m"), "0008000167" + "00016d"),
    (CONSUMER_OFFSETS, ConsumerGroupRegularExpressionKey("g", ".*"), "0010000167" + "00022e2a"),
]


@pytest.mark.parametrize(("topic", "key", "expected"), KEYS, ids=[type(row[1]).__name__ for row in KEYS])
def test_key(topic: str, key: OffsetCommitKey, expected: str) -> None:
    assert key.encode().hex() == expected
    assert decode_key(topic, bytes.fromhex(expected)) == key


def test_values_of_many_fields_are_read_back() -> None:
    member = MemberMetadata("m-1", "static", "client", "/127.0.0.1", 60_000, 45_000, b"sub", b"assignment")
    for version in range(3, 5):
        group = GroupMetadataValue("consumer", 3, "range", "m-1", T, [member, member])
        assert GroupMetadataValue.decode(group.encode(version)) == group
    offset = OffsetCommitValue(5, 1, "m", T, topic_id=TOPIC_ID)
    assert OffsetCommitValue.decode(offset.encode()) == offset
    classic = ConsumerGroupMemberMetadataValue(
        "i", "r", "c", "/h", ["a", "b"], None, -1, "uniform", ClassicMemberMetadata(9, [("p", b"x")])
    )
    assert ConsumerGroupMemberMetadataValue.decode(classic.encode()) == classic


def test_old_versions_of_values() -> None:
    assert OffsetCommitValue.decode(OffsetCommitValue(5, 1, "m", T).encode(0)) == OffsetCommitValue(5, -1, "m", T)
    assert OffsetCommitValue.decode(OffsetCommitValue(5, 1, "m", T, 99).encode(1)) == OffsetCommitValue(5, -1, "m", T, 99)
    member = MemberMetadata("m-1", None, "client", "/127.0.0.1", 60_000, 45_000, b"", b"")
    old = GroupMetadataValue.decode(GroupMetadataValue("consumer", 3, "range", "m-1", T, [member]).encode(0))
    assert old.current_state_timestamp == -1
    assert old.members[0].rebalance_timeout == 45_000


def test_deletion_and_foreign_records() -> None:
    assert decode_value(OffsetCommitKey("g", "t", 0), None) is None
    foreign = decode_key(CONSUMER_OFFSETS, bytes.fromhex("00120001670000"))
    assert foreign == UnknownKey(18, bytes.fromhex("00120001670000"))
    assert decode_value(foreign, b"\x00\x01") == b"\x00\x01"


@pytest.mark.parametrize("row", VECTORS, ids=[row[0] for row in VECTORS])
def test_cut_value_is_refused(row: tuple[str, TransactionLogValue, int, str]) -> None:
    whole = bytes.fromhex(row[3])
    for length in range(len(whole)):
        with pytest.raises(CorruptRecord):
            type(row[1]).decode(whole[:length])


def test_future_version_is_refused() -> None:
    with pytest.raises(CorruptRecord, match="version 5"):
        OffsetCommitValue.decode(b"\x00\x05" + bytes(30))


@pytest.mark.parametrize("instances", [(), (None,), ("é",), ("", None, "i")], ids=str)
def test_the_version_of_groups_that_is_written_is_that_of_fields_one_by_one(instances: tuple[str | None, ...]) -> None:
    members = [
        MemberMetadata(f"m{n}é", instance, f"c{n}", "/h", 1 + n, 2 + n, b"s" * n, b"a" * 300) for n, instance in enumerate(instances)
    ]
    for protocol, leader in ((None, None), ("", ""), ("range", "é")):
        value = GroupMetadataValue("consumer", 7, protocol, leader, T, members)
        assert GroupMetadataValue.decode(value.encode()) == value
        assert GroupMetadataValue.decode(value.encode(version=4)) == value
