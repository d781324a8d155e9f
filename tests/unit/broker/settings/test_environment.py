"""Environment variables: settings, the variables of start scripts and Kubernetes, and those that are nearly settings."""

from __future__ import annotations

import pytest
from oncelog.broker.settings.environment import configs_in
from oncelog.broker.settings.load import load
from oncelog.broker.settings.sources import merge
from oncelog.broker.settings.start import start_configs
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


# what examples of others have in their compose files; `KRAFT` in all that need no ZooKeeper
KRAFT = """
    KAFKA_NODE_ID=1 KAFKA_PROCESS_ROLES=broker,controller KAFKA_CONTROLLER_QUORUM_VOTERS=1@broker:29093
    KAFKA_CONTROLLER_LISTENER_NAMES=CONTROLLER KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR=1 KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS=0
    KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR=1 KAFKA_TRANSACTION_STATE_LOG_MIN_ISR=1 KAFKA_LOG_DIRS=/tmp/kraft-combined-logs
    CLUSTER_ID=MkU3OEVBNTcwNTJENDM2Qk
"""
ZOOKEEPER = "KAFKA_BROKER_ID=1 KAFKA_ZOOKEEPER_CONNECT=zookeeper:2181"
COMPOSE_FILES = {
    "cp-kafka": (
        f"""{KRAFT} KAFKA_LISTENERS=PLAINTEXT://broker:29092,CONTROLLER://broker:29093,PLAINTEXT_HOST://0.0.0.0:9092
        KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,PLAINTEXT_HOST:PLAINTEXT
        KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://broker:29092,PLAINTEXT_HOST://localhost:9092 KAFKA_INTER_BROKER_LISTENER_NAME=PLAINTEXT
        KAFKA_JMX_PORT=9101 KAFKA_JMX_HOSTNAME=localhost KAFKA_CONFLUENT_LICENSE_TOPIC_REPLICATION_FACTOR=1
        KAFKA_CONFLUENT_SCHEMA_REGISTRY_URL=http://schema-registry:8081 CONFLUENT_METRICS_ENABLE=true
        KAFKA_METRIC_REPORTERS=io.confluent.metrics.reporter.ConfluentMetricsReporter KAFKA_REST_BOOTSTRAP_SERVERS=broker:29092""",
        {"PLAINTEXT": ("broker", 29092), "PLAINTEXT_HOST": ("localhost", 9092)},
    ),
    "cp-kafka with ZooKeeper": (
        f"""{ZOOKEEPER} KAFKA_ZOOKEEPER_SESSION_TIMEOUT_MS=6000 KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=IN:PLAINTEXT,OUT:PLAINTEXT
        KAFKA_ADVERTISED_LISTENERS=IN://broker:29092,OUT://localhost:9092 KAFKA_INTER_BROKER_LISTENER_NAME=IN
        KAFKA_LOG4J_ROOT_LOGLEVEL=WARN KAFKA_LOG4J_LOGGERS=kafka.controller=INFO KAFKA_HEAP_OPTS=-Xmx256M KAFKA_NUM_PARTITIONS=3
        KAFKA_AUTO_CREATE_TOPICS_ENABLE=false KAFKA_SCHEMA_REGISTRY_URL=registry:8081 KAFKA_CONFLUENT_SUPPORT_METRICS_ENABLE=false""",
        {"IN": ("broker", 29092), "OUT": ("localhost", 9092)},
    ),
    "apache/kafka": (
        f"""{KRAFT} KAFKA_LISTENERS=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
        KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:9092
        KAFKA_SHARE_COORDINATOR_STATE_TOPIC_REPLICATION_FACTOR=1 KAFKA_SHARE_COORDINATOR_STATE_TOPIC_MIN_ISR=1""",
        {"PLAINTEXT": ("localhost", 9092)},
    ),
    "wurstmeister/kafka": (
        f"""{ZOOKEEPER} KAFKA_CREATE_TOPICS=orders:3:1 KAFKA_ADVERTISED_HOST_NAME=kafka
        KAFKA_LISTENERS=INSIDE://0.0.0.0:9092,OUTSIDE://0.0.0.0:9093 KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT
        KAFKA_ADVERTISED_LISTENERS=INSIDE://kafka:9092,OUTSIDE://localhost:9093 KAFKA_INTER_BROKER_LISTENER_NAME=INSIDE""",
        {"INSIDE": ("kafka", 9092), "OUTSIDE": ("localhost", 9093)},
    ),
}


@pytest.mark.parametrize("name", COMPOSE_FILES)
def test_variables_of_compose_files_for_other_images(name: str) -> None:
    text, advertised = COMPOSE_FILES[name]
    environment = dict(pair.split("=", 1) for pair in text.split())
    config = load(start_configs(None, None, None, (), False, {"ONCELOG_HOST": "0.0.0.0", **environment}))
    assert config.advertised == advertised
    assert {listener.name: listener.port for listener in config.listeners} == {name: port for name, (_, port) in advertised.items()}
    assert config.server.node_id == 1
    assert config.server.cluster_id == environment.get("CLUSTER_ID", "")
