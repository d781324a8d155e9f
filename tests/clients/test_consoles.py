"""What web consoles ask for, by Java's admin client: the answers are those of Apache Kafka 4.3.0 (`golden/console_4.3.0.json`)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from referee import apache_kafka
from support.programs import facts

pytestmark = [
    pytest.mark.java,
    pytest.mark.slow,
    pytest.mark.skipif(not apache_kafka.available(), reason="needs Java and Kafka's jars (or Maven to fetch them)"),
]
RECORDED = Path(__file__).parents[1] / "golden" / "console_4.3.0.json"
NOBODYS = {"share groups", "streams groups"}


def test_what_consoles_ask_for(java_command: Callable[..., list[str]], bootstrap: str) -> None:
    found = facts(java_command("Console", bootstrap, "console-1"))
    recorded = json.loads(RECORDED.read_text())
    features, settings = found.pop("features"), found.pop("broker configs")
    types = {name: text.split()[0] for name, text in settings.items()}
    kafkas = recorded.pop("broker configs")
    assert {name: kind for name, kind in types.items() if kafkas.get(name, kind) != kind} == {}
    assert "FinalizedVersionRange[min_version_level:2, max_version_level:2]" in features["transaction.version"]
    refused = {what: found.pop(what) for what in NOBODYS}
    assert set(refused.values()) == {"GroupIdNotFoundException"}
    assert found == recorded
