"""`oncelog doctor` against listeners with TLS and SASL: it names the cause, and what to do."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from oncelog.broker.commands.client.wire import Security
from oncelog.broker.commands.doctor import examine
from support.certificates import Authority, openssl
from support.process import BrokerProcess, free_port

pytestmark = pytest.mark.skipif(openssl() is None, reason="no openssl to make certificates with")
LISTENERS = {"PLAINTEXT": "PLAINTEXT", "SSL": "SSL", "MUTUAL": "SSL", "LOGIN": "SASL_PLAINTEXT", "BOTH": "SASL_SSL"}
USERS = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="secret";'


class World(NamedTuple):
    """A broker's ports, its authority, and one that it does not know."""

    ports: dict[str, int]
    authority: Authority
    stranger: Authority


@pytest.fixture(scope="module")
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    if request.config.getoption("--bootstrap"):
        pytest.skip("needs a broker with these listeners")
    authority, stranger = Authority(tmp_path_factory.mktemp("ca")), Authority(tmp_path_factory.mktemp("stranger"))
    ports = {name: free_port() for name in LISTENERS}
    where = ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items())
    settings = {
        "listeners": where,
        "advertised.listeners": where,
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in LISTENERS.items()),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(authority.issue("localhost")),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(authority.certificate),
        "listener.name.mutual.ssl.client.auth": "required",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.login.plain.sasl.jaas.config": USERS,
        "listener.name.both.plain.sasl.jaas.config": USERS,
    }
    broker = BrokerProcess(tmp_path_factory.mktemp("doctor") / "data", settings)
    broker.port = ports["PLAINTEXT"]
    with broker:
        yield World(ports, authority, stranger)


def security(world: World, *options: str) -> Security:
    """Of a client, in words."""
    tls = None
    if "tls" in options:
        tls = ssl.create_default_context(cafile=str((world.stranger if "stranger" in options else world.authority).certificate))
        if "1.2" in options:
            tls.maximum_version = ssl.TLSVersion.TLSv1_2
        if "certificate" in options:
            tls.load_cert_chain(world.authority.issue("alice"))
    if "login" not in options:
        return Security(tls)
    return Security(tls, "SCRAM-SHA-256" if "scram" in options else "PLAIN", "alice", "wrong" if "wrong" in options else "secret")


@pytest.mark.parametrize(
    ("listener", "options"),
    [("PLAINTEXT", ""), ("SSL", "tls"), ("MUTUAL", "tls certificate"), ("LOGIN", "login"), ("BOTH", "tls login")],
)
def test_nothing_is_wrong(world: World, listener: str, options: str) -> None:
    found = examine("127.0.0.1", world.ports[listener], security(world, *options.split()), 10.0)
    assert [(finding.ok, finding.step, finding.advice) for finding in found] == [(True, "all steps", "")]


@pytest.mark.parametrize(
    ("listener", "options", "step", "detail", "advice"),
    [
        ("SSL", "tls stranger", "TLS", "certificate is not accepted", "--ca"),
        ("SSL", "", "ApiVersions", "closed the connection", "The port speaks TLS"),
        ("MUTUAL", "", "ApiVersions", "closed the connection", "The port speaks TLS"),
        ("MUTUAL", "tls", "TLS", "alert certificate required", "--cert"),
        ("MUTUAL", "tls 1.2", "TLS", "alert handshake failure", "--cert"),
        ("PLAINTEXT", "tls", "TLS", "may speak plain text", "--security-protocol PLAINTEXT or SASL_PLAINTEXT"),
        ("LOGIN", "tls login", "TLS", "may speak plain text", "--security-protocol PLAINTEXT or SASL_PLAINTEXT"),
        ("LOGIN", "login wrong", "authentication", "Invalid username or password", "Check user, password"),
        ("BOTH", "tls login wrong", "authentication", "Invalid username or password", "Check user, password"),
        ("LOGIN", "login scram", "authentication", "does not offer SCRAM-SHA-256; it offers: PLAIN", "one of these"),
        ("LOGIN", "", "metadata", "closed the connection", "it wants SASL"),
        ("BOTH", "login", "ApiVersions", "closed the connection", "The port speaks TLS"),
        ("PLAINTEXT", "login", "authentication", "takes no SASL", "Leave out --username"),
    ],
)
def test_the_cause_is_told(world: World, listener: str, options: str, step: str, detail: str, advice: str) -> None:
    (found,) = examine("127.0.0.1", world.ports[listener], security(world, *options.split()), 10.0)
    assert (found.ok, found.step) == (False, step)
    assert detail in found.detail
    assert advice in found.advice
