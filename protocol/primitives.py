"""The small arithmetic of Kafka's protocol: varints, checksums, sequence numbers, hashes, ids. Each wrap and sentinel lives here once."""

from __future__ import annotations

import base64
import binascii
import uuid
from functools import lru_cache
from struct import Struct
from typing import Final, Protocol, TypeAlias

from oncelog.protocol.crc import crc32c as _crc32c

Buffer: TypeAlias = bytes | bytearray | memoryview


class StoredBytes(Protocol):
    """Bytes of which only the number is known yet."""

    def __len__(self) -> int: ...

    def read(self, start: int, size: int) -> bytes: ...


Piece: TypeAlias = Buffer | StoredBytes

INT32_MAX: Final = 2**31 - 1

_MASK32: Final = 0xFFFFFFFF


class MalformedRequest(ValueError):
    """Bytes from a peer that are no message of the announced type. Kafka closes the connection then."""


# Varints. Unsigned ones are lengths and tags of flexible messages; zig-zag ones stand inside records.


def read_unsigned_varint(data: Buffer, pos: int) -> tuple[int, int]:
    """(value, next position) of an unsigned varint of at most 31 bits. Raises MalformedRequest."""
    value = shift = 0
    try:
        while True:
            byte = data[pos]
            pos += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
            if shift > 28:
                raise MalformedRequest("varint is longer than 5 bytes")
    except IndexError:
        raise MalformedRequest("varint reaches beyond the request") from None
    if value > INT32_MAX:
        raise MalformedRequest("varint is larger than 2^31-1")
    return value, pos


def unsigned_varint(value: int) -> bytes:
    """`value` >= 0 as an unsigned varint."""
    if value < 0x80:
        return _ONE_BYTE[value]
    if value < 0x4000:
        return bytes((value & 0x7F | 0x80, value >> 7))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


_ONE_BYTE: Final = tuple(bytes((value,)) for value in range(0x80))


def varint(value: int) -> bytes:
    """`value` as a zig-zag varint; serves Kafka's varint and varlong alike."""
    if 0 <= value < _FEW:
        return _SMALL_VARINTS[value]
    return unsigned_varint(value << 1 if value >= 0 else (-value << 1) - 1)


_FEW: Final = 0x200
_SMALL_VARINTS: Final = tuple(unsigned_varint(value << 1) for value in range(_FEW))


def read_varint(data: Buffer, pos: int, max_bytes: int = 10) -> tuple[int, int]:
    """(value, next position) of a zig-zag varint of at most `max_bytes`: 5 for Kafka's varint, 10 for its varlong.

    Raises ValueError when it is longer, IndexError when it reaches beyond `data`.
    """
    byte = data[pos]
    pos += 1
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), pos
    value = byte & 0x7F
    shift = 7
    stop = 7 * max_bytes
    while True:
        byte = data[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), pos
        shift += 7
        if shift >= stop:
            raise ValueError(f"varint is longer than {max_bytes} bytes")


# Checksums and hashes.


def crc32c(data: Buffer, value: int = 0) -> int:
    """CRC-32C (Castagnoli) of `data`, continued from `value`."""
    return _crc32c(data, value)


def java_string_hash(text: str) -> int:
    """`String.hashCode()`: over UTF-16 units, as a signed 32-bit number."""
    result = 0
    encoded = text.encode("utf-16-be", "surrogatepass")
    for (unit,) in _UTF16_UNIT.iter_unpack(encoded):
        result = (31 * result + unit) & _MASK32
    return result - (1 << 32) if result > INT32_MAX else result


_UTF16_UNIT: Final = Struct(">H")


@lru_cache(maxsize=4096)
def partition_for(key: str, partitions: int) -> int:
    """Partition of an internal topic that a group or transactional id belongs to.

    Kafka's `Utils.abs(hash) % n`, where abs(Integer.MIN_VALUE) is 0.
    """
    value = java_string_hash(key)
    return (0 if value == -(1 << 31) else abs(value)) % partitions


def murmur2(data: bytes) -> int:
    """Kafka's murmur2 (`Utils.murmur2`) as a signed 32-bit number; stock producers place keys by `(h & 0x7fffffff) % partitions`."""
    length = len(data)
    h = (0x9747B28C ^ length) & _MASK32
    whole = length & ~3
    for (k,) in _LITTLE_INT.iter_unpack(data[:whole]):
        k = (k * 0x5BD1E995) & _MASK32
        k ^= k >> 24
        k = (k * 0x5BD1E995) & _MASK32
        h = ((h * 0x5BD1E995) & _MASK32) ^ k
    rest = data[whole:]
    if rest:
        h ^= int.from_bytes(rest, "little")
        h = (h * 0x5BD1E995) & _MASK32
    h ^= h >> 13
    h = (h * 0x5BD1E995) & _MASK32
    h ^= h >> 15
    return h - (1 << 32) if h > INT32_MAX else h


_LITTLE_INT: Final = Struct("<I")


# Producer sequences run 0 … 2^31-1 and wrap to 0 (DefaultRecordBatch.incrementSequence).


def increment_sequence(sequence: int, increment: int) -> int:
    """`sequence` + `increment` with wrap: 2^31-1 is followed by 0."""
    return (sequence + increment) & INT32_MAX


def decrement_sequence(sequence: int, decrement: int) -> int:
    """`sequence` - `decrement` with wrap: 0 is preceded by 2^31-1."""
    return (sequence - decrement) & INT32_MAX


# Ids: Kafka prints a Uuid as 22 characters of url-safe base64 without padding.


def uuid_to_kafka(value: uuid.UUID) -> str:
    """The 22-character form of cluster ids, directory ids and topic ids."""
    return base64.urlsafe_b64encode(value.bytes)[:22].decode("ascii")


def uuid_from_kafka(text: str) -> uuid.UUID:
    """The inverse of `uuid_to_kafka`. Raises ValueError."""
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError(f"no base64 uuid: {text!r}") from error
    if len(raw) != 16:
        raise ValueError(f"no base64 uuid of 16 bytes: {text!r}")
    return uuid.UUID(bytes=raw)
