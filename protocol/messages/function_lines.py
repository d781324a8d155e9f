"""A function in the making, for one version of a message: its lines, and the names that they use. What `decoder` and `encoder` share."""

from __future__ import annotations

from typing import Any, Final

from oncelog.protocol.messages.classes import Field

FORMATS: Final = {"int8": "b", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q", "float64": "d", "bool": "?"}
NO_UUID: Final = bytes(16)


class FunctionLines:
    """`names`: globals of the function."""

    def __init__(self, version: int, flexible: bool, names: dict[str, Any]) -> None:
        self.version = version
        self.flexible = flexible
        self._names = names
        self._lines: list[str] = []
        self._count = 0

    def line(self, depth: int, text: str) -> None:
        self._lines.append("    " * depth + text)

    def fresh(self, prefix: str) -> str:
        """A local name used nowhere else."""
        self._count += 1
        return f"{prefix}{self._count}"

    def constant(self, prefix: str, value: object) -> str:
        """A global name for `value`."""
        name = self.fresh(prefix)
        self._names[name] = value
        return name

    def tagged(self, struct: Field) -> list[Field]:
        """The tagged fields that the version has."""
        return [field for field in struct.fields.values() if field.for_version_q(self.version) and field.tagged_field_q(self.version)]

    def function(self, name: str, message: str) -> Any:
        """The function `name` that the lines define; tracebacks tell of `message`."""
        exec(compile("\n".join(self._lines), f"<{name} {message} v{self.version}>", "exec"), self._names)
        return self._names[name]
