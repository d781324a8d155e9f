"""TLS contexts from Kafka's option names, and principals of certificates."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest
from oncelog.broker.auth.tls import NoMatchingRule, distinguished_name, peer_principal, principal_mapper, server_context
from oncelog.protocol.errors import ErrorCode, KafkaError

pytestmark = pytest.mark.unit


@pytest.fixture(scope="module")
def pem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed key and certificate in one file."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl to make a certificate with")
    folder = tmp_path_factory.mktemp("tls")
    made = folder / "key.pem", folder / "cert.pem"
    new = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost/O=x"]
    subprocess.run([openssl, *new, "-keyout", made[0], "-out", made[1]], check=True, capture_output=True)
    both = folder / "both.pem"
    both.write_text(made[0].read_text() + made[1].read_text())
    return both


def test_a_pem_file_as_key_store(pem: Path) -> None:
    context = server_context({"ssl.keystore.type": "PEM", "ssl.keystore.location": str(pem)}, "SSL")
    assert (context.verify_mode, context.minimum_version) == (ssl.CERT_NONE, ssl.TLSVersion.TLSv1_2)


def test_key_and_chain_in_the_settings_and_a_demand_for_client_certificates(pem: Path) -> None:
    text = pem.read_text()
    certificate = text[text.index("-----BEGIN CERTIFICATE") :]
    values = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": text[: text.index("-----BEGIN CERTIFICATE")],
        "ssl.keystore.certificate.chain": certificate,
        "ssl.truststore.certificates": certificate,
        "ssl.client.auth": "none",
        "listener.name.secure.ssl.client.auth": "required",
        "ssl.enabled.protocols": "TLSv1.3",
    }
    context = server_context(values, "SECURE")
    assert (context.verify_mode, context.minimum_version) == (ssl.CERT_REQUIRED, ssl.TLSVersion.TLSv1_3)
    assert server_context(values, "OTHER").verify_mode == ssl.CERT_NONE


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "needs a key"),
        ({"ssl.keystore.location": "/x/broker.jks"}, "openssl pkcs12"),
        ({"ssl.keystore.type": "PEM", "ssl.keystore.location": "/no/such.pem"}, "cannot be used"),
        ({"ssl.client.auth": "maybe"}, "ssl.client.auth"),
        ({"ssl.enabled.protocols": "SSLv3"}, "ssl.enabled.protocols"),
    ],
)
def test_what_is_wrong_is_said(values: dict[str, str], said: str) -> None:
    with pytest.raises(KafkaError, match=said) as refused:
        server_context(values, "SSL")
    assert refused.value.code is ErrorCode.INVALID_CONFIG


CERTIFICATE = {"subject": ((("countryName", "DE"),), (("organizationName", "a, b"),), (("commonName", "alice"),))}


def test_the_name_of_a_certificate_as_java_prints_it() -> None:
    assert distinguished_name(CERTIFICATE) == "CN=alice,O=a\\, b,C=DE"
    assert peer_principal(CERTIFICATE, principal_mapper("DEFAULT")) == "User:CN=alice,O=a\\, b,C=DE"
    assert peer_principal(None, principal_mapper("DEFAULT")) == "User:ANONYMOUS"


@pytest.mark.parametrize(
    ("rules", "user"),
    [
        ("RULE:^CN=(.*?),O=.*$/$1/,DEFAULT", "alice"),
        ("RULE:^CN=(.*?),O=.*$/$1@x/U,DEFAULT", "ALICE@X"),
        ("RULE:^OU=(.*)$/$1/,RULE:^.*C=(..)$/$1/L", "de"),
        ("RULE:^OU=(.*)$/$1/,DEFAULT", "CN=alice,O=a\\, b,C=DE"),
    ],
)
def test_mapping_rules(rules: str, user: str) -> None:
    assert principal_mapper(rules)(distinguished_name(CERTIFICATE)) == user


@pytest.mark.parametrize("rules", ["RULE:^OU=(.*)$/$1/", "RULE:^CN=b$/b/,RULE:^CN=c$/c/", "", " "])
def test_a_name_without_a_rule_is_nobodys(rules: str) -> None:
    with pytest.raises(NoMatchingRule, match=r"no rule of ssl\.principal\.mapping\.rules applies to CN=alice,O="):
        peer_principal(CERTIFICATE, principal_mapper(rules))
    assert peer_principal(None, principal_mapper(rules)) == "User:ANONYMOUS"


@pytest.mark.parametrize(("size", "head"), [(0, "1300"), (127, "137f"), (128, "138180"), (255, "1381ff"), (256, "13820100")])
def test_an_attribute_by_number_is_in_der(size: int, head: str) -> None:
    name = distinguished_name({"subject": ((("serialNumber", "1" * size),),)})
    assert name == f"2.5.4.5=#{head}{'31' * size}"


def test_rules_count_in_their_order() -> None:
    assert principal_mapper("DEFAULT,RULE:^CN=(.*)$/$1/")("CN=alice") == "CN=alice"
    assert principal_mapper("RULE:^CN=(.*)$/$1/,DEFAULT")("CN=alice") == "alice"


def enabled(context: ssl.SSLContext) -> set[str]:
    return {cipher["name"] for cipher in context.get_ciphers() if cipher["protocol"] != "TLSv1.3"}


def test_suites_have_the_names_of_iana_and_openssl(pem: Path) -> None:
    listed = subprocess.run(
        ["openssl", "ciphers", "-s", "-tls1_2", "-stdname", "ECDHE:DHE:RSA"], check=True, capture_output=True, text=True
    ).stdout
    pairs = [(iana, name) for iana, _, name, *_ in map(str.split, listed.splitlines()) if "_WITH_" in iana and "ARIA" not in iana]
    assert len(pairs) > 20
    for iana, name in pairs:
        values = {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(pem), "ssl.cipher.suites": iana}
        assert enabled(server_context(values, "SSL")) == {name}
        assert enabled(server_context({**values, "ssl.cipher.suites": name}, "SSL")) == {name}


@pytest.mark.parametrize(
    ("suites", "versions"),
    [
        ("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", ("TLSv1_2", "TLSv1_2")),
        ("TLS_AES_256_GCM_SHA384", ("TLSv1_3", "TLSv1_3")),
        ("TLS_AES_256_GCM_SHA384,TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", ("TLSv1_2", "TLSv1_3")),
    ],
)
def test_a_version_without_a_suite_is_off(pem: Path, suites: str, versions: tuple[str, str]) -> None:
    context = server_context({"ssl.keystore.type": "PEM", "ssl.keystore.location": str(pem), "ssl.cipher.suites": suites}, "SSL")
    assert (context.minimum_version.name, context.maximum_version.name) == versions


@pytest.mark.parametrize(
    "values", [{"ssl.cipher.suites": "NONSENSE"}, {"ssl.cipher.suites": "AES128-SHA", "ssl.enabled.protocols": "TLSv1.3"}]
)
def test_suites_that_serve_nobody_are_refused(pem: Path, values: dict[str, str]) -> None:
    with pytest.raises(KafkaError, match=r"ssl\.cipher\.suites"):
        server_context({"ssl.keystore.type": "PEM", "ssl.keystore.location": str(pem), **values}, "SSL")


def test_a_rule_that_is_none() -> None:
    with pytest.raises(KafkaError):
        principal_mapper("NONSENSE")
