"""Each wrap, limit and sentinel, at its edges."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oncelog.protocol.primitives import (
    MalformedRequest,
    decrement_sequence,
    increment_sequence,
    java_string_hash,
    murmur2,
    partition_for,
    read_unsigned_varint,
    read_varint,
    unsigned_varint,
    uuid_from_kafka,
    uuid_to_kafka,
    varint,
)

LAST = 2**31 - 1


@pytest.mark.parametrize(("value", "text"), [(0, "00"), (127, "7f"), (128, "8001"), (300, "ac02"), (LAST, "ffffffff07")])
def test_unsigned_varint(value: int, text: str) -> None:
    assert unsigned_varint(value).hex() == text
    assert read_unsigned_varint(bytes.fromhex(text), 0) == (value, len(text) // 2)


@pytest.mark.parametrize("text", ["", "80", "ffffffff0f", "808080808001", "ffffffff08"])
def test_bad_unsigned_varint(text: str) -> None:
    with pytest.raises(MalformedRequest):
        read_unsigned_varint(bytes.fromhex(text), 0)


@pytest.mark.parametrize(
    ("value", "text"), [(0, "00"), (-1, "01"), (1, "02"), (63, "7e"), (-64, "7f"), (64, "8001"), (-(2**31), "ffffffff0f")]
)
def test_varint(value: int, text: str) -> None:
    assert varint(value).hex() == text
    assert read_varint(bytes.fromhex(text), 0, 5) == (value, len(text) // 2)


@given(st.integers(-(2**63), 2**63 - 1))
def test_varlong_there_and_back(value: int) -> None:
    assert read_varint(b"x" + varint(value), 1) == (value, 1 + len(varint(value)))


def test_varint_longer_than_its_type() -> None:
    with pytest.raises(ValueError, match="5 bytes"):
        read_varint(b"\x80\x80\x80\x80\x80\x01", 0, 5)
    with pytest.raises(IndexError):
        read_varint(b"\x80", 0)


@pytest.mark.parametrize(("sequence", "step", "expected"), [(0, 1, 1), (LAST, 1, 0), (LAST, 2, 1), (LAST - 1, 5, 3), (5, LAST, 4)])
def test_sequences_wrap(sequence: int, step: int, expected: int) -> None:
    assert increment_sequence(sequence, step) == expected
    assert decrement_sequence(expected, step) == sequence


# String.hashCode values as Java prints them
@pytest.mark.parametrize(
    ("text", "expected"), [("", 0), ("a", 97), ("hello", 99162322), ("polygenelubricants", -(2**31)), ("\U0001f600", 1772899)]
)
def test_java_string_hash(text: str, expected: int) -> None:
    assert java_string_hash(text) == expected


def test_partition_of_an_internal_topic() -> None:
    assert partition_for("hello", 50) == 99162322 % 50
    assert partition_for("polygenelubricants", 50) == 0  # Utils.abs(Integer.MIN_VALUE) is 0


# the vectors of Kafka's own UtilsTest
@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_murmur2(data: bytes, expected: int) -> None:
    assert murmur2(data) == expected


@given(st.uuids())
def test_uuid_there_and_back(value: uuid.UUID) -> None:
    text = uuid_to_kafka(value)
    assert len(text) == 22
    assert uuid_from_kafka(text) == value


@pytest.mark.parametrize("text", ["", "abc", "hbGFDOVFSrS7y8wLdUKMg", "not base64 at all!!!!!", "hbGFDOVFSrS7y8wLdUKMgAAA"])
def test_bad_uuid(text: str) -> None:
    with pytest.raises(ValueError, match="uuid"):
        uuid_from_kafka(text)
