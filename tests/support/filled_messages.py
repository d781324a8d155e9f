"""Messages of every API, version and direction with something in every field."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey

VALUES = {"string": "text", "bytes": b"bytes", "records": b"records", "bool": True, "uuid": uuid.UUID(int=7), "float64": 0.5}
KNOWN = [key for key in ApiKey if messages.knows(key)]


def versions(key: ApiKey) -> range:
    lowest, highest = messages.valid_versions(key)
    return range(lowest, highest + 1)


def filled(message_class: Any) -> Any:
    """A message with something in every field: two elements in each array, a present struct, no null."""
    struct = message_class._struct
    return message_class(**{name: filled_field(message_class, field) for name, field in struct.fields.items()})


def filled_field(owner: Any, field: Any) -> Any:
    if field.is_struct_array():
        return [filled(getattr(owner, field.type_str)) for _ in range(2)]
    if field.is_struct():
        return filled(getattr(owner, field.type_str))
    kind = field.type_str.removeprefix("[]")
    value = VALUES.get(kind, 3)
    return [value, value] if field.is_array() else value


def cases() -> Iterator[Any]:
    for key in KNOWN:
        for version in versions(key):
            for kind in ("request", "response"):
                yield pytest.param(key, version, kind, id=f"{key.name}-v{version}-{kind}")


def codec(key: ApiKey, kind: str) -> tuple[Any, Any, Any]:
    message_class = getattr(messages, f"{key.schema_name}{kind.capitalize()}")
    return message_class, getattr(messages, f"encode_{kind}"), getattr(messages, f"decode_{kind}")
