"""Administrative requests that are right, empty, doubled or wrong: codes and shapes of Apache Kafka 4.3.0, lowest and highest version."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from oncelog.protocol.api_keys import ApiKey
from support.process import wait_until
from support.wire import Connection

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT, UNKNOWN = 0, 1, 2, 3, 9
THROTTLED = "leader.replication.throttled.replicas"
RATE = "leader.replication.throttled.rate"


@pytest.fixture
def connection(bootstrap: str) -> Iterator[Connection]:
    with Connection(bootstrap, timeout=20) as opened:
        yield opened


@pytest.fixture
def topic(connection: Connection, name: str) -> str:
    """A topic of one partition."""
    assert create(connection, 5, {"name": name}) == [0]
    asked = {"topics": [{"name": name}], "allow_auto_topic_creation": False}
    wait_until(lambda: connection.request(ApiKey.METADATA, 9, asked).topics[0].error_code == 0)
    return name


def create(connection: Connection, version: int, *topics: dict[str, Any], only_check: bool = False) -> list[int]:
    named = [{"num_partitions": 1, "replication_factor": 1} | topic for topic in topics]
    answer = connection.request(ApiKey.CREATE_TOPICS, version, {"topics": named, "timeout_ms": 10_000, "validate_only": only_check})
    return [topic.error_code for topic in answer.topics]


# --- settings


def alter(connection: Connection, kind: int, name: str, *changes: tuple[str, int, str | None], version: int = 1) -> int:
    configs = [{"name": key, "config_operation": operation, "value": value} for key, operation, value in changes]
    resource = {"resource_type": kind, "resource_name": name, "configs": configs}
    answer = connection.request(ApiKey.INCREMENTAL_ALTER_CONFIGS, version, {"resources": [resource], "validate_only": True})
    return int(answer.responses[0].error_code)


def replace(connection: Connection, kind: int, name: str, values: dict[str, str], version: int = 2) -> int:
    configs = [{"name": key, "value": value} for key, value in values.items()]
    resource = {"resource_type": kind, "resource_name": name, "configs": configs}
    answer = connection.request(ApiKey.ALTER_CONFIGS, version, {"resources": [resource], "validate_only": True})
    return int(answer.responses[0].error_code)


@pytest.mark.parametrize("version", [0, 1])
def test_operations_that_are_none(connection: Connection, topic: str, version: int) -> None:
    codes = {
        kind: alter(connection, kind, topic if kind == TOPIC else "1", ("retention.ms", UNKNOWN, "1"), version=version)
        for kind in (0, 1, TOPIC, BROKER, CLIENT_METRICS, GROUP, 64)
    }
    assert codes == {0: 42, 1: 42, TOPIC: -1, BROKER: 42, CLIENT_METRICS: -1, GROUP: -1, 64: 42}


REPLICAS = {"": 0, "*": 0, "0:1": 0, "0:1,1:2": 0, "0:1,": 0, "x": 40, "none": 40, "*,0:1": 40, "-1:1": 40}


def test_throttled_replicas(connection: Connection, topic: str, name: str) -> None:
    assert {text: alter(connection, TOPIC, topic, (THROTTLED, SET, text)) for text in REPLICAS} == REPLICAS
    other = {"name": f"{name}-other"}
    seen = {text: create(connection, 7, other | {"configs": [{"name": THROTTLED, "value": text}]}, only_check=True)[0] for text in REPLICAS}
    assert seen == REPLICAS


def test_rates_of_throttles_are_numbers(connection: Connection) -> None:
    assert [alter(connection, BROKER, "", (RATE, SET, text)) for text in ("0", "1000", "-1", "x")] == [0, 0, 42, 42]


def test_there_is_no_tiered_storage(connection: Connection, topic: str) -> None:
    assert [alter(connection, TOPIC, topic, ("remote.storage.enable", SET, text)) for text in ("false", "true")] == [0, 40]


SELECTORS = {
    "client_id=a.*": 0,
    "client_id=a,client_software_name=b": 0,
    " client_source_port = 1 ": 0,
    "client_id": 40,
    "client_id=": 40,
    "=a": 40,
    "client_id=a=b": 40,
    "client_id=[a": 40,
    "foo=a": 40,
    "a,b": 40,
}


def test_selectors_of_client_metrics(connection: Connection, name: str) -> None:
    assert {text: alter(connection, CLIENT_METRICS, name, ("match", SET, text)) for text in SELECTORS} == SELECTORS


def test_intervals_of_client_metrics(connection: Connection, name: str) -> None:
    codes = {
        text: alter(connection, CLIENT_METRICS, name, ("interval.ms", SET, text)) for text in ("", "x", "99", "100", "3600000", "3600001")
    }
    assert codes == {"": 40, "x": 40, "99": 42, "100": 0, "3600000": 0, "3600001": 42}
    assert [alter(connection, CLIENT_METRICS, name, ("metrics", operation, "a")) for operation in (APPEND, SUBTRACT)] == [40, 40]


@pytest.mark.parametrize("version", [0, 2])
def test_what_the_cluster_has_pinned_must_be_named(connection: Connection, version: int) -> None:
    assert replace(connection, BROKER, "", {"log.retention.ms": "5000"}, version) == 40
    assert replace(connection, BROKER, "", {}, version) == 40
    assert replace(connection, BROKER, "", {"log.retention.ms": "5000", "min.insync.replicas": "1"}, version) == 0


def test_a_brokers_own_login_is_not_set_for_the_cluster(connection: Connection) -> None:
    assert alter(connection, BROKER, "", ("sasl.login.refresh.window.factor", SET, "0.8")) == 42


# --- topics and records


@pytest.mark.parametrize("version", [2, 7])
def test_topics_that_cannot_be(connection: Connection, topic: str, name: str, version: int) -> None:
    new = f"{name}-new"
    assert create(connection, version, only_check=True) == []
    assert set(create(connection, version, {"name": new}, {"name": new}, only_check=True)) == {42}
    named = {"": 17, "b?d": 17, ".": 17, "x" * 250: 17, topic: 36, new: 0}
    assert {each: create(connection, version, {"name": each}, only_check=True)[0] for each in named} == named
    assert create(connection, version, {"name": new, "num_partitions": 0}, only_check=True) == [37]
    assert create(connection, version, {"name": new, "replication_factor": 2}, only_check=True) == [38]
    both = {"assignments": [{"partition_index": 0, "broker_ids": [1]}]}
    assert create(connection, version, {"name": new} | both, only_check=True) == [42]


@pytest.mark.parametrize("version", [0, 3])
def test_partitions_that_cannot_be(connection: Connection, topic: str, version: int) -> None:
    def grow(*topics: dict[str, Any]) -> list[tuple[str, int]]:
        named = [{"assignments": None} | each for each in topics]
        asked = {"topics": named, "timeout_ms": 10_000, "validate_only": True}
        return [(each.name, each.error_code) for each in connection.request(ApiKey.CREATE_PARTITIONS, version, asked).results]

    assert grow() == []
    assert grow({"name": topic, "count": 2}, {"name": topic, "count": 2}) == [(topic, 42)]
    assert [grow({"name": topic, "count": count})[0][1] for count in (-1, 0, 1, 2)] == [37, 37, 37, 0]
    assert [grow({"name": each, "count": 2})[0][1] for each in ("", "b?d", "absent-topic")] == [3, 3, 3]


@pytest.mark.parametrize("version", [1, 5])
def test_deleting_what_is_not_there_or_twice(connection: Connection, topic: str, version: int) -> None:
    def delete(*names: str) -> list[int]:
        answer = connection.request(ApiKey.DELETE_TOPICS, version, {"topic_names": list(names), "timeout_ms": 10_000})
        return [each.error_code for each in answer.responses]

    assert [delete(), delete("absent-topic"), delete(""), delete("b?d")] == [[], [3], [3], [3]]
    assert delete(topic, topic) == [42]


def test_deleting_what_has_neither_name_nor_id(connection: Connection) -> None:
    asked = {"topics": [{"name": None}, {"name": None}], "timeout_ms": 10_000}
    assert [each.error_code for each in connection.request(ApiKey.DELETE_TOPICS, 6, asked).responses] == [42, 42]


@pytest.mark.parametrize("version", [0, 2])
def test_records_are_deleted_once_a_partition(connection: Connection, topic: str, version: int) -> None:
    def delete(*partitions: tuple[int, int]) -> list[tuple[str, list[tuple[int, int]]]]:
        named = [{"partition_index": index, "offset": offset} for index, offset in partitions]
        asked = {"topics": [{"name": topic, "partitions": named}], "timeout_ms": 5_000}
        topics = connection.request(ApiKey.DELETE_RECORDS, version, asked).topics
        return [(each.name, sorted((p.partition_index, p.error_code) for p in each.partitions)) for each in topics]

    assert delete() == []
    assert delete((0, 9), (0, 0), (7, 0)) == [(topic, [(0, 0), (7, 3)])]
    assert delete((0, 0), (0, 9)) == [(topic, [(0, 1)])]


def test_an_election_of_an_unknown_type(connection: Connection, topic: str) -> None:
    asked = {"election_type": 5, "topic_partitions": [{"topic": topic, "partitions": [0, 7]}], "timeout_ms": 5_000}
    answer = connection.request(ApiKey.ELECT_LEADERS, 2, asked)
    assert answer.error_code == 42
    (result,) = answer.replica_election_results
    assert [(each.partition_id, each.error_code) for each in result.partition_result] == [(0, 42), (7, 42)]


# --- groups, quotas, features


@pytest.mark.parametrize("version", [0, 2])
def test_groups_that_are_not_there(connection: Connection, name: str, version: int) -> None:
    def delete(*groups: str) -> list[tuple[str, int]]:
        answer = connection.request(ApiKey.DELETE_GROUPS, version, {"groups_names": list(groups)})
        return [(each.group_id, each.error_code) for each in answer.results]

    assert [delete(), delete(name), delete(name, name)] == [[], [(name, 69)], [(name, 69)]]


def test_offsets_are_deleted_of_named_partitions(connection: Connection, topic: str, name: str) -> None:
    committed = {"partition_index": 0, "committed_offset": 0, "committed_leader_epoch": -1, "committed_metadata": ""}
    asked = {"group_id": name, "generation_id_or_member_epoch": -1, "member_id": "", "topics": [{"name": topic, "partitions": [committed]}]}
    wait_until(lambda: connection.request(ApiKey.OFFSET_COMMIT, 7, asked).topics[0].partitions[0].error_code == 0)
    answer = connection.request(ApiKey.OFFSET_DELETE, 0, {"group_id": name, "topics": [{"name": topic, "partitions": []}]})
    assert (answer.error_code, answer.topics) == (0, [])


@pytest.mark.parametrize("version", [0, 1])
def test_quotas_of_an_entity_named_twice_or_of_no_address(connection: Connection, name: str, version: int) -> None:
    def entry(kind: str, entity: str, key: str) -> dict[str, Any]:
        return {"entity": [{"entity_type": kind, "entity_name": entity}], "ops": [{"key": key, "value": 5.0, "remove": False}]}

    def check(*entries: dict[str, Any]) -> dict[str, int]:
        answer = connection.request(ApiKey.ALTER_CLIENT_QUOTAS, version, {"entries": list(entries), "validate_only": True})
        assert len(answer.entries) == len({each.entity[0].entity_name for each in answer.entries})
        return {each.entity[0].entity_name: each.error_code for each in answer.entries}

    users = [entry("user", each, "producer_byte_rate") for each in (name, "other", name)]
    assert check(*users) == {name: 42, "other": 0}
    addresses = {"1.2.3.4": 0, "::1": 0, "localhost": 0, "not an address": 42}
    assert check(*(entry("ip", each, "connection_creation_rate") for each in addresses)) == addresses


SUPPORTED = {
    "eligible.leader.replicas.version": (0, 1),
    "group.version": (0, 1),
    "kraft.version": (0, 1),
    "metadata.version": (7, 30),
    "share.version": (0, 1),
    "streams.version": (0, 1),
    "transaction.version": (0, 2),
}


def test_kraft_version_is_supported_and_off(connection: Connection) -> None:
    asked = {"client_software_name": "wire", "client_software_version": "1"}
    told = connection.request(ApiKey.API_VERSIONS, 4, asked)
    supported = {each.name: (each.min_version, each.max_version) for each in told.supported_features}
    assert supported == SUPPORTED
    assert "kraft.version" not in {each.name for each in told.finalized_features}  # level 0 is not told
    old = connection.request(ApiKey.API_VERSIONS, 3, asked)
    assert {each.name for each in old.supported_features} == {"metadata.version"}  # an old client cannot read a minimum of 0


UPGRADE, SAFE, UNSAFE = 1, 2, 3
LEVELS = {
    ("kraft.version", -1, UPGRADE): 95,
    ("kraft.version", 0, UPGRADE): 0,
    ("kraft.version", 0, SAFE): 0,
    ("kraft.version", 1, UPGRADE): 0,
    ("kraft.version", 1, SAFE): 95,
    ("kraft.version", 1, UNSAFE): 95,
    ("kraft.version", 2, UPGRADE): 95,
    ("metadata.version", 30, UPGRADE): 0,
    ("metadata.version", 29, UPGRADE): 95,
    ("metadata.version", 29, SAFE): 95,
    ("metadata.version", 29, UNSAFE): 95,
    ("nope", 1, UPGRADE): 95,
}


@pytest.mark.parametrize("version", [1, 2])
def test_levels_of_features_that_may_be_asked_for(connection: Connection, version: int) -> None:
    def check(feature: str, level: int, how: int) -> int:
        update = {"feature": feature, "max_version_level": level, "upgrade_type": how}
        asked = {"timeout_ms": 5_000, "feature_updates": [update], "validate_only": True}
        return int(connection.request(ApiKey.UPDATE_FEATURES, version, asked).error_code)

    assert {asked: check(*asked) for asked in LEVELS} == LEVELS
