"""A broker of dictionaries whose administrative handlers are called the way dispatch does."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from oncelog.broker.answers import Ended
from oncelog.broker.auth.sasl import ANONYMOUS
from oncelog.broker.auth.scram import ScramCredentials
from oncelog.broker.context import RequestContext
from oncelog.broker.net.turns import at_once
from oncelog.broker.settings.client_quotas import ClientQuotas
from oncelog.broker.settings.dynamic import DynamicConfig
from oncelog.coordinator.deferred import Deferred
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.names import TopicPartition

from support.handlers import handler
from support.memory_store import MemoryStore

CASES = Path(__file__).parents[1] / "golden" / "clients" / "cases"
# what the probe had made before each case: topic -> partitions
TOPICS = {"a02": 2, "a09": 1, "a10": 1, "a14": 1, "d01": 1, "d05": 1, "d07": 1}
OWN_CONFIGS = {"d01": {"retention.ms": "1000"}, "d07": {"retention.ms": "5000", "segment.ms": "7000"}}
SIZES = {TopicPartition("a02", 0): 170}


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
        self.get = self.by_name.get
        self.topics = self

    def all(self) -> list[Topic]:
        return list(self.by_name.values())

    def has_partition(self, partition: TopicPartition) -> bool:
        topic = self.by_name.get(partition.topic)
        return topic is not None and 0 <= partition.partition < topic.partitions

    def size_bytes(self, partition: TopicPartition) -> int:
        return SIZES.get(partition, 0)

    def wanted_configs(self, name: str) -> dict[str, str]:
        return dict(self.by_name[name].configs)

    def begin_alter_topic_configs(self, name: str, configs: dict[str, str], done: Ended) -> None:
        self.by_name[name].configs = configs
        done(None)


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
        from oncelog.broker.settings.broker import SECTIONS

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
            dynamic_configs=DynamicConfig(self.store, self.logs, settings or {}, SECTIONS, 1),
            client_quotas=ClientQuotas(self.store),
            scram_credentials=ScramCredentials(self.store),
            config=SimpleNamespace(
                txn=SimpleNamespace(transaction_version=2),
                group=SimpleNamespace(group_consumer_enabled=True, group_streams_enabled=True),
                share_group=SimpleNamespace(enabled=True),
            ),
            turns=SimpleNamespace(answer=lambda steps, encode=None: at_once(steps)),
            endpoint_for=lambda connection: connection.local_address,
        )

    def send(self, key: ApiKey, version: int, request: Any) -> Any:
        return self.send_body(key, version, messages.encode_request(key, version, request))

    def send_body(self, key: ApiKey, version: int, body: bytes | bytearray | memoryview) -> Any:
        context = RequestContext(self.broker, self.connection, version, "test", 1_700_000_000_000)  # type: ignore[arg-type]
        answer = handler(key)(messages.decode_request(key, version, body), context)
        if isinstance(answer, Deferred):
            answer = answer.result()
        return messages.decode_response(key, version, messages.encode_response(key, version, answer))


def configs(broker: Harness, kind: int, name: str, *, keys: list[str] | None = None) -> dict[str, Any]:
    resource = messages.DescribeConfigsRequest.DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys)
    request = messages.DescribeConfigsRequest(resources=[resource], include_synonyms=True, include_documentation=False)
    (result,) = broker.send(ApiKey.DESCRIBE_CONFIGS, 4, request).results
    assert result.error_code == 0, result.error_message
    return {entry.name: entry for entry in result.configs}


def alter(broker: Harness, kind: int, name: str, *changes: tuple[str, int, str | None], validate_only: bool = False) -> int:
    resource = messages.IncrementalAlterConfigsRequest.AlterConfigsResource
    asked = [resource.AlterableConfig(name=key, config_operation=operation, value=value) for key, operation, value in changes]
    request = messages.IncrementalAlterConfigsRequest(
        resources=[resource(resource_type=kind, resource_name=name, configs=asked)], validate_only=validate_only
    )
    (result,) = broker.send(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, request).responses
    return int(result.error_code)
