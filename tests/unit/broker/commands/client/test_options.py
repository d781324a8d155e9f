"""The options that commands share: what follows from what, and how a command ends."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest
from oncelog.broker.commands.client.options import Connection, refusals_end_the_command
from oncelog.broker.commands.client.wire import AddressError, ConnectFailure
from oncelog.protocol.errors import ErrorCode, KafkaError
from support.served_broker import ServedBroker

pytestmark = pytest.mark.unit
LOGIN: dict[str, Any] = {"username": "al", "password": "secret"}


@pytest.mark.parametrize(
    ("given", "tls", "login"),
    [
        ({}, False, False),
        ({"insecure": True}, True, False),
        (LOGIN, False, True),
        ({**LOGIN, "insecure": True}, True, True),
        ({"security_protocol": "SSL"}, True, False),
        ({"security_protocol": "SASL_SSL", **LOGIN}, True, True),
        ({"security_protocol": "PLAINTEXT", **LOGIN, "insecure": True}, False, False),  # what is said goes before what would follow
    ],
    ids=str,
)
def test_the_protocol_follows_from_the_others(given: dict[str, Any], tls: bool, login: bool) -> None:
    security = Connection(**given).security()
    assert (security.tls is not None, security.mechanism) == (tls, "SCRAM-SHA-256" if login else None)
    assert (security.username, security.password) == (("al", "secret") if login else ("", ""))


def test_what_is_not_checked() -> None:
    checked = Connection(security_protocol="SSL").security().tls
    unchecked = Connection(insecure=True).security().tls
    assert checked is not None
    assert unchecked is not None
    assert (checked.check_hostname, checked.verify_mode) == (True, ssl.CERT_REQUIRED)
    assert (unchecked.check_hostname, unchecked.verify_mode) == (False, ssl.CERT_NONE)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"security_protocol": "SASL_SSL"}, "SASL_SSL needs --username and --password"),
        ({"username": "al"}, "SASL_PLAINTEXT needs --username and --password"),
        ({"username": "al", "ca": Path("/no/such.pem")}, "certificate /no/such.pem cannot be used: No such file"),
        ({"cert": Path("/no/such.pem")}, "certificate /no/such.pem cannot be used: No such file"),
    ],
    ids=str,
)
def test_what_is_missing(given: dict[str, Any], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        Connection(**given).security()
    assert ended.value.code == 2
    assert why in capsys.readouterr().err


def test_a_certificate_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.pem").write_text("garbage")
    for given in ({"ca": tmp_path / "x.pem"}, {"cert": tmp_path / "x.pem"}):
        with pytest.raises(SystemExit):
            Connection(**given).security()
        assert f"certificate {tmp_path}/x.pem cannot be used: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, "it is there"), 1, "it is there (TOPIC_ALREADY_EXISTS)"),
        (KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, "TOPIC_ALREADY_EXISTS: t"), 1, "error: TOPIC_ALREADY_EXISTS: t"),
        (KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS), 1, "TOPIC_ALREADY_EXISTS\n"),
        (ConnectFailure("tcp", "h:1", "refused"), 3, "h:1: refused\n       `oncelog doctor"),
        (AddressError("'x' is not HOST:PORT"), 2, "'x' is not HOST:PORT"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_ends_a_command(error: Exception, status: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended, refusals_end_the_command():
        raise error
    assert ended.value.code == status
    assert said in capsys.readouterr().err


def test_a_mistake_of_ours_keeps_its_traceback() -> None:
    with pytest.raises(ZeroDivisionError), refusals_end_the_command():
        raise ZeroDivisionError


def test_the_cluster_is_closed_behind_it(served: ServedBroker) -> None:
    opened = []

    def command() -> None:
        with Connection(bootstrap=served.address).open() as cluster:
            opened.append(cluster.any())
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "x")

    with pytest.raises(SystemExit):
        command()
    assert opened[0]._socket is None
