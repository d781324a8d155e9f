"""What the hand-written bodies share: lengths, strings and tag sections."""

from __future__ import annotations

from struct import Struct
from typing import Final

from oncelog.protocol.primitives import MalformedRequest, read_unsigned_varint, unsigned_varint

INT16: Final = Struct(">h")
INT32: Final = Struct(">i")

_unpack_int16 = INT16.unpack_from
_unpack_int32 = INT32.unpack_from


def read_count(view: memoryview, pos: int, flexible: bool, least_bytes: int) -> tuple[int, int]:
    """(count of an array that must not be null, next position); `least_bytes` is what one element takes at least."""
    if flexible:
        count = view[pos] - 1
        if count < 127:
            pos += 1
        else:
            count, pos = read_unsigned_varint(view, pos)
            count -= 1
    else:
        count = _unpack_int32(view, pos)[0]
        pos += 4
    if count < 0:
        raise MalformedRequest("null where an array must be")
    if count * least_bytes > len(view) - pos:
        raise MalformedRequest(f"an array of {count} elements does not fit")
    return count, pos


def read_nullable_string(view: memoryview, pos: int, flexible: bool) -> tuple[str | None, int]:
    """(text, next position); bad UTF-8 is read leniently."""
    if flexible:
        length = view[pos] - 1
        if length < 127:
            pos += 1
        else:
            length, pos = read_unsigned_varint(view, pos)
            length -= 1
    else:
        length = _unpack_int16(view, pos)[0]
        pos += 2
    if length < 0:
        return None, pos
    stop = pos + length
    if stop > len(view):
        raise MalformedRequest("string reaches beyond the body")
    return str(view[pos:stop], "utf-8", "replace"), stop


def read_string(view: memoryview, pos: int, flexible: bool) -> tuple[str, int]:
    """A string that must not be null."""
    text, pos = read_nullable_string(view, pos, flexible)
    if text is None:
        raise MalformedRequest("null where a string must be")
    return text, pos


def read_topic(view: memoryview, pos: int, flexible: bool, by_id: bool) -> tuple[str | None, bytes | None, int]:
    """(name, None, next) or (None, topic id, next)."""
    if not by_id:
        name, pos = read_string(view, pos, flexible)
        return name, None, pos
    stop = pos + 16
    if stop > len(view):
        raise MalformedRequest("topic id reaches beyond the body")
    return None, bytes(view[pos:stop]), stop


def skip_tags(view: memoryview, pos: int) -> int:
    """Position after a tag section of which we know no tag."""
    if view[pos] == 0:
        return pos + 1
    count, pos = read_unsigned_varint(view, pos)
    for _ in range(count):
        _tag, pos = read_unsigned_varint(view, pos)
        size, pos = read_unsigned_varint(view, pos)
        pos += size
        if pos > len(view):
            raise MalformedRequest("tagged field reaches beyond the body")
    return pos


def pack_topic(topic: str | bytes, flexible: bool) -> bytes:
    """A topic's name, or its 16-byte id as it is."""
    if isinstance(topic, str):
        return pack_string(topic, flexible)
    assert len(topic) == 16, "a topic id has 16 bytes"
    return bytes(topic)


def pack_string(text: str | None, flexible: bool) -> bytes:
    """A nullable string."""
    if text is None:
        return b"\x00" if flexible else b"\xff\xff"
    encoded = text.encode("utf-8")
    return (unsigned_varint(len(encoded) + 1) if flexible else INT16.pack(len(encoded))) + encoded


def pack_count(count: int, flexible: bool) -> bytes:
    """The length of an array."""
    return unsigned_varint(count + 1) if flexible else INT32.pack(count)
