"""Requests about topics against recordings of Apache Kafka 4.3.0, over logs that hold only numbers; and what no recording shows."""

from __future__ import annotations

import importlib
import json
import uuid
from collections.abc import Generator, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.broker.auth.sasl import ANONYMOUS
from oncelog.broker.context import RequestContext
from oncelog.broker.net.turns import at_once
from oncelog.broker.settings.broker import SECTIONS, ServerConfig
from oncelog.broker.settings.dynamic import DynamicConfig
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.names import IsolationLevel, TopicPartition
from oncelog.storage.config import LogConfig
from oncelog.storage.directory.manager import Done

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
POLICIES = {"t41": ("compact",), "t41b": ("compact", "delete")}
END_OFFSETS = {"e01": 3, "t41": 3, "t41b": 3}
NO_ID = uuid.UUID(int=0)


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

    def delete_records(self, offset: int) -> int:
        if not self.config.delete:
            raise KafkaError(ErrorCode.POLICY_VIOLATION)
        self.log_start_offset = self.high_watermark if offset == -1 else offset
        return self.log_start_offset

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
        self.topics = self

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

    def alter_topic_configs(self, name: str, configs: dict[str, str]) -> None:
        self._by_name[name].configs = configs


class Deny:
    """An authorizer that refuses the named (operation, resource name)."""

    def __init__(self, *refused: tuple[AclOperation, str]) -> None:
        self._refused = set(refused)

    def authorize(self, principal: str, host: str, operation: AclOperation, kind: ResourceType, name: str) -> bool:
        return (operation, name) not in self._refused


class Broker:
    """Calls handlers the way requests do: encoded, decoded, handled, encoded, decoded."""

    def __init__(self, topics: dict[str, int] | None = None, authorizer: Any = None, **server: Any) -> None:
        self.logs = FakeLogs(topics or {})
        store = SimpleNamespace(section=lambda name: {"": {"min.insync.replicas": "1"}} if name == "broker_configs" else {}, put=None)
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


def handler(key: ApiKey) -> Any:
    package = importlib.import_module("oncelog.broker.handlers")
    (path,) = Path(package.__path__[0]).glob(f"api_{key:02d}_*.py")
    return importlib.import_module(f"oncelog.broker.handlers.{path.stem}").handle


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


def created(broker: Broker, name: str, **fields: Any) -> Any:
    topic = messages.CreateTopicsRequest.CreatableTopic(
        name=name, **{"num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": [], **fields}
    )
    return broker.ask(ApiKey.CREATE_TOPICS, 7, topics=[topic], timeout_ms=1000, validate_only=False).topics[0]


def test_created_topic_tells_its_id() -> None:
    broker = Broker()
    answer = created(broker, "t", num_partitions=3)
    topic = broker.logs.get("t")
    assert topic is not None
    assert (answer.error_code, answer.topic_id, topic.partitions) == (ErrorCode.NONE, topic.topic_id, 3)


@pytest.mark.parametrize("partitions", [0, -2])
def test_number_of_partitions_must_be_positive(partitions: int) -> None:
    assert created(Broker(), "t", num_partitions=partitions).error_code == ErrorCode.INVALID_PARTITIONS


def test_any_replication_factor_where_that_is_allowed() -> None:
    answer = created(Broker(strict_replication_factor=False), "t", replication_factor=3)
    assert (answer.error_code, answer.replication_factor) == (ErrorCode.NONE, 1)


def test_partition_assigned_twice() -> None:
    assign = messages.CreateTopicsRequest.CreatableTopic.CreatableReplicaAssignment
    twice = [assign(partition_index=0, broker_ids=[1]), assign(partition_index=0, broker_ids=[1])]
    answer = created(Broker(), "t", num_partitions=-1, replication_factor=-1, assignments=twice)
    assert answer.error_code == ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_unknown_setting_makes_no_topic() -> None:
    broker = Broker()
    config = messages.CreateTopicsRequest.CreatableTopic.CreatableTopicConfig(name="no.such.setting", value="1")
    assert created(broker, "t", configs=[config]).error_code == ErrorCode.INVALID_CONFIG
    assert broker.logs.get("t") is None


def test_topics_are_made_by_whom_may_create_the_topic_or_in_the_cluster() -> None:
    cluster, topic = (AclOperation.CREATE, "kafka-cluster"), (AclOperation.CREATE, "t")
    assert created(Broker(authorizer=Deny(cluster)), "t").error_code == ErrorCode.NONE
    assert created(Broker(authorizer=Deny(topic)), "t").error_code == ErrorCode.NONE
    assert created(Broker(authorizer=Deny(cluster, topic)), "t").error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED


def test_settings_are_told_to_whom_may_see_them() -> None:
    answer = created(Broker(authorizer=Deny((AclOperation.DESCRIBE_CONFIGS, "t"))), "t")
    assert (answer.error_code, answer.configs, answer.num_partitions) == (ErrorCode.NONE, [], -1)


def test_deletion_can_be_disabled() -> None:
    broker = Broker({"t": 1}, delete_topics=False)
    errors = [broker.ask(ApiKey.DELETE_TOPICS, version, topic_names=["t"], timeout_ms=1).responses[0].error_code for version in (1, 3)]
    assert errors == [ErrorCode.INVALID_REQUEST, ErrorCode.TOPIC_DELETION_DISABLED]
    assert broker.logs.get("t") is not None


def test_deleting_by_id_does_not_tell_the_name_to_strangers() -> None:
    refused = (AclOperation.DELETE, "t"), (AclOperation.DESCRIBE, "t"), (AclOperation.DELETE, "kafka-cluster")
    broker = Broker({"t": 1}, authorizer=Deny(*refused))
    state = messages.DeleteTopicsRequest.DeleteTopicState(name=None, topic_id=uuid.UUID(int=1))
    (answer,) = broker.ask(ApiKey.DELETE_TOPICS, 6, topics=[state], timeout_ms=1).responses
    assert (answer.error_code, answer.name) == (ErrorCode.TOPIC_AUTHORIZATION_FAILED, None)


def test_delete_records_of_an_internal_topic_is_refused() -> None:
    broker = Broker({"__consumer_offsets": 1})
    assert delete_records(broker, "__consumer_offsets", -1) == (ErrorCode.INVALID_TOPIC_EXCEPTION, -1)


def delete_records(broker: Broker, topic: str, offset: int) -> tuple[int, int]:
    request = messages.DeleteRecordsRequest.DeleteRecordsTopic
    partition = request.DeleteRecordsPartition(partition_index=0, offset=offset)
    answer = broker.ask(ApiKey.DELETE_RECORDS, 2, topics=[request(name=topic, partitions=[partition])], timeout_ms=1)
    found = answer.topics[0].partitions[0]
    return found.error_code, found.low_watermark


@pytest.mark.parametrize(
    ("timestamp", "first_version"), [(-1, 1), (-2, 1), (-3, 7), (-4, 8), (-5, 9), (-6, 11), (-7, None), (0, 1), (1 << 40, 1)]
)
def test_special_timestamps_belong_to_versions(timestamp: int, first_version: int | None) -> None:
    broker = Broker({"e01": 1})
    for version in range(1, 12):
        served = first_version is not None and version >= first_version
        assert list_offsets(broker, version, timestamp) == (ErrorCode.NONE if served else ErrorCode.UNSUPPORTED_VERSION)


def test_same_partition_twice_is_one_refusal() -> None:
    request = messages.ListOffsetsRequest.ListOffsetsTopic
    partitions = [request.ListOffsetsPartition(partition_index=0, current_leader_epoch=-1, timestamp=at) for at in (-1, -2)]
    answer = Broker({"e01": 1}).ask(
        ApiKey.LIST_OFFSETS, 5, replica_id=-1, isolation_level=0, topics=[request(name="e01", partitions=partitions)]
    )
    assert [(p.partition_index, p.error_code) for p in answer.topics[0].partitions] == [(0, ErrorCode.INVALID_REQUEST)]


@pytest.mark.parametrize("epoch", [0, -1, -2])
def test_known_leader_epoch(epoch: int) -> None:
    assert list_offsets(Broker({"e01": 1}), 11, -1, epoch) == ErrorCode.NONE


def test_unknown_leader_epoch() -> None:
    assert list_offsets(Broker({"e01": 1}), 11, -1, 1) == ErrorCode.UNKNOWN_LEADER_EPOCH


def list_offsets(broker: Broker, version: int, timestamp: int, epoch: int = -1) -> int:
    request = messages.ListOffsetsRequest.ListOffsetsTopic
    partition = request.ListOffsetsPartition(partition_index=0, current_leader_epoch=epoch, timestamp=timestamp)
    topics = [request(name="e01", partitions=[partition])]
    answer = broker.ask(ApiKey.LIST_OFFSETS, version, replica_id=-1, isolation_level=0, topics=topics)
    error: int = answer.topics[0].partitions[0].error_code
    return error


def test_offline_log_is_a_storage_error() -> None:
    broker = Broker({"e01": 1})
    log = broker.logs.log(TopicPartition("e01", 0))
    assert log is not None
    log.offline = "disk gone"  # type: ignore[assignment]
    assert list_offsets(broker, 11, -1) == ErrorCode.KAFKA_STORAGE_ERROR


def test_refusal_of_the_log_is_told() -> None:
    broker = Broker({"e01": 1})
    log = broker.logs.log(TopicPartition("e01", 0))
    assert log is not None

    def refuse(offset: int) -> int:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)

    log.delete_records = refuse  # type: ignore[method-assign]
    assert delete_records(broker, "e01", 2) == (ErrorCode.KAFKA_STORAGE_ERROR, -1)


def test_pages_cover_all_partitions_once() -> None:
    broker = Broker({"a": 3, "b": 4, "c": 1})
    request = messages.DescribeTopicPartitionsRequest
    seen: list[tuple[str, int]] = []
    cursor = None
    for _page in range(8):
        answer = broker.ask(ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, topics=[], response_partition_limit=3, cursor=cursor)
        assert sum(len(topic.partitions) for topic in answer.topics) <= 3
        seen += [(topic.name, partition.partition_index) for topic in answer.topics for partition in topic.partitions]
        if answer.next_cursor is None:
            break
        cursor = request.Cursor(topic_name=answer.next_cursor.topic_name, partition_index=answer.next_cursor.partition_index)
    assert seen == [(name, index) for name, count in (("a", 3), ("b", 4), ("c", 1)) for index in range(count)]


def test_a_page_is_never_longer_than_the_broker_allows() -> None:
    broker = Broker({"a": 7}, partition_page_limit=3)
    answer = broker.ask(ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, topics=[], response_partition_limit=2000, cursor=None)
    assert [partition.partition_index for partition in answer.topics[0].partitions] == [0, 1, 2]
    assert (answer.next_cursor.topic_name, answer.next_cursor.partition_index) == ("a", 3)
