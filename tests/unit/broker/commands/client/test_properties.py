"""Client settings by Kafka's names and librdkafka's."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
from oncelog.broker.commands.client.properties import BadProperty, client_settings

pytestmark = pytest.mark.unit


def test_nothing_is_plain_text() -> None:
    settings = client_settings((), "me")
    assert (settings.security.tls, settings.security.mechanism, settings.client_id, settings.timeout_s) == (None, None, "me", 10.0)


@pytest.mark.parametrize(
    "credentials",
    [
        ("sasl.username=alice", "sasl.password=a=b"),
        ('sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="a=b";',),
    ],
)
def test_sasl(credentials: tuple[str, ...]) -> None:
    settings = client_settings(("security.protocol=SASL_PLAINTEXT", "sasl.mechanism=PLAIN", *credentials, "client.id=x"), "me")
    security = settings.security
    assert (security.tls, security.mechanism, security.username, security.password) == (None, "PLAIN", "alice", "a=b")
    assert (settings.client_id, "a=b" in repr(security)) == ("x", False)


def test_tls() -> None:
    checked = client_settings(("security.protocol=SSL",), "me").security.tls
    unchecked = client_settings(("security.protocol=ssl", "enable.ssl.certificate.verification=false"), "me").security.tls
    anyhow = client_settings(("security.protocol=SSL", "ssl.endpoint.identification.algorithm="), "me").security.tls
    assert checked is not None
    assert unchecked is not None
    assert anyhow is not None
    assert [(each.check_hostname, each.verify_mode) for each in (checked, unchecked, anyhow)] == [
        (True, ssl.CERT_REQUIRED),
        (False, ssl.CERT_NONE),
        (False, ssl.CERT_REQUIRED),
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        ("acks=all",),
        ("client.id",),
        ("security.protocol=KERBEROS",),
        ("security.protocol=SASL_PLAINTEXT",),
        ("security.protocol=SASL_PLAINTEXT", "sasl.mechanism=GSSAPI"),
        ("security.protocol=SASL_PLAINTEXT", "sasl.mechanism=PLAIN", "sasl.username=alice"),
        ("security.protocol=SASL_PLAINTEXT", "sasl.mechanism=PLAIN", "sasl.jaas.config=nonsense"),
        ("request.timeout.ms=soon",),
        ("request.timeout.ms=0",),
        ("security.protocol=SSL", "ssl.ca.location=/no/such/file.pem"),
    ],
)
def test_what_is_refused(wrong: tuple[str, ...]) -> None:
    with pytest.raises(BadProperty):
        client_settings(wrong, "me")


def test_a_keystore_of_javas(tmp_path: Path) -> None:
    (tmp_path / "store.jks").write_bytes(b"\xfe\xed\xfe\xed")
    with pytest.raises(BadProperty, match="PEM"):
        client_settings(("security.protocol=SSL", f"ssl.keystore.location={tmp_path}/store.jks"), "me")
