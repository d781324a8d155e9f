"""Frames of a byte stream: int32 length, then that many bytes. `broker/net/connection.py` finds them in the buffer a socket fills."""

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
