"""Frames come out the same however the bytes arrive."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oncelog.protocol.framing import FrameSplitter, FrameTooLarge, frame, split_frames

frames = st.lists(st.binary(min_size=1, max_size=50), max_size=8)


def stream_of(parts: list[bytes]) -> bytes:
    return b"".join(b"".join(frame(part)) for part in parts)


@given(frames, st.data())
def test_any_slicing(parts: list[bytes], data: st.DataObject) -> None:
    stream = stream_of(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    splitter = FrameSplitter()
    found = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += splitter.feed(stream[start:end])
    assert found == parts


@given(frames)
def test_byte_by_byte(parts: list[bytes]) -> None:
    splitter = FrameSplitter()
    assert [each for byte in stream_of(parts) for each in splitter.feed(bytes((byte,)))] == parts


def test_positions_and_what_is_missing() -> None:
    buf = b"??" + stream_of([b"abc", b"defg"]) + b"\x00\x00\x00\x09half"
    assert split_frames(buf, 2, len(buf)) == ([(6, 9), (13, 17)], 17, 5)
    assert split_frames(buf, 2, 16) == ([(6, 9)], 9, 1)
    assert split_frames(buf, 2, 11) == ([(6, 9)], 9, 2)
    assert split_frames(buf, 2, 2) == ([], 2, 4)


@pytest.mark.parametrize("length", [0, -1, -(2**31), 101, 2**31 - 1])
def test_lengths_out_of_bounds(length: int) -> None:
    with pytest.raises(FrameTooLarge):
        FrameSplitter(max_bytes=100).feed(struct.pack(">i", length))


def test_length_at_the_bound() -> None:
    assert FrameSplitter(max_bytes=100).feed(struct.pack(">i", 100) + bytes(100)) == [bytes(100)]


def test_frame_joins_parts_without_copying() -> None:
    body = memoryview(b"body")
    parts = frame(b"head", body)
    assert b"".join(parts) == b"\x00\x00\x00\x08headbody"
    assert parts[2] is body
