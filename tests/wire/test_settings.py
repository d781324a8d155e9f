"""What DescribeConfigs lists, beside the settings of Apache Kafka 4.3.0 as it told them (`golden/settings_4.3.0.json`)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.config_def import ConfigType
from support.process import wait_until
from support.wire import Connection

SETTINGS: dict[str, list[dict[str, Any]]] = json.loads((Path(__file__).parents[1] / "golden" / "settings_4.3.0.json").read_text())
TOPIC, BROKER, CLIENT_METRICS, GROUP = 2, 4, 16, 32
DEFAULT, STATIC = 5, 4
# what a server.properties of Kafka must name, and what came of it
IN_FORCE = ("advertised.listeners", "broker.id", "controller.listener.names", "listeners", "log.dirs", "node.id", "process.roles")
OTHER_DEFAULTS = {
    "controller.listener.names": "no file is needed",
    "group.initial.rebalance.delay.ms": "README",
    "listener.security.protocol.map": "the same in another order",
    "listeners": "this machine alone",
    "sasl.enabled.mechanisms": "GSSAPI is not served",
    "share.coordinator.state.topic.min.isr": "one replica",
    "transaction.state.log.min.isr": "one replica",
}
# Kafka alters them at run time; here a start is needed, or they would be limits that nobody keeps
FIXED_AT_START = frozenset(
    {
        "config.providers",
        "cordoned.log.dirs",
        "listener.security.protocol.map",
        "listeners",
        "max.connection.creation.rate",
        "max.connections",
        "max.connections.per.ip",
        "max.connections.per.ip.overrides",
        "metric.reporters",
        "principal.builder.class",
        "sasl.enabled.mechanisms",
        "sasl.jaas.config",
    }
)
# numbers in whose range a group's own value must be, from what Kafka answered to all of them
BOUNDS = {
    "consumer.assignment.interval.ms": (0, 15_000),
    "consumer.heartbeat.interval.ms": (5_000, 15_000),
    "consumer.session.timeout.ms": (45_000, 60_000),
    "share.assignment.interval.ms": (0, 15_000),
    "share.delivery.count.limit": (2, 10),
    "share.heartbeat.interval.ms": (5_000, 15_000),
    "share.partition.max.record.locks": (100, 4_000),
    "share.record.lock.duration.ms": (15_000, 60_000),
    "share.session.timeout.ms": (45_000, 60_000),
    "streams.assignment.interval.ms": (0, 15_000),
    "streams.heartbeat.interval.ms": (5_000, 15_000),
    "streams.initial.rebalance.delay.ms": (0, 2**31 - 1),
    "streams.num.standby.replicas": (0, 2),
    "streams.session.timeout.ms": (45_000, 60_000),
}
WORDS = {
    "share.auto.offset.reset": (
        ("earliest", "latest", "by_duration:PT1H", "by_duration:P2DT3.5S", "by_duration:PT0S"),
        ("", "LATEST", "none", "by_duration:", "by_duration:x", "by_duration:-PT1H", "by_duration:P", "by_duration:PT"),
    ),
    "share.isolation.level": (("read_committed", "read_uncommitted"), ("", "READ_COMMITTED")),
    "share.renew.acknowledge.enable": (("true", "FALSE"), ("", "maybe")),
}


@pytest.fixture
def connection(bootstrap: str) -> Iterator[Connection]:
    with Connection(bootstrap) as opened:
        yield opened


def node(connection: Connection) -> str:
    brokers = connection.request(ApiKey.METADATA, 1, {"topics": []}).brokers
    return str(brokers[0].node_id)


def described(connection: Connection, kind: int, name: str) -> dict[str, Any]:
    resource = messages.DescribeConfigsRequest.DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=None)
    asked = {"resources": [resource], "include_synonyms": True, "include_documentation": True}
    result = connection.request(ApiKey.DESCRIBE_CONFIGS, 4, asked).results[0]
    assert result.error_code == 0, result
    return {entry.name: entry for entry in result.configs}


def metadata_topic(name: str) -> Any:
    return messages.MetadataRequest.MetadataRequestTopic(name=name)


def default(entry: Any) -> str | None:
    return next((s.value for s in entry.synonyms if s.source == DEFAULT and s.name == entry.name), None)


def alter(connection: Connection, kind: int, name: str, key: str, value: str) -> int:
    """The error code of a SET that is only validated."""
    resource = messages.IncrementalAlterConfigsRequest.AlterConfigsResource
    asked = resource(resource_type=kind, resource_name=name, configs=[resource.AlterableConfig(name=key, config_operation=0, value=value)])
    answer = connection.request(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, {"resources": [asked], "validate_only": True})
    return int(answer.responses[0].error_code)


def test_a_broker_lists_every_setting_of_kafka(connection: Connection, ours: bool) -> None:
    seen = described(connection, BROKER, node(connection))
    expected = {row["name"]: row for row in SETTINGS["broker"]}
    assert len(expected) == 340
    assert not expected.keys() - seen.keys()
    wrong = []
    for name, row in expected.items():
        entry = seen[name]
        told = (ConfigType(entry.config_type).name, entry.is_sensitive, default(entry), entry.read_only)
        wanted = (
            row["type"],
            row["sensitive"],
            told[2] if ours and name in OTHER_DEFAULTS else row["default"],
            True if ours and name in FIXED_AT_START else row["read_only"],
        )
        if told != wanted:
            wrong.append((name, told, wanted))
        if STATIC not in (entry.config_source, row["source"]) and entry.config_source != row["source"]:
            wrong.append((name, entry.config_source, row["source"]))
    assert not wrong


def test_the_values_in_force_are_told(connection: Connection, bootstrap: str) -> None:
    seen = described(connection, BROKER, node(connection))
    empty = [name for name in IN_FORCE if not seen[name].value]
    assert not empty
    assert seen["node.id"].value == node(connection)
    assert seen["process.roles"].value == "broker,controller"
    assert f"PLAINTEXT://{bootstrap}" in seen["listeners"].value.split(",")
    assert f"PLAINTEXT://{bootstrap}" in seen["advertised.listeners"].value.split(",")
    assert Path(seen["log.dirs"].value).is_dir()
    assert {seen[name].config_source for name in IN_FORCE if name != "controller.listener.names"} == {STATIC}


def test_secrets_have_no_value(connection: Connection) -> None:
    seen = described(connection, BROKER, node(connection))
    hidden = {name for name, entry in seen.items() if entry.is_sensitive}
    assert hidden >= {row["name"] for row in SETTINGS["broker"] if row["sensitive"]}
    assert {seen[name].value for name in hidden} == {None}


@pytest.mark.parametrize("kind", ["topic", "group", "client_metrics"])
def test_a_resource_lists_the_settings_of_kafka(connection: Connection, name: str, kind: str) -> None:
    number = {"topic": TOPIC, "group": GROUP, "client_metrics": CLIENT_METRICS}[kind]
    if kind == "topic":
        topic = messages.CreateTopicsRequest.CreatableTopic(name=name, num_partitions=1, replication_factor=1, assignments=[], configs=[])
        assert connection.request(ApiKey.CREATE_TOPICS, 5, {"topics": [topic], "timeout_ms": 10_000}).topics[0].error_code == 0
        wait_until(lambda: connection.request(ApiKey.METADATA, 1, {"topics": [metadata_topic(name)]}).topics[0].error_code == 0)
    seen = described(connection, number, name)
    told = [
        {
            "name": entry.name,
            "type": ConfigType(entry.config_type).name,
            "default": entry.value,
            "read_only": entry.read_only,
            "sensitive": entry.is_sensitive,
            "source": entry.config_source,
        }
        for entry in sorted(seen.values(), key=lambda entry: entry.name)
    ]
    assert told == SETTINGS[kind]


def test_a_groups_setting_falls_back_to_the_brokers(connection: Connection, name: str) -> None:
    seen = described(connection, GROUP, name)
    fallbacks = {key: [(s.name, s.value, s.source) for s in entry.synonyms] for key, entry in seen.items()}
    assert fallbacks["share.delivery.count.limit"] == [("group.share.delivery.count.limit", "5", DEFAULT)]
    assert fallbacks["streams.num.standby.replicas"] == [("group.streams.num.standby.replicas", "0", DEFAULT)]
    assert fallbacks["share.isolation.level"] == [("share.isolation.level", "read_uncommitted", DEFAULT)]


@pytest.mark.parametrize("key", BOUNDS)
def test_bounds_of_a_groups_numbers(connection: Connection, name: str, key: str) -> None:
    low, high = BOUNDS[key]
    codes = [alter(connection, GROUP, name, key, str(value)) for value in (low - 1, low, high, high + 1)]
    assert codes == [40, 0, 0, 40]
    assert [alter(connection, GROUP, name, key, value) for value in ("", "abc", "1.5")] == [40] * 3


@pytest.mark.parametrize("key", WORDS)
def test_words_of_a_groups_settings(connection: Connection, name: str, key: str) -> None:
    good, bad = WORDS[key]
    assert {value: alter(connection, GROUP, name, key, value) for value in good} == dict.fromkeys(good, 0)
    assert {value: alter(connection, GROUP, name, key, value) for value in bad} == dict.fromkeys(bad, 40)


def test_unknown_settings_of_a_group(connection: Connection, name: str) -> None:
    assert alter(connection, GROUP, name, "share.foo", "1") == 40
    assert alter(connection, GROUP, "", "share.session.timeout.ms", "45000") == 42
