"""Lengths, strings and tags of hand-written bodies: as the generic primitives write them, and refused when they cannot be there."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oncelog.protocol.hot.fields import (
    pack_count,
    pack_string,
    pack_topic,
    read_count,
    read_nullable_string,
    read_string,
    read_topic,
    skip_tags,
)
from oncelog.protocol.primitives import MalformedRequest, unsigned_varint

both = pytest.mark.parametrize("flexible", [False, True])
TEXTS = st.none() | st.text(max_size=300)


@given(TEXTS, st.booleans(), st.binary(max_size=3), st.binary(max_size=3))
def test_a_string_is_read_as_it_was_packed(text: str | None, flexible: bool, before: bytes, behind: bytes) -> None:
    packed = pack_string(text, flexible)
    view = memoryview(before + packed + behind)
    assert read_nullable_string(view, len(before), flexible) == (text, len(before) + len(packed))


@both
@pytest.mark.parametrize("length", [0, 1, 125, 126, 127, 128, 249, 16_383, 16_384, 32_767])
def test_strings_of_every_length_of_length(flexible: bool, length: int) -> None:
    text = "n" * length
    packed = pack_string(text, flexible)
    assert packed[: len(packed) - length] == (unsigned_varint(length + 1) if flexible else struct.pack(">h", length))
    view = memoryview(packed)
    assert read_string(view, 0, flexible) == (text, len(packed))
    for cut in (1, length // 2, length):
        if 0 < cut <= length:
            with pytest.raises(MalformedRequest, match="string reaches beyond the body"):
                read_string(view[: len(packed) - cut], 0, flexible)


@both
def test_null_where_a_string_must_be(flexible: bool) -> None:
    assert read_nullable_string(memoryview(pack_string(None, flexible)), 0, flexible)[0] is None
    with pytest.raises(MalformedRequest, match="null where a string must be"):
        read_string(memoryview(pack_string(None, flexible)), 0, flexible)


def test_bad_utf8_is_read_leniently() -> None:
    assert read_string(memoryview(b"\0\2\xffa"), 0, False) == ("\ufffda", 4)


@both
@pytest.mark.parametrize("count", [0, 1, 125, 126, 127, 128, 16_383, 16_384])
def test_counts(flexible: bool, count: int) -> None:
    packed = pack_count(count, flexible)
    assert packed == (unsigned_varint(count + 1) if flexible else struct.pack(">i", count))
    view = memoryview(packed + bytes(count * 3))
    assert read_count(view, 0, flexible, 3) == (count, len(packed))
    if count:
        with pytest.raises(MalformedRequest, match=f"an array of {count} elements does not fit"):
            read_count(view[:-1], 0, flexible, 3)


def test_no_array() -> None:
    for data, flexible in ((b"\xff\xff\xff\xff", False), (b"\x80\0\0\0", False), (b"\0", True)):
        with pytest.raises(MalformedRequest, match="null where an array must be"):
            read_count(memoryview(data), 0, flexible, 1)


def test_a_huge_count_is_refused_before_anything_is_made() -> None:
    for data, flexible in ((b"\x7f\xff\xff\xff", False), (b"\xff\xff\xff\xff\x07", True)):
        with pytest.raises(MalformedRequest, match="does not fit"):
            read_count(memoryview(data + bytes(100)), 0, flexible, 1)


@both
def test_topics_by_name_and_by_id(flexible: bool) -> None:
    topic_id = bytes(range(16))
    view = memoryview(b"x" + pack_topic("orders", flexible) + pack_topic(topic_id, flexible))
    name, none, at = read_topic(view, 1, flexible, False)
    assert (name, none) == ("orders", None)
    assert read_topic(view, at, flexible, True) == (None, topic_id, len(view))
    with pytest.raises(MalformedRequest, match="topic id reaches beyond the body"):
        read_topic(view[:-1], at, flexible, True)
    with pytest.raises(AssertionError, match="16 bytes"):
        pack_topic(topic_id[:-1], flexible)


@given(st.lists(st.tuples(st.integers(0, 2**20), st.binary(max_size=200)), max_size=4), st.binary(max_size=3))
def test_tags_are_skipped(tags: list[tuple[int, bytes]], behind: bytes) -> None:
    data = unsigned_varint(len(tags)) + b"".join(unsigned_varint(tag) + unsigned_varint(len(value)) + value for tag, value in tags)
    assert skip_tags(memoryview(data + behind), 0) == len(data)
    for size in range(len(data)):
        with pytest.raises((MalformedRequest, IndexError)):  # the codec makes either a refusal
            skip_tags(memoryview(data[:size]), 0)


def test_a_tag_longer_than_the_body() -> None:
    with pytest.raises(MalformedRequest, match="tagged field reaches beyond the body"):
        skip_tags(memoryview(b"\1\0\5abcd"), 0)
