"""The doctor's findings."""

from __future__ import annotations

import json
from typing import Any

import pytest
from oncelog.broker.commands import doctor
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from support.scripted_broker import ScriptedBroker, run

pytestmark = pytest.mark.unit


# --- the doctor


def findings(capsys: pytest.CaptureFixture[str], broker: ScriptedBroker, *arguments: str) -> tuple[int, list[dict[str, Any]]]:
    status = run(doctor.app, "--format", "json", "--timeout", "5", *arguments, broker=broker)
    return status, json.loads(capsys.readouterr().out)


def test_a_broker_in_good_health(broker: ScriptedBroker, capsys: pytest.CaptureFixture[str]) -> None:
    status, found = findings(capsys, broker)
    assert (status, [each["ok"] for each in found]) == (0, [True])


def test_an_advertised_address_that_cannot_be_reached(broker: ScriptedBroker, capsys: pytest.CaptureFixture[str]) -> None:
    broker.advertised = ("no-such-host.invalid", 9092)
    status, found = findings(capsys, broker)
    assert (status, found[-1]["step"]) == (3, "advertised address")
    assert "advertised.listeners" in found[-1]["advice"]


def test_an_advertised_address_of_another_cluster(broker: ScriptedBroker, capsys: pytest.CaptureFixture[str]) -> None:
    other = ScriptedBroker()
    other.cluster_id = "cluster-b"
    broker.advertised = ("127.0.0.1", other.port)
    status, found = findings(capsys, broker)
    assert (status, found[-1]["step"]) == (3, "advertised address")
    assert "another cluster" in found[-1]["advice"]
    other.close()


@pytest.mark.parametrize(
    ("arguments", "step", "advice"),
    [
        (["--insecure"], "TLS", "PLAINTEXT"),
        (["--username", "a", "--password", "b"], "authentication", "Leave out --username"),
    ],
)
def test_the_wrong_protocol(
    broker: ScriptedBroker, capsys: pytest.CaptureFixture[str], arguments: list[str], step: str, advice: str
) -> None:
    broker.answers[ApiKey.SASL_HANDSHAKE] = lambda version, request: messages.SaslHandshakeResponse(error_code=34, mechanisms=[])
    status, found = findings(capsys, broker, *arguments)
    assert (status, found[0]["step"], advice in found[0]["advice"]) == (3, step, True)


def test_a_broker_that_wants_authentication(broker: ScriptedBroker, capsys: pytest.CaptureFixture[str]) -> None:
    del broker.answers[ApiKey.METADATA]
    broker.answers[ApiKey.API_VERSIONS] = lambda version, request: messages.ApiVersionsResponse(
        api_keys=[messages.ApiVersionsResponse.ApiVersion(api_key=3, min_version=0, max_version=12)]
    )
    status, found = findings(capsys, broker)
    assert (status, "SASL" in found[0]["advice"]) == (3, True)


def test_nobody_listens(capsys: pytest.CaptureFixture[str]) -> None:
    gone = ScriptedBroker()
    gone.close()
    status, found = findings(capsys, gone)
    assert (status, found[0]["step"], "nothing listens" in found[0]["advice"]) == (3, "connection", True)
