"""The administrative handlers against recordings of Apache Kafka 4.3.0, and what the recordings do not hold."""

from __future__ import annotations

import asyncio
import importlib
import json
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from oncelog.broker.auth.sasl import ANONYMOUS
from oncelog.broker.auth.scram import ScramCredentials
from oncelog.broker.client_quotas import ClientQuotas
from oncelog.broker.context import RequestContext
from oncelog.broker.dynamic_config import DynamicConfig
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.names import TopicPartition

pytestmark = pytest.mark.unit
CASES = Path(__file__).parents[2] / "golden" / "clients" / "cases"
# what the probe had made before each case: topic -> partitions
TOPICS = {"a02": 2, "a09": 1, "a10": 1, "a14": 1, "d01": 1, "d05": 1, "d07": 1}
OWN_CONFIGS = {"d01": {"retention.ms": "1000"}, "d07": {"retention.ms": "5000", "segment.ms": "7000"}}
SIZES = {TopicPartition("a02", 0): 170}


class MemoryStore:
    """A metadata store without a disk."""

    def __init__(self) -> None:
        self.sections: dict[str, dict[str, Any]] = {}

    def section(self, name: str) -> dict[str, Any]:
        return dict(self.sections.get(name, {}))

    def put(self, section: str, key: str, value: Any) -> None:
        self.sections.setdefault(section, {})[key] = value
        if value is None:
            del self.sections[section][key]


@dataclass
class Topic:
    name: str
    partitions: int
    configs: dict[str, str] = field(default_factory=dict)


class FakeLogs:
    """Topics with logs of known sizes."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.by_name = {name: Topic(name, count, dict(OWN_CONFIGS.get(name, {}))) for name, count in TOPICS.items()}
        self.topics = SimpleNamespace(get=self.by_name.get, all=lambda: list(self.by_name.values()))

    def log(self, partition: TopicPartition) -> Any:
        topic = self.by_name.get(partition.topic)
        if topic is None or not 0 <= partition.partition < topic.partitions:
            return None
        return SimpleNamespace(topic_partition=partition, size_bytes=lambda: SIZES.get(partition, 0))

    def logs(self) -> list[Any]:
        return [self.log(TopicPartition(topic.name, number)) for topic in self.by_name.values() for number in range(topic.partitions)]

    def alter_topic_configs(self, name: str, configs: dict[str, str]) -> None:
        self.by_name[name].configs = configs


@dataclass
class FakeConnection:
    principal: str = ANONYMOUS
    listener_name: str = "PLAINTEXT"
    client_host: str = "127.0.0.1"
    local_address: tuple[str, int] = ("127.0.0.1", 9092)
    sasl: Any = None
    closing: bool = False

    def close_after_response(self) -> None:
        self.closing = True


class Harness:
    """Calls handlers the way dispatch does: encoded, decoded, handled, encoded, decoded."""

    def __init__(self, data_dir: Path, *, settings: dict[str, str] | None = None) -> None:
        from oncelog.broker.auth.config import AuthConfig
        from oncelog.broker.config import BrokerConfig
        from oncelog.coordinator.group_config import GroupConfig
        from oncelog.storage.config import LogConfig

        self.store = MemoryStore()
        self.logs = FakeLogs(data_dir)
        self.connection = FakeConnection()
        clock = SimpleNamespace(monotonic_ms=lambda: 1000.0, time_ms=lambda: 1_700_000_000_000)
        random = SimpleNamespace(uuid=lambda: uuid.UUID(int=7), below=lambda bound: 0)
        self.broker = SimpleNamespace(
            env=SimpleNamespace(clock=clock, random=random),
            logs=self.logs,
            store=self.store,
            node_id=1,
            cluster_id="cluster",
            authorizer=None,
            dynamic_configs=DynamicConfig(self.store, self.logs, settings or {}, (BrokerConfig, LogConfig, GroupConfig, AuthConfig), 1),
            client_quotas=ClientQuotas(self.store),
            scram_credentials=ScramCredentials(self.store),
            endpoint_for=lambda connection: connection.local_address,
        )

    def send(self, key: ApiKey, version: int, request: Any) -> Any:
        return self.send_body(key, version, messages.encode_request(key, version, request))

    def send_body(self, key: ApiKey, version: int, body: bytes | bytearray | memoryview) -> Any:
        context = RequestContext(self.broker, self.connection, version, "test", 1_700_000_000_000)  # type: ignore[arg-type]
        answer = handler(key)(messages.decode_request(key, version, body), context)
        if isinstance(answer, asyncio.Future):
            answer = answer.get_loop().run_until_complete(answer)
        return messages.decode_response(key, version, messages.encode_response(key, version, answer))


def handler(key: ApiKey) -> Any:
    package = importlib.import_module("oncelog.broker.handlers")
    (path,) = Path(package.__path__[0]).glob(f"api_{key:02d}_*.py")
    return importlib.import_module(f"oncelog.broker.handlers.{path.stem}").handle


@pytest.fixture
def broker(tmp_path: Path) -> Harness:
    return Harness(tmp_path)


OURS = {29, 30, 31, 32, 33, 34, 35, 38, 39, 40, 41, 43, 44, 45, 46, 48, 49, 50, 51, 55, 64, 71, 72, 74}
REPLAYED = ["A02", "A05", "A06", "A07", "A09", "A10", "A13", "A14", "D01", "D03", "D05", "D07", "D08", "H23", "V05"]
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
