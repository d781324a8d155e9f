"""`protocol/messages/__init__.pyi` from the message definitions.

Message classes are made when first asked for, so a type checker cannot see them; the stub tells it their fields, and what a key
decodes to and what answers a request. A field is `| None` when it may be null in some version, and where it is null when it is not given.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.messages.definitions import definition

DATA = ("ConsumerProtocolAssignment", "ConsumerProtocolSubscription")
_PLAIN = {"string": "str", "bytes": "bytes", "records": "Buffer", "uuid": "UUID", "bool": "bool", "float64": "float"}
_HEAD = """\
# Generated from the message definitions by `python -m tools.docs`.
from typing import Any, Generic, Literal, TypeVar, overload
from uuid import UUID

from oncelog.protocol.api_keys import ApiKey, is_flexible as is_flexible
from oncelog.protocol.messages.classes import MessageBase as MessageBase
from oncelog.protocol.messages.codec import (
    encode_data as encode_data,
    encode_request as encode_request,
    encode_response as encode_response,
    is_flexible_definition as is_flexible_definition,
    knows as knows,
    valid_versions as valid_versions,
)
from oncelog.protocol.primitives import Buffer, MalformedRequest as MalformedRequest

Answer = TypeVar("Answer", covariant=True)

class Request(MessageBase, Generic[Answer]):
    \"\"\"What is answered with an `Answer`: known to type checkers alone.\"\"\"
"""


def render() -> str:
    """The whole stub."""
    keys = [key for key in ApiKey if messages.knows(key)]
    lines = [_HEAD]
    for kind in ("Request", "Response"):
        for key in keys:
            lines.append("@overload")
            literal = f"Literal[ApiKey.{key.name}]"
            lines.append(f"def decode_{kind.lower()}(api_key: {literal}, api_version: int, body: Buffer) -> {key.schema_name}{kind}: ...")
        lines.append("@overload")
        lines.append(f"def decode_{kind.lower()}(api_key: int, api_version: int, body: Buffer) -> Any: ...")
    for name in DATA:
        lines += ["@overload", f'def decode_data(name: Literal["{name}"], data: Buffer) -> {name}: ...']
    lines.append("")
    for name in (*(f"{key.schema_name}{kind}" for key in keys for kind in ("Request", "Response")), *DATA):
        lines += _Renderer(definition(name).versions).message(definition(name).message_class, name)
    return "\n".join(lines) + "\n"


class _Renderer:
    def __init__(self, versions: tuple[int, int]) -> None:
        self._versions = range(versions[0], versions[1] + 1)

    def message(self, message: Any, path: str, depth: int = 0) -> Iterator[str]:
        """The lines of a class, those of its structs inside it."""
        pad, inside = "    " * depth, "    " * (depth + 1)
        base = f"Request[{path.removesuffix('Request')}Response]" if depth == 0 and path.endswith("Request") else "MessageBase"
        yield f"{pad}class {path.rpartition('.')[2]}({base}):"
        struct = message._struct
        for name in dict.fromkeys(_element(field) for field in struct.fields.values() if field.is_struct() or field.is_struct_array()):
            yield from self.message(getattr(message, name), f"{path}.{name}", depth + 1)
        fields = {
            field.name: self._type(field, path, message._defaults[field.name])
            for field in struct.fields.values()
            if field.name != "nothing"
        }
        for name, kind in fields.items():
            yield f"{inside}{name}: {kind}"
        yield f"{inside}def __init__({', '.join(['self', *(f'{name}: {kind} = ...' for name, kind in fields.items())])}) -> None: ..."

    def _type(self, field: Any, path: str, default: object) -> str:
        name = _element(field)
        kind = f"{path}.{name}" if field.is_struct() or field.is_struct_array() else _PLAIN.get(name, "int")
        if name == "uuid":
            kind = "UUID | None"  # the zero one
        if field.is_array():
            kind = f"list[{kind}]"
        may_be_null = default is None or any(field.nullable_for_version_q(version) for version in self._versions)
        return f"{kind} | None" if may_be_null and not kind.endswith("| None") else kind


def _element(field: Any) -> str:
    """The type's name, of an array that of its elements."""
    name: str = (field.array_of if field.is_array() else field).type_str
    return name.removeprefix("[]")
