"""TLS listeners, each certificate and version of a client, held to what clients saw of Apache Kafka 4.3.0.

python tests/referee/record_tls.py      records tests/golden/tls_4.3.0.json anew from a real Apache Kafka
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import tls_sweep as tls
from support.certificates import openssl
from support.process import BrokerProcess

pytestmark = pytest.mark.skipif(openssl() is None, reason="no openssl to make certificates with")
GOLDEN = Path(__file__).parents[1] / "golden" / "tls_4.3.0.json"
RECORDED: dict[str, str] = json.loads(GOLDEN.read_text())
_EXACT = "OpenSSL's alert says what is wrong with the certificate, Java's only that something is"

# (end of Kafka's line, end of ours) and why; nobody whom Kafka turns away is let in
DIFFERENCES = {
    ("SSLV3_ALERT_CERTIFICATE_UNKNOWN", "TLSV1_ALERT_UNKNOWN_CA"): _EXACT,
    ("SSLV3_ALERT_CERTIFICATE_UNKNOWN", "SSLV3_ALERT_CERTIFICATE_EXPIRED"): _EXACT,
    ("SSLV3_ALERT_BAD_CERTIFICATE", "SSLV3_ALERT_HANDSHAKE_FAILURE"): "RFC 5246, 7.4.6: the alert for no certificate in TLS 1.2",
    ("SSLV3_ALERT_BAD_CERTIFICATE", "TLSV13_ALERT_CERTIFICATE_REQUIRED"): "RFC 8446, 4.4.2.4: the alert for no certificate in TLS 1.3",
    ("request: TLS alert 15030300020250", "request: closed"): "plain text has no use for an alert",
    (
        "client refuses: unable to get local issuer certificate",
        "client refuses: self-signed certificate in certificate chain",
    ): "OpenSSL sends the authority's own certificate along when it has it",
    ("TLSv1.2 AES128-SHA: ANONYMOUS", "handshake: SSLV3_ALERT_HANDSHAKE_FAILURE"): "Python leaves out suites without forward secrecy",
    (
        "TLSv1.3 TLS_AES_128_GCM_SHA256: ANONYMOUS",
        "TLSv1.3 TLS_AES_256_GCM_SHA384: ANONYMOUS",
    ): "Python's ssl module cannot choose between suites of TLS 1.3",
}


@pytest.fixture(scope="module")
def seen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Visit -> what its client saw, of a broker with TLS listeners."""
    if request.config.getoption("--bootstrap"):
        pytest.skip("needs a broker with these certificates; the recording is a real Kafka's")
    ports = tls.free_listeners()
    certificates = tls.Certificates(tmp_path_factory.mktemp("certificates"))
    process = BrokerProcess(tmp_path_factory.mktemp("tls") / "data", tls.settings(ports, certificates))
    process.port = ports["PLAINTEXT"]
    with process:
        tls.prepare(ports)
        yield tls.sweep(ports, certificates)


def _difference(kafkas: str, ours: str) -> tuple[str, str] | None:
    return next((pair for pair in DIFFERENCES if kafkas.endswith(pair[0]) and ours == kafkas.removesuffix(pair[0]) + pair[1]), None)


def test_the_recording_is_of_these_visits() -> None:
    assert set(RECORDED) == {visit.name for visit in tls.visits()}


@pytest.mark.parametrize("name", RECORDED)
def test_as_clients_see_kafka(seen: dict[str, str], name: str) -> None:
    assert seen[name] == RECORDED[name] or _difference(RECORDED[name], seen[name]), RECORDED[name]


def test_every_difference_still_is_one(seen: dict[str, str]) -> None:
    assert {_difference(RECORDED[name], ours) for name, ours in seen.items() if ours != RECORDED[name]} == set(DIFFERENCES)
