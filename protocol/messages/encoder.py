"""Makes one encoding function per (message, version) from the message definition: the counterpart of `decoder`.

Neighbouring fields of fixed size are packed by one call and everything is appended to one bytearray. Null goes out only where the
definition allows it, because Java clients choke on it elsewhere; fields that the version lacks are left out; a tagged field at its default
is not sent.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from struct import Struct, pack
from typing import Any, TypeAlias
from uuid import UUID

from oncelog.protocol.messages.classes import Field
from oncelog.protocol.messages.function_lines import FORMATS, NO_UUID, FunctionLines
from oncelog.protocol.primitives import unsigned_varint

Encoder: TypeAlias = Callable[[Any, bytearray], None]


def compile_encoder(name: str, struct: Field, version: int, flexible: bool) -> Encoder:
    """`encode(message, out)`, which appends to `out`. Raises AssertionError for a null that the version does not allow."""
    writer = _Writer(version, flexible)
    writer.line(0, "def encode(message, out):")
    writer.struct(1, "message", struct)
    writer.line(1, "return")
    encode: Encoder = writer.function("encode", name)
    return encode


class _Writer(FunctionLines):
    def __init__(self, version: int, flexible: bool) -> None:
        super().__init__(version, flexible, {"unsigned_varint": unsigned_varint, "uuid_bytes": _uuid_bytes, "pack_run": _pack_run})
        self.out = "out"

    def struct(self, depth: int, source: str, struct: Field) -> None:
        """Lines that append the struct held by the local `source`."""
        for fixed, fields in groupby(struct.untagged_fields(self.version), key=lambda field: field.type_str in FORMATS):
            if fixed:
                run = list(fields)
                layout = Struct(">" + "".join(FORMATS[field.type_str] for field in run))
                values = ", ".join(f"{source}.{field.name}" for field in run)
                self.line(depth, f"{self.out} += {self.constant('pack', layout.pack)}({values})")
            else:
                for field in fields:
                    self._value(depth, f"{source}.{field.name}", field)
        if self.flexible:
            self._tags(depth, source, struct)

    def _value(self, depth: int, source: str, field: Field) -> None:
        value = self.fresh("value")
        self.line(depth, f"{value} = {source}")
        if field.is_array():
            self._array(depth, value, field)
        elif field.is_struct():
            self._nested_struct(depth, value, field)
        elif field.type_str in FORMATS:
            self.line(depth, f"{self.out} += {self.constant('pack', Struct('>' + FORMATS[field.type_str]).pack)}({value})")
        elif field.type_str == "uuid":
            self.line(depth, f"{self.out} += uuid_bytes({value})")
        else:
            self._sized(depth, value, field)

    def _or_null(self, depth: int, value: str, field: Field, null: bytes) -> int:
        """Lines for null; returns the depth at which the value itself is written."""
        if not field.nullable_for_version_q(self.version):
            self.line(depth, f"assert {value} is not None, '{field.name} is not nullable'")
            return depth
        self.line(depth, f"if {value} is None: {self.out} += {null!r}")
        self.line(depth, "else:")
        return depth + 1

    def _length(self, depth: int, value: str, code: str) -> None:
        if self.flexible:
            length = self.fresh("n")
            self.line(depth, f"{length} = len({value}) + 1")
            self.line(depth, f"if {length} < 128: {self.out}.append({length})")
            self.line(depth, f"else: {self.out} += unsigned_varint({length})")
        else:
            self.line(depth, f"{self.out} += {self.constant('pack', Struct('>' + code).pack)}(len({value}))")

    def _sized(self, depth: int, value: str, field: Field) -> None:
        text = field.type_str == "string"
        code = "h" if text else "i"
        depth = self._or_null(depth, value, field, b"\x00" if self.flexible else Struct(">" + code).pack(-1))
        if text:
            self.line(depth, f"{value} = {value}.encode()")
        self._length(depth, value, code)
        self.line(depth, f"{self.out} += {value}")

    def _array(self, depth: int, value: str, field: Field) -> None:
        depth = self._or_null(depth, value, field, b"\x00" if self.flexible else b"\xff\xff\xff\xff")
        self._length(depth, value, "i")
        element = field.array_of
        kind = field.type_str.removeprefix("[]")
        if not element.is_struct() and kind in FORMATS:
            self.line(depth, f"{self.out} += pack_run('{FORMATS[kind]}', {value})")
            return
        item = self.fresh("item")
        self.line(depth, f"for {item} in {value}:")
        if element.is_struct():
            self.struct(depth + 1, item, element)
        elif kind == "uuid":
            self.line(depth + 1, f"{self.out} += uuid_bytes({item})")
        else:
            if kind == "string":
                self.line(depth + 1, f"{item} = {item}.encode()")
            self._length(depth + 1, item, "h" if kind == "string" else "i")
            self.line(depth + 1, f"{self.out} += {item}")

    def _nested_struct(self, depth: int, value: str, field: Field) -> None:
        nullable = field.nullable_for_version_q(self.version)
        depth = self._or_null(depth, value, field, b"\xff")
        if nullable:
            self.line(depth, f"{self.out}.append(1)")
        self.struct(depth, value, field)

    def _tags(self, depth: int, source: str, struct: Field) -> None:
        tagged = self.tagged(struct)
        if not tagged:
            self.line(depth, f"{self.out}.append(0)")
            return
        outer, tags, count = self.out, self.fresh("tags"), self.fresh("count")
        self.line(depth, f"{tags} = bytearray()")
        self.line(depth, f"{count} = 0")
        for field in sorted(tagged, key=lambda field: field.tag):
            self.line(depth, f"if {source}.{field.name} != {self.constant('default', field.default)}:")
            self.out = self.fresh("content")
            self.line(depth + 1, f"{self.out} = bytearray()")
            self._value(depth + 1, f"{source}.{field.name}", field)
            self.line(depth + 1, f"{tags} += unsigned_varint({field.tag}) + unsigned_varint(len({self.out})) + {self.out}")
            self.line(depth + 1, f"{count} += 1")
        self.out = outer
        self.line(depth, f"{self.out} += unsigned_varint({count})")
        self.line(depth, f"{self.out} += {tags}")


def _uuid_bytes(value: UUID | str | None) -> bytes:
    """None is the zero UUID."""
    if value is None:
        return NO_UUID
    return value.bytes if isinstance(value, UUID) else UUID(value).bytes


def _pack_run(code: str, values: list[Any]) -> bytes:
    return pack(f">{len(values)}{code}", *values)  # the module keeps compiled formats
