"""The administrative handlers against recordings of Apache Kafka 4.3.0."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from support.administered import CASES, TOPICS, Harness

pytestmark = pytest.mark.unit


OURS = {29, 30, 31, 32, 33, 34, 35, 38, 39, 40, 41, 43, 44, 45, 46, 48, 49, 50, 51, 55, 57, 64, 71, 72, 74, 80, 81}
REPLAYED = ["A02", "A05", "A06", "A07", "A09", "A10", "A11", "A13", "A14", "D01", "D03", "D05", "D07", "D08", "H23", "V05"]
# texts are not meant to be matched, the rest of these differs by design
VARIES = {"error_message", "log_dir", "total_bytes", "usable_bytes", "documentation"}


@pytest.mark.parametrize("case", REPLAYED)
def test_recorded_conversation(broker: Harness, case: str) -> None:
    for entry in json.loads((CASES / f"{case}.json").read_text())["conversation"]:
        key = entry["key"]
        if key not in OURS | {17, 36} or (case == "D08" and entry["request"].get("resource_types") == []):
            continue
        actual = broker.send_body(ApiKey(key), entry["version"], bytes.fromhex(body_hex(entry)))
        expected = normal(entry["response"], entry["vary"])
        if entry["request"].get("topic_partitions", 0) is None:
            expected["replica_election_results"] = [{"topic": name, "partition_result": []} for name in sorted(TOPICS)]
        seen = normal(actual.to_dict(), entry["vary"])
        for name in set(seen) - set(expected):
            del seen[name]  # a field the version does not have
        assert trimmed(seen, expected) == expected, f"{case} n={entry['n']} {entry['api']} v{entry['version']}"


def body_hex(entry: dict[str, Any]) -> str:
    """The body of the recorded request: header v1 or v2 cut off."""
    frame = bytes.fromhex(entry["request_hex"])
    size = int.from_bytes(frame[8:10], "big", signed=True)
    start = 10 + max(size, 0)
    return frame[start + (1 if messages.is_flexible(entry["key"], entry["version"]) else 0) :].hex()


def normal(value: Any, vary: list[str], path: str = "response") -> Any:
    """Comparable: lists of named things sorted, what varies blanked."""
    if isinstance(value, dict):
        if set(value) == {"_hex"}:
            return bytes.fromhex(value["_hex"])
        return {k: None if k in VARIES or f"{path}.{k}" in vary else normal(v, vary, f"{path}.{k}") for k, v in value.items()}
    if isinstance(value, list):
        return sorted((normal(item, vary, f"{path}[*]") for item in value), key=_order)
    return "00000000-0000-0000-0000-000000000000" if value == uuid.UUID(int=0) else value


def _order(value: Any) -> Any:
    if isinstance(value, dict):
        return json.dumps([value.get(name) for name in ("name", "topic", "topic_name", "resource_name", "partition_index")])
    return json.dumps(value, default=str)


def trimmed(seen: Any, expected: Any) -> Any:
    """`seen` without the fields that the recorded version lacks."""
    if isinstance(seen, dict) and isinstance(expected, dict):
        return {name: trimmed(value, expected[name]) for name, value in seen.items() if name in expected}
    if isinstance(seen, list) and isinstance(expected, list) and len(seen) == len(expected):
        return [trimmed(a, b) for a, b in zip(seen, expected, strict=True)]
    return seen
