"""Every recorded request and answer of Apache Kafka 4.3.0 is read, means what the recording says, and is written to the same bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.header import parse_request_header, response_header

GOLDEN = Path(__file__).parents[3] / "golden"
# H11 asks for versions of ApiVersions that do not exist (the answer has version 0); H18 has unknown tagged fields, which are skipped.
FOLDERS = ("clients/*", "share", "streams")
RECORDINGS = [path for folder in FOLDERS for path in sorted(GOLDEN.glob(f"{folder}/*.json")) if path.stem != "H11"]
ENCODED_SHORTER = {"H18"}


def entries(path: Path) -> Iterator[dict[str, Any]]:
    for entry in json.loads(path.read_text())["conversation"]:
        if entry.get("key") in set(ApiKey) and not (isinstance(entry.get("request"), dict) and "_body" in entry["request"]):
            yield entry


def body_of(kind: str, entry: dict[str, Any]) -> bytes:
    frame = bytes.fromhex(entry[f"{kind}_hex"])
    if kind == "request":
        header = parse_request_header(frame)
        assert (header.api_key, header.api_version) == (entry["key"], entry["version"])
        return frame[header.body_offset :]
    return frame[len(response_header(entry["key"], entry["version"], 0)) :]


def plain(value: Any) -> Any:
    """A decoded value in the notation of the recordings."""
    match value:
        case dict():
            return {name: plain(each) for name, each in value.items()}
        case list():
            return [plain(each) for each in value]
        case bytes() | memoryview():
            return {"_hex": bytes(value).hex()}
        case UUID():
            return str(value)
    return value


def assert_says(found: Any, recorded: Any, where: str) -> None:
    """`recorded` holds only what was set."""
    if isinstance(recorded, dict) and "_hex" not in recorded:
        for name, value in recorded.items():
            if name != "_tags":
                assert name in found, where
                assert_says(found[name], value, f"{where}.{name}")
    elif isinstance(recorded, list):
        assert len(found) == len(recorded), where
        for index, (one, other) in enumerate(zip(found, recorded, strict=True)):
            assert_says(one, other, f"{where}[{index}]")
    elif found is None and recorded == str(UUID(int=0)):
        pass  # the zero id is None
    else:
        assert found == recorded, where


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_recording(path: Path) -> None:
    for entry in entries(path):
        key, version = entry["key"], entry["version"]
        for kind in ("request", "response"):
            if not entry.get(f"{kind}_hex"):
                continue
            body = body_of(kind, entry)
            message = getattr(messages, f"decode_{kind}")(key, version, body)
            again = getattr(messages, f"encode_{kind}")(key, version, message)
            if path.stem not in ENCODED_SHORTER:
                assert again.hex() == body.hex(), f"{path.stem} entry {entry['n']} {kind}"
            if isinstance(entry.get(kind), dict):
                assert_says(plain(message.to_dict()), entry[kind], f"{path.stem} entry {entry['n']} {kind}")


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("txn/*.json")), ids=lambda path: path.stem)
def test_transaction_recording(path: Path) -> None:
    for step in json.loads(path.read_text())["steps"]:
        for kind in ("request", "response"):
            if step.get(f"{kind}_hex") and step.get("key") is not None:
                body = bytes.fromhex(step[f"{kind}_hex"])
                message = getattr(messages, f"decode_{kind}")(step["key"], step["version"], body)
                again = getattr(messages, f"encode_{kind}")(step["key"], step["version"], message)
                assert again.hex() == body.hex(), f"step {step['n']} {kind}"


def test_every_api_that_clients_use_has_a_definition() -> None:
    for workload in json.loads((GOLDEN / "client_api_use.json").read_text())["workloads"].values():
        for use in workload:
            lowest, highest = messages.valid_versions(use["key"])
            if use["key"] != ApiKey.API_VERSIONS:
                assert lowest <= use["version"] <= highest, use
