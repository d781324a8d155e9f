"""Reads and writes the fields of internal records, in both of Kafka's encodings.

Old (not flexible): string length int16, array and bytes length int32, -1 for null. Flexible (KIP-482): unsigned varint of length + 1,
0 for null, and tagged fields after each struct.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from struct import Struct, error, pack, unpack_from
from typing import Any, TypeVar

from oncelog.protocol.primitives import Buffer, MalformedRequest, read_unsigned_varint, unsigned_varint

T = TypeVar("T")

_INT8 = Struct(">b")
_INT16 = Struct(">h")
_UINT16 = Struct(">H")
_INT32 = Struct(">i")
_INT64 = Struct(">q")


class CorruptRecord(ValueError):
    """Bytes that are no record of the announced type."""


class FieldReader:
    """Takes fields off the front of `data`. Raises CorruptRecord."""

    __slots__ = ("_data", "_flexible", "_pos")

    def __init__(self, data: Buffer, pos: int = 0, flexible: bool = False) -> None:
        self._data = data
        self._pos = pos
        self._flexible = flexible

    def _fixed(self, layout: Struct) -> int:
        try:
            (value,) = layout.unpack_from(self._data, self._pos)
        except error:
            raise CorruptRecord("record ends inside a field") from None
        self._pos += layout.size
        return int(value)

    def fixed(self, layout: Struct) -> tuple[Any, ...]:
        """Fields of fixed size that follow each other, taken at once."""
        try:
            values = layout.unpack_from(self._data, self._pos)
        except error:
            raise CorruptRecord("record ends inside a field") from None
        self._pos += layout.size
        return values

    def int8(self) -> int:
        return self._fixed(_INT8)

    def int16(self) -> int:
        return self._fixed(_INT16)

    def uint16(self) -> int:
        return self._fixed(_UINT16)

    def int32(self) -> int:
        return self._fixed(_INT32)

    def int64(self) -> int:
        return self._fixed(_INT64)

    def _take(self, length: int) -> bytes:
        end = self._pos + length
        if end > len(self._data):
            raise CorruptRecord("record ends inside a field")
        piece = bytes(self._data[self._pos : end])
        self._pos = end
        return piece

    def uuid(self) -> uuid.UUID:
        return uuid.UUID(bytes=self._take(16))

    def _varint(self) -> int:
        pos = self._pos
        if pos < len(self._data) and (byte := self._data[pos]) < 0x80:  # nearly all of them
            self._pos = pos + 1
            return byte
        try:
            value, self._pos = read_unsigned_varint(self._data, self._pos)
        except MalformedRequest as problem:
            raise CorruptRecord(str(problem)) from None
        return value

    def nullable_string(self) -> str | None:
        length = self._varint() - 1 if self._flexible else self.int16()
        return None if length < 0 else self._take(length).decode("utf-8", "replace")

    def string(self) -> str:
        value = self.nullable_string()
        if value is None:
            raise CorruptRecord("null where a string must be")
        return value

    def blob(self) -> bytes:
        length = self._varint() - 1 if self._flexible else self.int32()
        if length < 0:
            raise CorruptRecord("null where bytes must be")
        return self._take(length)

    def nullable_array(self, element: Callable[[], T]) -> list[T] | None:
        count = self._varint() - 1 if self._flexible else self.int32()
        if count < 0:
            return None
        if count > len(self._data) - self._pos:
            raise CorruptRecord(f"an array of {count} elements does not fit")
        return [element() for _ in range(count)]

    def array(self, element: Callable[[], T]) -> list[T]:
        value = self.nullable_array(element)
        if value is None:
            raise CorruptRecord("null where an array must be")
        return value

    def int32_array(self) -> list[int]:
        count = self._varint() - 1 if self._flexible else self.int32()
        if count < 0:
            raise CorruptRecord("null where an array must be")
        if 4 * count > len(self._data) - self._pos:
            raise CorruptRecord(f"an array of {count} elements does not fit")
        begin = self._pos
        self._pos += 4 * count
        return list(unpack_from(f">{count}i", self._data, begin))

    def tags(self) -> Mapping[int, FieldReader]:
        """The tagged fields that end a struct, each as a reader of its value."""
        return {tag: FieldReader(value, flexible=True) for tag, value in self.raw_tags().items()}

    def int_tags(self) -> Mapping[int, int]:
        """The tagged fields that end a struct whose tagged fields are all integers."""
        return {tag: int.from_bytes(value, "big", signed=True) for tag, value in self.raw_tags().items()}

    def raw_tags(self) -> dict[int, bytes]:
        found: dict[int, bytes] = {}
        for _ in range(self._varint() if self._flexible else 0):
            tag = self._varint()
            found[tag] = self._take(self._varint())
        return found


class FieldWriter:
    """Collects fields into bytes."""

    __slots__ = ("_flexible", "_out")

    def __init__(self, flexible: bool = False) -> None:
        self._out = bytearray()
        self._flexible = flexible

    def result(self) -> bytes:
        return bytes(self._out)

    def fixed(self, layout: Struct, *values: int) -> None:
        """Fields of fixed size that follow each other, written at once."""
        self._out += layout.pack(*values)

    def int8(self, value: int) -> None:
        self._out += _INT8.pack(value)

    def int16(self, value: int) -> None:
        self._out += _INT16.pack(value)

    def uint16(self, value: int) -> None:
        self._out += _UINT16.pack(value)

    def int32(self, value: int) -> None:
        self._out += _INT32.pack(value)

    def int64(self, value: int) -> None:
        self._out += _INT64.pack(value)

    def uuid(self, value: uuid.UUID) -> None:
        self._out += value.bytes

    def string(self, value: str | None) -> None:
        if self._flexible:
            self.blob(None if value is None else value.encode("utf-8"))
        elif value is None:
            self.int16(-1)
        else:
            encoded = value.encode("utf-8")
            self.int16(len(encoded))
            self._out += encoded

    def blob(self, value: bytes | None) -> None:
        self._count(None if value is None else len(value))
        self._out += value or b""

    def _count(self, count: int | None) -> None:
        if self._flexible:
            self._out += unsigned_varint(0 if count is None else count + 1)
        else:
            self.int32(-1 if count is None else count)

    def array(self, values: Iterable[T] | None, element: Callable[[T], None]) -> None:
        if values is None:
            self._count(None)
            return
        values = list(values)
        self._count(len(values))
        for value in values:
            element(value)

    def int32_array(self, values: Sequence[int]) -> None:
        self._count(len(values))
        self._out += pack(f">{len(values)}i", *values)

    def tags(self, fields: Mapping[int, bytes] | None = None) -> None:
        """End a struct. `fields`: tag -> encoded value, those at their default left out."""
        if not self._flexible:
            return
        if not fields:
            self._out.append(0)
            return
        self._out += unsigned_varint(len(fields))
        for tag, value in sorted(fields.items()):
            self._out += unsigned_varint(tag) + unsigned_varint(len(value)) + value


def int32_bytes(value: int) -> bytes:
    """`value` as the content of a tagged field."""
    return _INT32.pack(value)


def int64_bytes(value: int) -> bytes:
    """`value` as the content of a tagged field."""
    return _INT64.pack(value)


def record_key(version: int, *texts: str) -> bytes:
    """The key of a record about a group: its type, then names; never flexible."""
    out = FieldWriter()
    out.int16(version)
    for text in texts:
        out.string(text)
    return out.result()


def record_value() -> FieldWriter:
    """The begin of a value of version 0, flexible."""
    out = FieldWriter(flexible=True)
    out.int16(0)
    return out


def record_fields(name: str, data: Buffer) -> FieldReader:
    """The fields of such a value. Raises CorruptRecord for another version."""
    version = FieldReader(data).int16()
    if version != 0:
        raise CorruptRecord(f"{name} of version {version}; only version 0 is known")
    return FieldReader(data, 2, flexible=True)


def known_version(name: str, version: int, highest: int) -> None:
    if not 0 <= version <= highest:
        raise CorruptRecord(f"{name} of version {version}; versions 0 to {highest} are known")
