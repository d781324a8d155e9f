"""Environment variables: settings, the variables of start scripts and Kubernetes, and those that are nearly settings."""

from __future__ import annotations

import pytest
from oncelog.broker.settings.environment import configs_in
from oncelog.broker.settings.sources import merge
from oncelog.protocol.errors import KafkaError

pytestmark = pytest.mark.unit


QUIET = [
    "KAFKA_HEAP_OPTS",
    "KAFKA_CREATE_TOPICS",
    "KAFKA_OPTS",
    "KAFKA_JVM_PERFORMANCE_OPTS",
    "KAFKA_GC_LOG_OPTS",
    "KAFKA_LOG4J_OPTS",
    "KAFKA_LOG4J_LOGGERS",
    "KAFKA_LOG4J_ROOT_LOGLEVEL",
    "KAFKA_TOOLS_LOG4J_LOGLEVEL",
    "KAFKA_JMX_OPTS",
    "KAFKA_JMX_PORT",
    "KAFKA_JMX_HOSTNAME",
    "KAFKA_VERSION",
    "KAFKA_SSL_KEYSTORE_FILENAME",
    "KAFKA_SSL_KEY_CREDENTIALS",
    "KAFKA_PORT",
    "KAFKA_SERVICE_HOST",
    "KAFKA_SERVICE_PORT_CLIENT",
    "KAFKA_PORT_9092_TCP_ADDR",
    "KAFKA_BROKER_SERVICE_PORT",
]


@pytest.mark.parametrize("name", QUIET)
def test_variables_of_others_are_no_settings(name: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger="oncelog"):
        assert merge(None, {name: "tcp://10.0.0.1:9092"}, []) == {}
    assert caplog.text == ""


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("KAFKA_ADVERTISED_LISTENER", "KAFKA_ADVERTISED_LISTENERS"),
        ("KAFKA_LISTENRS", "KAFKA_LISTENERS"),
        ("KAFKA_LISTENER_SECURITY_PROTOCOL_MPA", "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP"),
        ("KAFKA_AUTHORIZER_CLASS", "KAFKA_AUTHORIZER_CLASS_NAME"),
        ("KAFKA_SASL_ENABLED_MECHANISM", "KAFKA_SASL_ENABLED_MECHANISMS"),
        ("KAFKA_SUPER_USER", "KAFKA_SUPER_USERS"),
        ("KAFKA_CFG_ADVERTISED_LISTENERS", "KAFKA_ADVERTISED_LISTENERS"),
    ],
)
def test_a_misspelt_variable_is_refused(name: str, meant: str) -> None:
    with pytest.raises(KafkaError) as refused:
        merge(None, {name: "x"}, [])
    assert refused.value.message == f"{name} names no setting; did you mean {meant}?"


def test_far_names_are_told_and_ignored(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger="oncelog"):
        assert merge(None, {"KAFKA_WONDERS": "1", "KAFKA_NODE_ID": "7"}, []) == {"node.id": "7"}
    assert "KAFKA_WONDERS" in caplog.text


def test_the_images_cluster_id() -> None:
    assert merge(None, {"CLUSTER_ID": "4L6g3nShT-eMCtK--X86sw"}, []) == {"cluster.id": "4L6g3nShT-eMCtK--X86sw"}
    assert merge(None, {"CLUSTER_ID": "a", "KAFKA_CLUSTER_ID": "b"}, []) == {"cluster.id": "b"}


def test_a_list_of_added_listeners_may_be_empty() -> None:
    found = configs_in({"KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://localhost:9092,BROKER://172.17.0.2:9093,"}, {"advertised.listeners"})
    assert found == {"advertised.listeners": "PLAINTEXT://localhost:9092,BROKER://172.17.0.2:9093"}


def test_environment_names() -> None:
    given = {"KAFKA_LOG_DIRS": "a", "KAFKA_X__Y": "b", "KAFKA_LISTENER_NAME_TC___0_SSL": "c", "HOME": "d"}
    assert configs_in(given, {"log.dirs", "x_y"}) == {"log.dirs": "a", "x_y": "b", "listener.name.tc-0.ssl": "c"}


def test_unknown_environment_variables_are_left_alone() -> None:
    assert merge(None, {"KAFKA_HEAP_OPTS": "-Xmx1g", "KAFKA_NODE_ID": "7"}, []) == {"node.id": "7"}
