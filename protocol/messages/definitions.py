"""Message definitions, parsed: from kafka-python's package, and from `schemas/` for the messages it lacks or has in an older version.

Of kafka-python's code only the parser of definitions is used, loaded from its files under a private name: importing `kafka` itself starts
its client half and takes 200 ms.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from importlib.machinery import SourceFileLoader
from types import ModuleType
from typing import Any, Final

import oncelog.protocol.messages.schemas as schemas
from oncelog.protocol.messages.classes import Field, make_class

_PRIVATE_NAME: Final = "oncelog.protocol._kafka_python_fields"


class Definition:
    """A parsed message definition with its class."""

    __slots__ = ("flexible_versions", "message_class", "struct", "versions")

    def __init__(self, content: dict[str, Any]) -> None:
        _resolve_common_structs(content.get("fields", []), {each["name"]: each["fields"] for each in content.get("commonStructs", [])})
        fields = kafka_fields()
        parse = fields.BaseField.parse_versions
        self.versions: tuple[int, int] = parse(content["validVersions"])
        self.flexible_versions: tuple[int, int] = parse(content["flexibleVersions"])
        self.struct: Field = _parse_struct(fields, content)
        self.message_class = make_class(content["name"], self.struct)

    def is_flexible(self, version: int) -> bool:
        return self.flexible_versions[0] <= version <= self.flexible_versions[1]


_definitions: dict[str, Definition] = {}


def definition(name: str) -> Definition:
    """The definition `InitProducerIdRequest`, parsed when first asked for. Raises AttributeError."""
    found = _definitions.get(name)
    if found is None:
        found = _definitions[name] = Definition(_load(name))
    return found


def _load(name: str) -> dict[str, Any]:
    """The definition file `name`: ours first, for it may be newer. Lines that are comments are cut. Raises AttributeError."""
    folder = _folder_of(kafka_fields()).rpartition("fields")[0]
    try:
        text = _read_beside(schemas, f"{_folder_of(schemas)}/{name}.json")
    except FileNotFoundError:
        try:
            text = _read_beside(kafka_fields(), f"{folder}resources/{name}.json")
        except FileNotFoundError:
            raise AttributeError(f"no message definition {name!r}") from None
    content: dict[str, Any] = json.loads("\n".join(line for line in text.splitlines() if not line.lstrip().startswith("//")))
    return content


def _folder_of(package: ModuleType) -> str:
    return next(iter(package.__path__))


def _read_beside(package: ModuleType, path: str) -> str:
    """A data file of `package`, through its loader: importlib.resources alone would cost a tenth of the start-up time."""
    assert package.__spec__ is not None
    assert isinstance(package.__spec__.loader, SourceFileLoader)
    return package.__spec__.loader.get_data(path).decode("utf-8")


def _resolve_common_structs(fields: list[dict[str, Any]], common: dict[str, list[dict[str, Any]]]) -> None:
    """Give each field of a shared struct type its fields."""
    for field in fields:
        shared = common.get(field["type"].removeprefix("[]"))
        if shared is not None and "fields" not in field:
            field["fields"] = shared
        _resolve_common_structs(field.get("fields", []), common)


def _parse_struct(fields: ModuleType, content: dict[str, Any]) -> Field:
    if content.get("fields"):
        return fields.StructField(content)
    # kafka-python's parser knows no message without fields: give it one that no version has.
    return fields.StructField({**content, "fields": [{"name": "Nothing", "type": "int8", "versions": "none"}]})


def kafka_fields() -> ModuleType:
    """kafka-python's `protocol.schemas.fields`, loaded apart from the package `kafka`."""
    loaded = sys.modules.get(_PRIVATE_NAME)
    if loaded is not None:
        return loaded
    package = importlib.util.find_spec("kafka")
    assert package is not None, "kafka-python is not installed"
    assert package.submodule_search_locations is not None
    folder = f"{package.submodule_search_locations[0]}/protocol/schemas/fields"
    spec = importlib.util.spec_from_file_location(_PRIVATE_NAME, f"{folder}/__init__.py", submodule_search_locations=[folder])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[_PRIVATE_NAME] = module
    spec.loader.exec_module(module)
    return module
