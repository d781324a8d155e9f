"""Makes one decoding function per (message, version) from the message definition, and is strict where a broker must be.

kafka-python's own generated decoders are made for a client that trusts its broker: they read a short body as a shorter string,
loop over any count, copy records. Kafka itself refuses such a request, so the functions made here

* know the end of the body, and refuse a count that cannot fit into what is left;
* refuse null where the definition has none (a negative length reads as null, whatever its size);
* keep a `records` field as a view on the request;
* read bad UTF-8 leniently, skip unknown tagged fields, and leave bytes after the body alone, as Apache Kafka 4.3.0 does.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from struct import Struct, unpack_from
from typing import Any, TypeAlias
from uuid import UUID

from oncelog.protocol.messages.classes import Field
from oncelog.protocol.messages.function_lines import FORMATS, NO_UUID, FunctionLines
from oncelog.protocol.primitives import MalformedRequest, read_unsigned_varint

Decoder: TypeAlias = Callable[[memoryview, int], tuple[Any, int]]


def compile_decoder(name: str, struct: Field, version: int, flexible: bool) -> Decoder:
    """`decode(data, pos) -> (object, next position)` for one version of a message.

    Raises MalformedRequest, or struct.error, IndexError and ValueError where the body ends early: the caller maps them.
    """
    writer = _Writer(version, flexible)
    writer.line(0, "def decode(data, pos):")
    writer.line(1, "end = len(data)")
    writer.struct(1, "message", struct)
    writer.line(1, "if pos > end: raise Malformed('body ends inside a field')")
    writer.line(1, "return message, pos")
    decode: Decoder = writer.function("decode", name)
    return decode


class _Writer(FunctionLines):
    def __init__(self, version: int, flexible: bool) -> None:
        names = {
            "Malformed": MalformedRequest,
            "UUID": UUID,
            "new": object.__new__,
            "no_uuid": NO_UUID,
            "unsigned_varint": read_unsigned_varint,
            "unpack_run": _unpack_run,
        }
        super().__init__(version, flexible, names)

    def struct(self, depth: int, target: str, struct: Field) -> None:
        """Lines that make `target` from the bytes at `pos`."""
        self.line(depth, f"{target} = new({self.constant('Class', struct.data_class)})")
        for fixed, fields in groupby(struct.untagged_fields(self.version), key=lambda field: field.type_str in FORMATS):
            if fixed:
                self._fixed(depth, target, list(fields))
            else:
                for field in fields:
                    self._value(depth, f"{target}.{field.name}", field)
        if self.flexible:
            self._tags(depth, target, struct)

    def _fixed(self, depth: int, target: str, fields: list[Field]) -> None:
        """Neighbours of fixed size are unpacked by one call."""
        layout = Struct(">" + "".join(FORMATS[field.type_str] for field in fields))
        names = ", ".join(f"{target}.{field.name}" for field in fields)
        self.line(depth, f"{names}, = {self.constant('unpack', layout.unpack_from)}(data, pos)")
        self.line(depth, f"pos += {layout.size}")

    def _value(self, depth: int, target: str, field: Field, nullable: bool | None = None) -> None:
        if nullable is None:
            nullable = field.nullable_for_version_q(self.version)
        if field.is_array():
            self._array(depth, target, field, nullable)
        elif field.is_struct():
            self._nested_struct(depth, target, field, nullable)
        elif field.type_str in FORMATS:
            self._fixed_value(depth, target, field)
        elif field.type_str == "uuid":
            self.line(depth, "raw = bytes(data[pos:pos + 16])")
            self.line(depth, "pos += 16")
            self.line(depth, f"{target} = None if raw == no_uuid else UUID(bytes=raw)")
        else:
            self._sized(depth, target, field, nullable)

    def _fixed_value(self, depth: int, target: str, field: Field) -> None:
        layout = Struct(">" + FORMATS[field.type_str])
        self.line(depth, f"{target}, = {self.constant('unpack', layout.unpack_from)}(data, pos)")
        self.line(depth, f"pos += {layout.size}")

    def _length(self, depth: int, wide: bool) -> str:
        """Lines that read a length or count, negative for null."""
        length = self.fresh("n")
        if self.flexible:
            self.line(depth, f"{length} = data[pos] - 1")
            self.line(depth, f"if {length} < 127: pos += 1")
            self.line(depth, "else:")
            self.line(depth + 1, f"{length}, pos = unsigned_varint(data, pos)")
            self.line(depth + 1, f"{length} -= 1")
        else:
            layout = Struct(">i" if wide else ">h")
            self.line(depth, f"{length}, = {self.constant('unpack', layout.unpack_from)}(data, pos)")
            self.line(depth, f"pos += {layout.size}")
        return length

    def _null(self, depth: int, length: str, target: str, field: Field, nullable: bool) -> None:
        self.line(depth, f"if {length} < 0:")
        self.line(depth + 1, f"{target} = None" if nullable else f"raise Malformed('{field.name} is null')")

    def _sized(self, depth: int, target: str, field: Field, nullable: bool) -> None:
        text = field.type_str == "string"
        length = self._length(depth, wide=not text)
        self._null(depth, length, target, field, nullable)
        self.line(depth, "else:")
        stop = self.fresh("stop")
        self.line(depth + 1, f"{stop} = pos + {length}")
        piece = f"data[pos:{stop}]"
        match field.type_str:
            case "string":
                piece = f"str({piece}, 'utf-8', 'replace')"
            case "bytes":
                piece = f"bytes({piece})"
            case "records":
                pass
            case other:
                raise NotImplementedError(f"field type {other}")
        self.line(depth + 1, f"{target} = {piece}")
        self.line(depth + 1, f"pos = {stop}")

    def _array(self, depth: int, target: str, field: Field, nullable: bool) -> None:
        count = self._length(depth, wide=True)
        self._null(depth, count, target, field, nullable)
        element = field.array_of
        self.line(depth, f"elif {count} * {self._least_size(element, in_array=True)} > end - pos:")
        self.line(depth + 1, f"raise Malformed('{field.name} has more elements than bytes')")
        self.line(depth, "else:")
        depth += 1
        if not element.is_struct() and element.type_str.removeprefix("[]") in FORMATS:
            code = FORMATS[element.type_str.removeprefix("[]")]
            self.line(depth, f"{target} = unpack_run('{code}', {count}, data, pos)")
            self.line(depth, f"pos += {count} * {Struct('>' + code).size}")
            return
        items, item = self.fresh("items"), self.fresh("item")
        self.line(depth, f"{target} = {items} = []")
        self.line(depth, f"for _ in range({count}):")
        if element.is_struct():
            self.struct(depth + 1, item, element)
        else:
            self._value(depth + 1, item, element, nullable=False)
        self.line(depth + 1, f"{items}.append({item})")

    def _nested_struct(self, depth: int, target: str, field: Field, nullable: bool) -> None:
        """Only a nullable struct has a byte in front: negative for null (KIP-893)."""
        item = self.fresh("item")
        if nullable:
            self.line(depth, "pos += 1")
            self.line(depth, "if data[pos - 1] > 127:")
            self.line(depth + 1, f"{target} = None")
            self.line(depth, "else:")
            depth += 1
        self.struct(depth, item, field)
        self.line(depth, f"{target} = {item}")

    def _tags(self, depth: int, target: str, struct: Field) -> None:
        self.line(depth, "if data[pos] == 0: pos += 1")
        self.line(depth, "else:")
        depth += 1
        count, tag, size, stop = (self.fresh(name) for name in ("tags", "tag", "size", "stop"))
        self.line(depth, f"{count}, pos = unsigned_varint(data, pos)")
        self.line(depth, f"for _ in range({count}):")
        depth += 1
        self.line(depth, f"{tag}, pos = unsigned_varint(data, pos)")
        self.line(depth, f"{size}, pos = unsigned_varint(data, pos)")
        self.line(depth, f"{stop} = pos + {size}")
        self.line(depth, f"if {stop} > end: raise Malformed('tagged field reaches beyond the body')")
        for field in self.tagged(struct):
            self.line(depth, f"if {tag} == {field.tag}:")
            self._value(depth + 1, f"{target}.{field.name}", field)
            self.line(depth + 1, f"if pos != {stop}: raise Malformed('tagged field {field.name} has another size')")
        self.line(depth, f"pos = {stop}")

    def _least_size(self, field: Field, in_array: bool = False) -> int:
        """The fewest bytes a value of `field` takes."""
        if field.is_array():
            return 1 if self.flexible else 4
        if field.is_struct():
            if not in_array and field.nullable_for_version_q(self.version):
                return 1
            fields = sum(self._least_size(each) for each in field.untagged_fields(self.version))
            return max(1, fields + (1 if self.flexible else 0))
        kind = field.type_str.removeprefix("[]")
        if kind in FORMATS:
            return Struct(">" + FORMATS[kind]).size
        if kind == "uuid":
            return 16
        return 1 if self.flexible else (2 if kind == "string" else 4)


def _unpack_run(code: str, count: int, data: memoryview, pos: int) -> list[Any]:
    return list(unpack_from(f">{count}{code}", data, pos))  # the module keeps compiled formats
