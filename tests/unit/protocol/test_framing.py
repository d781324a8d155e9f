"""The length in front of a frame, and its bounds."""

from __future__ import annotations

import struct

import pytest
from oncelog.protocol.framing import LENGTH_BYTES, MAX_FRAME_BYTES, FrameTooLarge, frame_length


def test_the_length_stands_in_front_and_does_not_count_itself() -> None:
    assert struct.calcsize(">i") == LENGTH_BYTES
    assert frame_length(b"??\x00\x00\x00\x04body", 2) == 4


@pytest.mark.parametrize("length", [0, -1, -(2**31), 101, 2**31 - 1])
def test_lengths_out_of_bounds(length: int) -> None:
    with pytest.raises(FrameTooLarge):
        frame_length(struct.pack(">i", length), max_bytes=100)


@pytest.mark.parametrize("length", [1, 100])
def test_lengths_at_the_bounds(length: int) -> None:
    assert frame_length(struct.pack(">i", length), max_bytes=100) == length


def test_the_bound_is_kafkas_unless_told() -> None:
    """`socket.request.max.bytes`."""
    assert frame_length(struct.pack(">i", MAX_FRAME_BYTES)) == 100 * 1024 * 1024
    with pytest.raises(FrameTooLarge):
        frame_length(struct.pack(">i", MAX_FRAME_BYTES + 1))
