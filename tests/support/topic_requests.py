"""A broker whose logs hold only numbers, asked about topics the way dispatch does."""

from __future__ import annotations

import uuid
from collections.abc import Generator, Iterable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.broker.auth.sasl import ANONYMOUS
from oncelog.broker.context import RequestContext
from oncelog.broker.net.turns import at_once
from oncelog.broker.settings.broker import SECTIONS
from oncelog.broker.settings.dynamic import DynamicConfig
from oncelog.broker.settings.server import ServerConfig
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.names import IsolationLevel, TopicPartition
from oncelog.storage.config import LogConfig
from oncelog.storage.directory.manager import Done

from support.handlers import handler

POLICIES = {"t41": ("compact",), "t41b": ("compact", "delete")}
END_OFFSETS = {"e01": 3, "t41": 3, "t41b": 3}


@dataclass
class FakeTopic:
    name: str
    partitions: int
    topic_id: uuid.UUID
    configs: dict[str, str] = field(default_factory=dict)


class FakeLog:
    """Offsets without records."""

    offline = None
    leader_epoch = 0

    def __init__(self, partition: TopicPartition, end: int, policy: tuple[str, ...]) -> None:
        self.topic_partition = partition
        self.log_start_offset = 0
        self.high_watermark = self.log_end_offset = end
        self.config = LogConfig(cleanup_policy=policy)

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        return (0, self.high_watermark) if epoch == 0 else (-1, -1)

    def check_online(self) -> None:
        if self.offline is not None:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)

    def advance_log_start(self, offset: int) -> None:
        self.log_start_offset = offset

    @property
    def reader(self) -> FakeLog:
        return self

    def lookup(self, timestamp: int, isolation: IsolationLevel) -> Generator[Any, Any, tuple[int, int, int]]:
        yield from ()
        if timestamp == -2:
            return self.log_start_offset, -1, 0
        return self.high_watermark - (1 if isolation is IsolationLevel.READ_COMMITTED else 0), -1, 0


class FakeLogs:
    """A catalogue; each log is made when first asked for."""

    def __init__(self, topics: dict[str, int]) -> None:
        self._ids = (uuid.UUID(int=number) for number in range(1, 1000))
        self._by_name = {name: FakeTopic(name, count, next(self._ids)) for name, count in topics.items()}
        self._logs: dict[TopicPartition, FakeLog] = {}
        self.topics = self.registry = self

    def get(self, name: str) -> FakeTopic | None:
        return self._by_name.get(name)

    def by_id(self, topic_id: uuid.UUID) -> FakeTopic | None:
        return next((topic for topic in self._by_name.values() if topic.topic_id == topic_id), None)

    def all(self) -> Iterable[FakeTopic]:
        return list(self._by_name.values())

    def log(self, partition: TopicPartition) -> FakeLog | None:
        topic = self._by_name.get(partition.topic)
        if topic is None or not 0 <= partition.partition < topic.partitions:
            return None
        made = FakeLog(partition, END_OFFSETS.get(topic.name, 0), POLICIES.get(topic.name, ("delete",)))
        return self._logs.setdefault(partition, made)

    wanted = get

    def has_name(self, name: str) -> bool:
        return name in self._by_name

    def has_partition(self, partition: TopicPartition) -> bool:
        return self.log(partition) is not None

    def leader_epochs(self, name: str) -> dict[int, int]:
        return {}

    def alike(self, name: str) -> str | None:
        return next((other for other in self._by_name if other.replace(".", "_") == name.replace(".", "_")), None)

    def begin_create_topic(self, name: str, partitions: int, configs: dict[str, str], done: Done) -> FakeTopic:
        topic = self._by_name[name] = FakeTopic(name, partitions, next(self._ids), configs)
        done(None)
        return topic

    def begin_delete_topic(self, name: str, done: Done) -> None:
        del self._by_name[name]
        done(None)

    def begin_create_partitions(self, name: str, total: int, done: Done) -> None:
        self._by_name[name].partitions = total
        done(None)

    def wanted_configs(self, name: str) -> dict[str, str]:
        return dict(self._by_name[name].configs)

    def begin_alter_topic_configs(self, name: str, configs: dict[str, str], done: Done) -> None:
        self._by_name[name].configs = configs
        done(None)


class Deny:
    """An authorizer that refuses the named (operation, resource name)."""

    def __init__(self, *refused: tuple[AclOperation, str]) -> None:
        self._refused = set(refused)

    def authorize(self, principal: str, host: str, operation: AclOperation, kind: ResourceType, name: str) -> bool:
        return (operation, name) not in self._refused


class Broker:
    """Calls handlers the way requests do: encoded, decoded, handled, encoded, decoded."""

    def __init__(self, topics: dict[str, int] | None = None, authorizer: Any = None, *, logs: Any = None, **server: Any) -> None:
        self.logs = logs if logs is not None else FakeLogs(topics or {})
        sections = {"broker_configs": {"": {"min.insync.replicas": "1"}}}
        store = SimpleNamespace(
            section=lambda name: sections.get(name, {}), get=lambda name, key: sections.get(name, {}).get(key), put=None
        )
        connection = SimpleNamespace(
            principal=ANONYMOUS, client_host="127.0.0.1", listener_name="PLAINTEXT", local_address=("127.0.0.1", 9092)
        )
        self._connection = connection
        self._broker = SimpleNamespace(
            env=SimpleNamespace(random=SimpleNamespace(uuid=lambda: uuid.UUID(int=99))),
            logs=self.logs,
            node_id=1,
            cluster_id="cluster",
            authorizer=authorizer,
            config=SimpleNamespace(server=ServerConfig(**server)),
            dynamic_configs=DynamicConfig(store, self.logs, {}, SECTIONS, 1),  # type: ignore[arg-type]
            endpoint_for=lambda connection: connection.local_address,
            turns=SimpleNamespace(begin=at_once),
        )

    def send(self, key: ApiKey, version: int, body: bytes | bytearray | memoryview) -> Any:
        context = RequestContext(self._broker, self._connection, version, "test", 0)  # type: ignore[arg-type]
        answer = handler(key)(messages.decode_request(key, version, body), context)
        return messages.decode_response(key, version, messages.encode_response(key, version, answer))

    def ask(self, key: ApiKey, version: int, **fields: Any) -> Any:
        request = getattr(messages, f"{key.schema_name}Request")(**fields)
        return self.send(key, version, messages.encode_request(key, version, request))
