"""Settings that Apache Kafka refuses to start with, and ours: the verdict of Kafka 4.3.0's KafkaConfig stands beside each."""

from __future__ import annotations

import pytest
from oncelog.broker.settings.listeners import ListenerConfig
from oncelog.broker.settings.load import load
from oncelog.protocol.errors import ErrorCode, KafkaError

pytestmark = pytest.mark.unit


BOTH = "PLAINTEXT://127.0.0.1:9292,CONTROLLER://127.0.0.1:9393"


SSL = "PLAINTEXT://127.0.0.1:9292,SSL://"


STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


SASL = {
    "listeners": "SASL_PLAINTEXT://127.0.0.1:9292",
    "inter.broker.listener.name": "SASL_PLAINTEXT",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
}


# settings, and what the refusal says; Apache Kafka refuses each of them too
REFUSED: list[tuple[dict[str, str], str]] = [
    ({"node.id": "-1"}, "node.id"),
    ({"node.id": "1", "broker.id": "3"}, "node.id=1 and broker.id=3"),
    ({"process.roles": "controller"}, "set process.roles=broker,controller"),
    ({"process.roles": "nonsense"}, "process.roles"),
    ({"process.roles": ""}, "process.roles"),
    ({"controller.quorum.voters": "2@127.0.0.1:9393"}, "does not name node 1"),
    ({"controller.quorum.voters": "nonsense"}, "ID@HOST:PORT"),
    ({"listeners": ""}, "listeners"),
    ({"listeners": "127.0.0.1:9292"}, "NAME://host:port"),
    ({"listeners": "CONTROLLER://127.0.0.1:9393"}, "at least one listener"),
    ({"listeners": "ODD://127.0.0.1:9292"}, "add ODD:PROTOCOL to listener.security.protocol.map"),
    ({"listeners": "PLAINTEXT://127.0.0.1:9292,plaintext://127.0.0.1:9293"}, "more than once"),
    ({"listeners": "PLAINTEXT://127.0.0.1:9292,CONTROLLER://127.0.0.1:9292"}, "share port 9292"),
    ({"listeners": f"{SSL}127.0.0.1:9292"}, "share port 9292"),
    ({"listeners": f"{SSL}127.0.0.2:9292"}, "share port 9292"),
    ({"listeners": "PLAINTEXT://:9292,SSL://:9292"}, "share port 9292"),
    ({"listeners": "PLAINTEXT://localhost:9292,SSL://other:9292"}, "share port 9292"),
    ({"advertised.listeners": "OTHER://h:1"}, "OTHER has no security protocol"),
    ({"advertised.listeners": "SSL://h:1"}, "SSL is none of the listeners"),
    ({"advertised.listeners": "PLAINTEXT://0.0.0.0:9092"}, "nobody can dial"),
    ({"advertised.listeners": "PLAINTEXT://a:1,PLAINTEXT://b:2"}, "more than once"),
    ({"advertised.listeners": ""}, "must not be empty"),
    ({"inter.broker.listener.name": "OTHER"}, "OTHER has no security protocol"),
    ({"inter.broker.listener.name": "SSL"}, "none of the advertised listeners"),
    ({"inter.broker.listener.name": "CONTROLLER", "listeners": BOTH}, "none of the advertised listeners"),
    ({"inter.broker.listener.name": ""}, "inter.broker.listener.name"),
    ({"inter.broker.listener.name": "PLAINTEXT", "security.inter.broker.protocol": "PLAINTEXT"}, "not both"),
    ({"security.inter.broker.protocol": "SSL"}, "none of the advertised listeners"),
    ({"security.inter.broker.protocol": "BOGUS"}, "BOGUS"),
    ({"listener.security.protocol.map": "OTHER:SSL"}, "listener PLAINTEXT has no security protocol"),
    ({"listener.security.protocol.map": ""}, "listener PLAINTEXT has no security protocol"),
    ({"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT", "listeners": BOTH}, "listener CONTROLLER has no security protocol"),
    ({"listener.security.protocol.map": "PLAINTEXT:BOGUS"}, "NAME:PROTOCOL"),
    ({"listener.security.protocol.map": "PLAINTEXT"}, "NAME:PROTOCOL"),
    ({"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,plaintext:SSL"}, "PLAINTEXT is both"),
    ({**SASL, "sasl.enabled.mechanisms": "SCRAM-SHA-256"}, "not among sasl.enabled.mechanisms"),
    ({"super.users": "alice", "authorizer.class.name": STANDARD}, "write User:alice"),
    ({"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer"}, "authorizer.class.name"),
    ({"max.connections": "-1"}, "max.connections"),
    ({"max.connections.per.ip": "-1"}, "max.connections.per.ip"),
    ({"max.connection.creation.rate": "-1"}, "max.connection.creation.rate"),
    ({"connections.max.idle.ms": "100"}, "must be more than"),
    ({"connections.max.idle.ms": "0"}, "must be more than"),
    ({"connection.failed.authentication.delay.ms": "700000"}, "must be more than"),
    ({"queued.max.request.bytes": "10"}, "socket.request.max.bytes"),
    ({"socket.request.max.bytes": "0"}, "socket.request.max.bytes"),
    ({"early.start.listeners": "BOGUS"}, "early.start.listeners"),
    ({"log.dirs": ""}, "log.dirs"),
    ({"ssl.client.auth": "maybe"}, "ssl.client.auth"),
]


# settings that Apache Kafka takes and we cannot serve
OURS: list[tuple[dict[str, str], str]] = [
    ({"log.dirs": "/tmp/a,/tmp/b"}, "one directory"),  # there are no others
    ({"process.roles": "broker"}, "set process.roles=broker,controller"),  # it waits for a controller elsewhere
    ({"listeners": "PLAINTEXT://127.0.0.1:99999"}, "NAME://host:port"),  # it fails at the socket
    ({"advertised.listeners": "PLAINTEXT://[::]:9092"}, "nobody can dial"),
    ({"super.users": "alice"}, "write User:alice"),  # it does not read it without an authorizer
    ({"super.users": "User:", "authorizer.class.name": STANDARD}, "User:NAME"),
    ({"sasl.enabled.mechanisms": "BOGUS"}, "sasl.enabled.mechanisms"),  # it fails when the listener is made
    ({"ssl.enabled.protocols": "SSLv9"}, "ssl.enabled.protocols"),
]


TAKEN: list[dict[str, str]] = [
    {"node.id": "3", "broker.id": "3"},
    {"process.roles": "broker,controller", "node.id": "1", "controller.quorum.voters": "1@[::1]:9393"},
    {"listeners": BOTH},
    {"listeners": "plaintext://127.0.0.1:9292"},
    {"listeners": f"{SSL}[::1]:9292"},
    {"listeners": "PLAINTEXT://:0,SSL://:0"},
    {"listeners": BOTH, "advertised.listeners": "PLAINTEXT://a:1,CONTROLLER://b:2"},
    {"advertised.listeners": "PLAINTEXT://:9092"},
    {"advertised.listeners": "plaintext://a:1"},
    {"inter.broker.listener.name": "plaintext"},
    {"security.inter.broker.protocol": "PLAINTEXT"},
    {"listener.security.protocol.map": "plaintext:plaintext,controller:plaintext", "listeners": BOTH},
    {**SASL, "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256"},
    {**SASL, "sasl.enabled.mechanisms": "", "listener.name.sasl_plaintext.sasl.enabled.mechanisms": "PLAIN"},
    {"super.users": "User:a;;User:b;", "authorizer.class.name": STANDARD},
    {"super.users": "User:CN=a,O=b", "authorizer.class.name": STANDARD},
    {"connections.max.idle.ms": "101"},
    {"connections.max.idle.ms": "-1"},
    {"early.start.listeners": "PLAINTEXT"},
    {"zookeeper.connect": "localhost:2181"},
]


@pytest.mark.parametrize(("values", "said"), REFUSED + OURS, ids=lambda part: str(part)[:100])
def test_refused(values: dict[str, str], said: str) -> None:
    with pytest.raises(KafkaError) as refused:
        load(values)
    assert refused.value.code is ErrorCode.INVALID_CONFIG
    assert said in refused.value.message
    assert "\n" not in refused.value.message


@pytest.mark.parametrize("values", TAKEN, ids=lambda part: str(part)[:100])
def test_taken(values: dict[str, str]) -> None:
    assert load(values).listeners


def test_an_advertised_address_may_leave_host_or_port_to_what_was_dialled() -> None:
    settings = load({"listeners": "PLAINTEXT://:9092,SSL://:9093", "advertised.listeners": "PLAINTEXT://:19092,SSL://broker:0"})
    assert settings.advertised == {"PLAINTEXT": ("", 19092), "SSL": ("broker", 0)}


def test_settings_of_a_listener_that_is_not_there_are_told(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("WARNING", logger="oncelog"):
        load({"listener.name.sasl-ssl.ssl.client.auth": "required"})
    assert "there is no listener sasl-ssl" in caplog.text


def test_listeners() -> None:
    settings = load(
        {
            "listeners": "PLAINTEXT://:9092,BROKER://0.0.0.0:9093,CONTROLLER://:9094,TC-0://[::1]:0",
            "advertised.listeners": "PLAINTEXT://example:19092",
            "listener.security.protocol.map": "BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,TC-0:SASL_SSL",
            "controller.listener.names": "CONTROLLER",
        }
    )
    assert settings.listeners == (
        ListenerConfig("PLAINTEXT", "0.0.0.0", 9092, "PLAINTEXT"),
        ListenerConfig("BROKER", "0.0.0.0", 9093, "PLAINTEXT"),
        ListenerConfig("TC-0", "::1", 0, "SASL_SSL"),
    )
    assert settings.advertised == {"PLAINTEXT": ("example", 19092)}


@pytest.mark.parametrize(
    "values",
    [
        {"listeners": "PLAINTEXT:9092"},
        {"listeners": "PLAINTEXT://:99999"},
        {"listeners": "ODD://:9092"},
        {"listeners": "PLAINTEXT://:1,PLAINTEXT://:2"},
        {"listeners": "CONTROLLER://:1"},
        {"advertised.listeners": "PLAINTEXT://0.0.0.0:9092"},
    ],
)
def test_listeners_that_cannot_be(values: dict[str, str]) -> None:
    with pytest.raises(KafkaError, match="listener"):
        load(values)
