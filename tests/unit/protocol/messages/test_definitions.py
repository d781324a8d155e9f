"""Definitions are found, ours before kafka-python's, and parsed once; shared structs, comments and empty messages included."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from oncelog.protocol import messages
from oncelog.protocol.messages import definitions, schemas
from oncelog.protocol.messages.definitions import Definition, definition

OURS = sorted(Path(next(iter(schemas.__path__))).glob("*.json"))


def test_a_definition_is_parsed_once() -> None:
    found = definition("HeartbeatRequest")
    assert definition("HeartbeatRequest") is found
    assert messages.HeartbeatRequest is found.message_class
    assert found.versions == (0, 4)
    assert [found.is_flexible(version) for version in range(5)] == [False] * 4 + [True]


def test_one_that_never_becomes_flexible() -> None:
    assert [definition("SaslHandshakeRequest").is_flexible(version) for version in (0, 1, 2, 99)] == [False] * 4


@pytest.mark.parametrize("name", ["NoSuchRequest", "../HeartbeatRequest", ""])
def test_what_is_not_there(name: str) -> None:
    with pytest.raises(AttributeError, match=f"no message definition {name!r}"):
        definition(name)


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.stem)
def test_ours_come_before_kafka_pythons(path: Path) -> None:
    lines = [line for line in path.read_text("utf-8").splitlines() if not line.lstrip().startswith("//")]
    content = json.loads("\n".join(lines))
    assert content["name"] == path.stem
    found = definition(path.stem)
    assert found.versions == definitions.kafka_fields().BaseField.parse_versions(content["validVersions"])
    assert [field["name"].replace("_", "").lower() for field in content["fields"]] == [
        name.replace("_", "") for name in found.struct.fields
    ]


def test_fields_of_shared_structs_are_those_of_each_use() -> None:
    def field(name: str, kind: str, **more: object) -> dict[str, object]:
        return {"name": name, "type": kind, "versions": "0+", **more}

    inner = field("Inner", "Pair", nullableVersions="0+", default="null")
    content = {
        "name": "Made",
        "type": "data",
        "validVersions": "0-1",
        "flexibleVersions": "none",
        "fields": [field("One", "Pair"), field("Many", "[]Pair"), field("Own", "[]Deep", fields=[inner])],
        "commonStructs": [{"name": "Pair", "versions": "0+", "fields": [field("A", "int32"), field("B", "string")]}],
    }
    made = Definition(content).message_class
    pair = made.Pair(a=1, b="x")
    assert (pair.a, pair.b) == (1, "x")
    assert made.Deep.Pair(a=2).a == 2
    assert made(one=pair, many=[pair]).many[0].b == "x"


def test_a_message_without_fields() -> None:
    made = Definition({"name": "Empty", "type": "data", "validVersions": "0", "flexibleVersions": "0+", "fields": []}).message_class
    assert made() is not None


def test_kafka_pythons_client_half_is_not_loaded() -> None:
    program = (
        "import sys; from oncelog.protocol import messages; messages.ProduceRequest; print([m for m in sys.modules if m[:5] == 'kafka'])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("[]\n", "")
