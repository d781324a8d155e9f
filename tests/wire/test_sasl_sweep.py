"""Logins of every kind, in and out of order, held to what Apache Kafka 4.3.0 answered.

python tests/referee/record_sasl.py      records tests/golden/sasl_4.3.0.json anew from a real Apache Kafka
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import sasl_sweep as sasl
from support.process import BrokerProcess

GOLDEN = Path(__file__).parents[1] / "golden" / "sasl_4.3.0.json"
RECORDED: dict[str, list[str]] = json.loads(GOLDEN.read_text())

HANDSHAKE = f"SaslHandshake 0 {','.join(sasl.MECHANISMS)}"
CHALLENGE = "challenge i=4096 nonce=True salt=0123456789abcdef"
INVALID = "SaslAuthenticate 58 empty 'Authentication failed during authentication due to invalid credentials with SASL mechanism {}'"

# sequence -> (what is seen here, why)
DIFFERENCES: dict[str, tuple[list[str], str]] = {
    "LOGIN: SCRAM token: mandatory extension": (
        [HANDSHAKE, INVALID.format("SCRAM-SHA-256"), "Metadata closed"],
        "RFC 5802, 5.1: an extension that must be understood, and is not, fails the authentication",
    ),
    "LOGIN: SCRAM bare token: mandatory extension": ([HANDSHAKE, "token closed"], "as above"),
    "LOGIN: SCRAM last token: short proof": (
        [HANDSHAKE, f"SaslAuthenticate 0 {CHALLENGE} ''", INVALID.format("SCRAM-SHA-512"), "Metadata closed"],
        "Kafka fails with an error of its own (an index out of bounds) and says nothing",
    ),
    "LOGIN: SCRAM last token: extension unproved": (
        [HANDSHAKE, f"SaslAuthenticate 0 {CHALLENGE} ''", INVALID.format("SCRAM-SHA-512"), "Metadata closed"],
        "RFC 5802, 3: the proof covers the whole message before it; Kafka leaves extensions out",
    ),
    "LOGIN: SCRAM last bare token: extension unproved": ([HANDSHAKE, f"token {CHALLENGE}", "token closed"], "as above"),
}


@pytest.fixture(scope="module")
def seen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, list[str]]]:
    """Sequence -> lines, of a broker with listeners for logins."""
    if request.config.getoption("--bootstrap"):
        pytest.skip("needs a broker with users; the recording is a real Kafka's")
    ports = sasl.free_listeners()
    process = BrokerProcess(tmp_path_factory.mktemp("sasl") / "data", sasl.settings(ports))
    process.port = ports["PLAINTEXT"]
    with process:
        sasl.prepare(ports)
        yield sasl.sweep(ports)


def test_the_recording_is_of_these_sequences() -> None:
    assert set(RECORDED) == {f"{listener}: {what}" for listener, what, _ in sasl.sequences()}


@pytest.mark.parametrize("name", RECORDED)
def test_as_kafka_answers(seen: dict[str, list[str]], name: str) -> None:
    assert seen[name] == (DIFFERENCES[name][0] if name in DIFFERENCES else RECORDED[name])


def test_every_difference_is_one() -> None:
    assert [name for name, (ours, _) in DIFFERENCES.items() if ours == RECORDED[name]] == []
