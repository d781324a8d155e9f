"""Requests about topics against recordings of Apache Kafka 4.3.0, over logs that hold only numbers."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pytest
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from support.topic_requests import Broker

pytestmark = pytest.mark.unit


CASES = Path(__file__).parents[3] / "golden" / "clients" / "cases"
OURS = {2, 19, 20, 21, 23, 37, 60, 75}
REPLAYED = [
    "A01",
    "E01",
    "M17",
    "T01",
    "T02",
    "T03",
    "T05",
    "T06",
    "T07",
    "T09",
    "T10",
    "T11",
    "T13",
    "T14",
    "T20",
    "T22",
    "T30",
    "T31",
    "T41",
]
# what the probe had made before each case: topic -> partitions
BEFORE = {
    "E01": {"e01": 1, "e01-empty": 1},
    "M17": {"m17-a": 4, "m17-b": 1, "__consumer_offsets": 50},
    "T03": {"t03": 1},
    "T07": {"t07.a": 1},
    "T20": {f"t20-{version}": 1 for version in range(4)},
    "T22": {"t22": 1},
    "T30": {f"t30-{version}": 1 for version in range(1, 6)},
    "T31": {"t31-a": 1, "t31-b": 1, "t31-d": 1},
    "T41": {"t41": 1, "t41b": 1},
}


NO_ID = uuid.UUID(int=0)


def body_of(entry: dict[str, Any]) -> bytes:
    """The recorded request without its header."""
    frame = bytes.fromhex(entry["request_hex"])
    start = 10 + max(int.from_bytes(frame[8:10], "big", signed=True), 0)
    return frame[start + int(messages.is_flexible(entry["key"], entry["version"])) :]


def with_our_ids(value: Any, ids: dict[uuid.UUID, uuid.UUID]) -> Any:
    """The recording's topic ids replaced by those of our topics."""
    if isinstance(value, bytes):
        for theirs, ours in ids.items():
            value = value.replace(theirs.bytes, ours.bytes)
    return value


def compare(seen: Any, expected: Any, path: str) -> None:
    """Every recorded field, except ids, texts of our own and addresses."""
    if isinstance(expected, dict):
        for name, value in expected.items():
            if name not in ("topic_id", "port", "cluster_id"):
                compare(getattr(seen, name), value, f"{path}.{name}")
    elif isinstance(expected, list):
        assert len(seen) == len(expected), path
        for index, (one, other) in enumerate(zip(ordered(seen), ordered(expected), strict=True)):
            compare(one, other, f"{path}[{index}]")
    else:
        assert seen == expected, path


def ordered(items: list[Any]) -> list[Any]:
    """Kafka's order of deleted topics and listed partitions varies from run to run."""

    def key(item: Any) -> Any:
        values = [
            item.get(n) if isinstance(item, dict) else getattr(item, n, None) for n in ("name", "topic", "partition_index", "error_code")
        ]
        return json.dumps([value if value is None else str(value) for value in values])

    return sorted(items, key=key) if items and not isinstance(items[0], int) else items


@pytest.mark.parametrize("case", REPLAYED)
def test_recorded_conversation(case: str) -> None:
    recording = json.loads((CASES / f"{case}.json").read_text())
    broker = Broker(BEFORE.get(case))
    ids = {
        uuid.UUID(topic["topic_id"]): known.topic_id
        for entry in recording["conversation"]
        for topic in (entry["response"] or {}).get("responses", [])
        if "topic_id" in topic and topic["topic_id"] != str(NO_ID) and (known := broker.logs.get(topic["name"])) is not None
    }
    for entry in recording["conversation"]:
        if entry["key"] in OURS and not (case == "M17" and entry["request"]["topics"] == []):  # lists whatever else that broker had
            answer = broker.send(ApiKey(entry["key"]), entry["version"], with_our_ids(body_of(entry), ids))
            compare(answer, entry["response"], f"{case} n={entry['n']} v{entry['version']}")
