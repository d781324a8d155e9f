"""Records of `__share_group_state` are Kafka's, byte for byte: the vectors are what its own serializers of 4.3.0 made."""

from __future__ import annotations

import uuid

import pytest
from oncelog.protocol.internal.fields import CorruptRecord
from oncelog.protocol.internal.records import InternalKey, UnknownKey, decode_key, decode_value
from oncelog.protocol.internal.share_state import (
    ShareSnapshotKey,
    ShareSnapshotValue,
    ShareStateValue,
    ShareUpdateKey,
    ShareUpdateValue,
    StateBatch,
)
from oncelog.protocol.names import CONSUMER_OFFSETS, SHARE_GROUP_STATE

TOPIC_ID = uuid.UUID("2790daf0-2216-4e3a-849d-4af1a2fe5d06")
MADE_MS, WRITTEN_MS = 1_795_317_684_042, 1_795_317_984_042
SNAPSHOT_KEY = ShareSnapshotKey("g-p07", TOPIC_ID, 0)
UPDATE_KEY = ShareUpdateKey("g-p07", TOPIC_ID, 0)
AVAILABLE, ACKNOWLEDGED = StateBatch(7, 9, 0, 1), StateBatch(5, 6, 2, 1)
KEYS = [
    (SNAPSHOT_KEY, "00000005672d7030372790daf022164e3a849d4af1a2fe5d0600000000"),
    (UPDATE_KEY, "00010005672d7030372790daf022164e3a849d4af1a2fe5d0600000000"),
]
VALUES = [
    (
        SNAPSHOT_KEY,
        ShareSnapshotValue(0, 1, 0, 5, MADE_MS, MADE_MS, (), 0),
        "00000000000000000001000000000000000000000005000001a20145d74a000001a20145d74a0101000400000000",
    ),
    (
        SNAPSHOT_KEY,
        ShareSnapshotValue(0, 2, 0, -1, 1_795_317_815_713, 1_795_317_815_713, ()),
        "0000000000000000000200000000ffffffffffffffff000001a20147d9a1000001a20147d9a10100",
    ),
    (
        SNAPSHOT_KEY,
        ShareSnapshotValue(7, 1, 3, 5, MADE_MS, WRITTEN_MS, (ACKNOWLEDGED, AVAILABLE), 2),
        "00000000000700000001000000030000000000000005000001a20145d74a000001a2014a6b2a0300000000000000050000000000000006020001"
        "00000000000000000700000000000000090000010001000400000002",
    ),
    (
        UPDATE_KEY,
        ShareUpdateValue(0, 0, 5, (StateBatch(5, 9, 0, 1),), 0),
        "00000000000000000000000000000000000502000000000000000500000000000000090000010001000400000000",
    ),
    (
        UPDATE_KEY,
        ShareUpdateValue(0, 0, -1, (ACKNOWLEDGED,), 2),
        "00000000000000000000ffffffffffffffff02000000000000000500000000000000060200010001000400000002",
    ),
    (UPDATE_KEY, ShareUpdateValue(0, 3, 5, (), 2), "0000000000000000000300000000000000050101000400000002"),
]


@pytest.mark.parametrize(("key", "expected"), KEYS)
def test_a_key_is_kafkas(key: ShareSnapshotKey | ShareUpdateKey, expected: str) -> None:
    assert key.encode().hex() == expected
    assert decode_key(SHARE_GROUP_STATE, bytes.fromhex(expected)) == key
    assert type(decode_key(SHARE_GROUP_STATE, bytes.fromhex(expected))) is type(key)


@pytest.mark.parametrize(("key", "value", "expected"), VALUES)
def test_a_value_is_kafkas(key: InternalKey, value: ShareStateValue, expected: str) -> None:
    assert value.encode().hex() == expected
    assert decode_value(key, bytes.fromhex(expected)) == value
    assert decode_value(key, None) is None


@pytest.mark.parametrize(("key", "value", "expected"), VALUES)
def test_what_is_cut_off_or_of_another_version_is_refused(key: InternalKey, value: ShareStateValue, expected: str) -> None:
    whole = bytes.fromhex(expected)
    for length in range(len(whole)):
        with pytest.raises(CorruptRecord):
            decode_value(key, whole[:length])
    with pytest.raises(CorruptRecord, match="version 1"):
        decode_value(key, b"\x00\x01" + whole[2:])


def test_other_types_are_kept_as_they_are_and_the_other_topics_have_their_own() -> None:
    assert decode_key(SHARE_GROUP_STATE, bytes.fromhex("0002ab")) == UnknownKey(2, bytes.fromhex("0002ab"))
    assert decode_key(CONSUMER_OFFSETS, bytes.fromhex("0001000167000174000000000005"[:26])) is not None
