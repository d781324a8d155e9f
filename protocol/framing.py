"""Splits a byte stream into frames: int32 length, then that many bytes.

Nothing is copied here: the caller owns the buffer its socket fills and asks where the whole frames in it lie.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from oncelog.protocol.primitives import Buffer, MalformedRequest

LENGTH_BYTES: Final = 4
MAX_FRAME_BYTES: Final = 104_857_600  # default of socket.request.max.bytes

_LENGTH = Struct(">i")
_unpack_length = _LENGTH.unpack_from


class FrameTooLarge(MalformedRequest):
    """A length above the limit, or below one: Kafka closes the connection (`NetworkReceive`)."""


def frame_length(buf: Buffer, pos: int = 0, max_bytes: int = MAX_FRAME_BYTES) -> int:
    """Length of the frame whose prefix is at `pos`, prefix not counted. Raises FrameTooLarge; struct.error without 4 bytes."""
    length: int = _unpack_length(buf, pos)[0]
    if not 0 < length <= max_bytes:
        raise FrameTooLarge(f"frame of {length} bytes, the limit is {max_bytes}")
    return length


def split_frames(buf: Buffer, start: int, end: int, max_bytes: int = MAX_FRAME_BYTES) -> tuple[list[tuple[int, int]], int, int]:
    """The whole frames in buf[start:end].

    Returns (frames as (start, end) without their prefix, position after the last of them, bytes the next frame still needs).
    The last number is at least 1, and exact once the next frame's length is there.
    Raises FrameTooLarge: earlier frames of the same read are lost then, with the connection.
    """
    frames: list[tuple[int, int]] = []
    while end - start >= LENGTH_BYTES:
        first = start + LENGTH_BYTES
        last = first + frame_length(buf, start, max_bytes)
        if last > end:
            return frames, start, last - end
        frames.append((first, last))
        start = last
    return frames, start, LENGTH_BYTES - (end - start)


def frame(*parts: Buffer) -> list[Buffer]:
    """`parts` with their length in front, for a gathering write."""
    return [_LENGTH.pack(sum(map(len, parts))), *parts]


class FrameSplitter:
    """Keeps what a read left over. For clients and tests; the broker's connection splits in its own buffer."""

    __slots__ = ("_max_bytes", "_rest")

    def __init__(self, max_bytes: int = MAX_FRAME_BYTES) -> None:
        self._max_bytes = max_bytes
        self._rest = bytearray()

    def feed(self, data: Buffer) -> list[bytes]:
        """The frames completed by `data`. Raises FrameTooLarge."""
        self._rest += data
        frames, done, _needed = split_frames(self._rest, 0, len(self._rest), self._max_bytes)
        whole = [bytes(self._rest[first:last]) for first, last in frames]
        del self._rest[:done]
        return whole
