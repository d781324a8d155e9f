"""Keys are Kafka's, in number, name and flexible versions."""

from __future__ import annotations

import json
from pathlib import Path

from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey, is_flexible

GOLDEN = Path(__file__).parents[2] / "golden"


def test_flexibility_is_that_of_the_definitions() -> None:
    for key in ApiKey:
        if messages.knows(key):
            lowest, highest = messages.valid_versions(key)
            for version in range(lowest, highest + 1):
                assert is_flexible(key, version) == messages.is_flexible_definition(key, version), (key, version)


def test_names_are_kafkas() -> None:
    table = json.loads((GOLDEN / "api_versions_4.3.0.json").read_text())["4.3.0"]["v4"]["api_keys"]
    assert {entry["api_key"]: entry["name"] for entry in table} == {
        entry["api_key"]: ApiKey(entry["api_key"]).schema_name for entry in table
    }
