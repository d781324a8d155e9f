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
from oncelog.broker.auth.authorizer import Authorizer
from oncelog.broker.auth.sasl import ANONYMOUS
from oncelog.broker.auth.scram import ScramCredentials
from oncelog.broker.context import RequestContext
from oncelog.broker.settings.client_quotas import ClientQuotas
from oncelog.broker.settings.dynamic import DynamicConfig
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.names import TopicPartition

pytestmark = pytest.mark.unit
CASES = Path(__file__).parents[3] / "golden" / "clients" / "cases"
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

    def has_partition(self, partition: TopicPartition) -> bool:
        topic = self.by_name.get(partition.topic)
        return topic is not None and 0 <= partition.partition < topic.partitions

    def size_bytes(self, partition: TopicPartition) -> int:
        return SIZES.get(partition, 0)

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
            config=SimpleNamespace(txn=SimpleNamespace(transaction_version=2), group=SimpleNamespace(group_consumer_enabled=True)),
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


def synonyms(entry: Any) -> list[tuple[str, str | None, int]]:
    return [(synonym.name, synonym.value, synonym.source) for synonym in entry.synonyms]


def test_broker_settings_as_recorded(broker: Harness) -> None:
    recorded = json.loads((CASES / "D04.json").read_text())["conversation"][-1]
    expected = {entry["name"]: entry for entry in recorded["response"]["results"][0]["configs"]}
    seen = configs(broker, 4, "1")
    assert expected.keys() <= seen.keys(), expected.keys() - seen.keys()
    for name, entry in expected.items():
        actual = seen[name].to_dict()
        del entry["documentation"]
        assert {key: actual[key] for key in entry} == entry, name


def test_a_topic_shows_the_33_settings_of_kafka(broker: Harness) -> None:
    assert len(configs(broker, 2, "a02")) == 33


def test_layers_of_a_broker_setting(broker: Harness) -> None:
    assert alter(broker, 4, "", ("log.segment.bytes", 0, "50000000")) == 0
    assert alter(broker, 4, "1", ("log.segment.bytes", 0, "60000000")) == 0
    entry = configs(broker, 4, "1")["log.segment.bytes"]
    name = "log.segment.bytes"
    assert (entry.value, entry.config_source) == ("60000000", 2)
    assert synonyms(entry) == [(name, "60000000", 2), (name, "50000000", 3), (name, "1073741824", 5)]
    topic = configs(broker, 2, "a02")["segment.bytes"]
    assert (topic.value, topic.config_source) == ("60000000", 2)
    assert broker.broker.dynamic_configs.log_config().segment_bytes == 60_000_000
    assert alter(broker, 4, "1", ("log.segment.bytes", 1, None)) == 0
    assert configs(broker, 2, "a02")["segment.bytes"].value == "50000000"


def test_coarse_units_count_where_milliseconds_are_not_set(tmp_path: Path) -> None:
    broker = Harness(tmp_path, settings={"log.retention.hours": "2"})
    assert configs(broker, 2, "a02")["retention.ms"].value == "7200000"
    assert configs(broker, 4, "1")["log.retention.ms"].value is None
    assert broker.broker.dynamic_configs.log_config().retention_ms == 7_200_000
    assert alter(broker, 4, "1", ("log.retention.ms", 0, "60000")) == 0
    entry = configs(broker, 4, "1")["log.retention.ms"]
    assert synonyms(entry) == [("log.retention.ms", "60000", 2), ("log.retention.hours", "2", 4), ("log.retention.hours", "168", 5)]


@pytest.mark.parametrize(
    ("kind", "name", "change", "code"),
    [
        # as Apache Kafka 4.3.0 answered
        (4, "1", ("num.partitions", 0, "3"), 42),
        (4, "1", ("no.such", 0, "3"), 0),
        (4, "", ("ssl.keystore.location", 0, "/x"), 42),
        (4, "9", ("log.retention.ms", 0, "1"), 42),
        (4, "x", ("log.retention.ms", 0, "1"), 42),
        (4, "1", ("log.retention.ms", 0, "abc"), 42),
        (4, "1", ("log.retention.ms", 2, "5"), 40),
        (4, "1", ("min.insync.replicas", 0, "2"), 40),
        (4, "", ("min.insync.replicas", 1, None), 40),
        (4, "", ("min.insync.replicas", 0, "2"), 0),
        (32, "g1", ("consumer.session.timeout.ms", 0, "50000"), 0),
        (32, "g1", ("consumer.session.timeout.ms", 0, "5"), 40),
        (32, "g1", ("nope", 0, "1"), 40),
        (32, "", ("consumer.session.timeout.ms", 0, "50000"), 42),
        (16, "cm", ("interval.ms", 0, "50000"), 0),
        (16, "cm", ("interval.ms", 0, "5"), 42),
        (16, "cm", ("nope", 0, "5"), 42),
        (16, "cm", ("match", 0, "bad"), 40),
        (16, "", ("interval.ms", 0, "5000"), 42),
        (8, "1", ("nope.x", 0, "DEBUG"), 40),
        (8, "1", ("root", 0, "LOUD"), 40),
        (8, "1", ("root", 1, None), 42),
        (8, "1", ("root", 2, "INFO"), 42),
        (8, "7", ("root", 0, "INFO"), 42),
        (99, "1", ("root", 0, "INFO"), 42),
        (2, "", ("retention.ms", 0, "1"), 42),
        (2, "a b", ("retention.ms", 0, "1"), 17),
        (2, "a02", ("segment.bytes", 0, "1"), 40),
        (2, "a02", ("cleanup.policy", 0, "shred"), 40),
    ],
)
def test_alterations_refused_and_taken(broker: Harness, kind: int, name: str, change: tuple[str, int, str | None], code: int) -> None:
    assert alter(broker, kind, name, change) == code


def test_the_brokers_own_bounds_of_group_settings(tmp_path: Path) -> None:
    broker = Harness(tmp_path, settings={"group.consumer.min.session.timeout.ms": "5", "group.consumer.max.session.timeout.ms": "10"})
    codes = [alter(broker, 32, "g1", ("consumer.session.timeout.ms", 0, value)) for value in ("4", "5", "10", "11")]
    assert codes == [40, 0, 0, 40]


def test_validation_alone_changes_nothing(broker: Harness) -> None:
    assert alter(broker, 2, "a02", ("retention.ms", 0, "5"), validate_only=True) == 0
    assert alter(broker, 4, "1", ("log.retention.ms", 0, "5"), validate_only=True) == 0
    assert broker.logs.by_name["a02"].configs == {}
    assert broker.store.sections == {}


def test_values_of_groups_fall_back_to_the_brokers(broker: Harness) -> None:
    alter(broker, 32, "g1", ("consumer.session.timeout.ms", 0, "50000"))
    entry = configs(broker, 32, "g1")["consumer.session.timeout.ms"]
    assert synonyms(entry) == [("consumer.session.timeout.ms", "50000", 8), ("group.consumer.session.timeout.ms", "45000", 5)]
    assert broker.broker.dynamic_configs.group_values("g1") == {"consumer.session.timeout.ms": "50000"}


def test_secrets_are_never_shown(tmp_path: Path) -> None:
    broker = Harness(tmp_path, settings={"ssl.key.password": "hidden"})
    entry = configs(broker, 4, "1")["ssl.key.password"]
    assert (entry.value, entry.is_sensitive, synonyms(entry)) == (None, True, [("ssl.key.password", None, 4)])


def test_listeners_hear_of_a_changed_broker_setting(broker: Harness) -> None:
    heard: list[str | None] = []
    broker.broker.dynamic_configs.on_broker_change(lambda values: heard.append(values.get("log.retention.ms")))
    alter(broker, 4, "1", ("log.retention.ms", 0, "5"))
    alter(broker, 4, "1", ("log.retention.ms", 1, None))
    assert heard == ["5", None]


def test_rules_are_created_described_and_deleted(broker: Harness) -> None:
    broker.broker.authorizer = Authorizer(broker.store, ("User:ANONYMOUS",))
    creation = messages.CreateAclsRequest.AclCreation
    rule = {"resource_type": 2, "principal": "User:a", "host": "*", "operation": 3, "permission_type": 3}
    named = (("x", 3), ("pre", 4), ("", 3), ("y", 2))
    asked = [creation(resource_name=name, resource_pattern_type=pattern, **rule) for name, pattern in named]
    results = broker.send(ApiKey.CREATE_ACLS, 3, messages.CreateAclsRequest(creations=asked)).results
    assert [result.error_code for result in results] == [0, 0, 42, 42]
    every = {"resource_name_filter": None, "principal_filter": None, "host_filter": None, "operation": 1, "permission_type": 1}
    described = broker.send(ApiKey.DESCRIBE_ACLS, 3, messages.DescribeAclsRequest(resource_type_filter=1, pattern_type_filter=1, **every))
    assert [(found.resource_name, found.pattern_type, len(found.acls)) for found in described.resources] == [("pre", 4, 1), ("x", 3, 1)]
    wanted = messages.DeleteAclsRequest.DeleteAclsFilter(resource_type_filter=1, pattern_type_filter=1, **every)
    (deleted,) = broker.send(ApiKey.DELETE_ACLS, 3, messages.DeleteAclsRequest(filters=[wanted])).filter_results
    assert len(deleted.matching_acls) == 2
    assert broker.store.sections["acls"] == {}


def test_nothing_is_administered_without_permission(broker: Harness) -> None:
    broker.broker.authorizer = Authorizer(broker.store)
    assert alter(broker, 2, "a02", ("retention.ms", 0, "1")) == 29
    assert alter(broker, 32, "g", ("consumer.session.timeout.ms", 0, "50000")) == 30
    assert alter(broker, 4, "1", ("log.retention.ms", 0, "1")) == 31
    assert broker.send(ApiKey.DESCRIBE_QUORUM, 2, messages.DescribeQuorumRequest(topics=[])).error_code == 31
    assert broker.send(ApiKey.DESCRIBE_LOG_DIRS, 4, messages.DescribeLogDirsRequest(topics=None)).error_code == 31
    assert broker.send(ApiKey.UNREGISTER_BROKER, 0, messages.UnregisterBrokerRequest(broker_id=1)).error_code == 31


def scram(broker: Harness, *upsertions: tuple[str, int, int, bytes], deletions: tuple[tuple[str, int], ...] = ()) -> list[tuple[str, int]]:
    request = messages.AlterUserScramCredentialsRequest
    asked = request(
        deletions=[request.ScramCredentialDeletion(name=name, mechanism=mechanism) for name, mechanism in deletions],
        upsertions=[
            request.ScramCredentialUpsertion(name=name, mechanism=mechanism, iterations=iterations, salt=salt, salted_password=b"p" * 32)
            for name, mechanism, iterations, salt in upsertions
        ],
    )
    return [(result.user, result.error_code) for result in broker.send(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0, asked).results]


def test_scram_credentials(broker: Harness) -> None:
    salt = b"s" * 20
    assert scram(broker, ("al", 1, 4096, salt), ("bo", 2, 8192, salt), ("ed", 1, 1, salt)) == [("al", 0), ("bo", 0), ("ed", 93)]
    assert scram(broker, ("al", 1, 4096, salt), ("al", 2, 4096, salt)) == [("al", 92)]
    assert scram(broker, deletions=(("zz", 1),)) == [("zz", 91)]
    request = messages.DescribeUserScramCredentialsRequest
    described = broker.send(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, request(users=None)).results
    assert [(r.user, [(i.mechanism, i.iterations) for i in r.credential_infos]) for r in described] == [
        ("al", [(1, 4096)]),
        ("bo", [(2, 8192)]),
    ]
    named = [request.UserName(name=name) for name in ("al", "al", "no")]
    described = broker.send(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, request(users=named)).results
    assert [(r.user, r.error_code) for r in described] == [("al", 92), ("no", 91)]
    assert scram(broker, deletions=(("al", 1),)) == [("al", 0)]


@pytest.mark.parametrize(
    ("components", "strict", "code", "count"),
    [
        ([], False, 0, 2),
        ([], True, 0, 0),
        ([("user", 2, None)], False, 0, 2),
        ([("user", 2, None)], True, 0, 1),
        ([("user", 1, None)], False, 0, 1),
        ([("user", 0, "u")], False, 0, 1),
        ([("planet", 2, None)], False, 35, 0),
        ([("", 2, None)], False, 42, 0),
        ([("user", 2, None), ("user", 2, None)], False, 42, 0),
        ([("user", 7, None)], False, 42, 0),
        ([("user", 0, None)], False, 42, 0),
        ([("ip", 2, None), ("user", 2, None)], False, 42, 0),
    ],
)
def test_quotas_are_found_by_their_components(
    broker: Harness, components: list[tuple[str, int, str | None]], strict: bool, code: int, count: int
) -> None:
    broker.broker.client_quotas.alter([("user", "u")], {"request_percentage": 1.5})
    broker.broker.client_quotas.alter([("user", None), ("client-id", "c")], {"consumer_byte_rate": 10.0})
    request = messages.DescribeClientQuotasRequest
    asked = [request.ComponentData(entity_type=kind, match_type=match_type, match=match) for kind, match_type, match in components]
    answer = broker.send(ApiKey.DESCRIBE_CLIENT_QUOTAS, 1, request(components=asked, strict=strict))
    assert (answer.error_code, len(answer.entries or ())) == (code, count)
