"""SaslAuthenticate: tokens, the principal they end with, and refusals that come late."""

from __future__ import annotations

import pytest
from oncelog.broker.auth.sasl import SaslPhase, SaslState
from oncelog.broker.commands.client.sasl import conversation
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from support.sasl_states import settings
from support.whole_broker import Asked, Connection, WholeBroker

pytestmark = pytest.mark.unit
GOOD = b"\0alice\0secret"


def begin(whole: WholeBroker, connection: Connection, token: bytes, version: int = 2) -> Asked:
    return whole.begin(ApiKey.SASL_AUTHENTICATE, version, connection=connection, auth_bytes=token)


def shaken(mechanism: str = "PLAIN", **changes: object) -> Connection:
    state = SaslState(settings(**changes))
    state.handshake(mechanism, 0)
    return Connection(sasl=state)


@pytest.mark.parametrize(("version", "lifetime_ms"), [(0, 0), (1, 3_000), (2, 3_000)])
def test_the_right_password(whole: WholeBroker, version: int, lifetime_ms: int) -> None:
    connection = shaken(max_reauth_ms={"PLAIN": 3_000})
    answer = begin(whole, connection, GOOD, version).answer()
    assert (answer.error_code, answer.error_message, answer.auth_bytes) == (ErrorCode.NONE, "", b"")
    assert answer.session_lifetime_ms == lifetime_ms  # told from v1
    assert (connection.principal, connection.closing) == ("User:alice", False)


@pytest.mark.parametrize("token", [b"\0alice\0wrong", b"\0mallory\0secret"])
def test_wrong_credentials_are_told_after_a_while(whole: WholeBroker, token: bytes) -> None:
    connection = shaken(failure_delay_ms=100)
    asked = begin(whole, connection, token)
    whole.advance(98)
    assert asked.waits
    whole.advance(2)
    answer = asked.answer()
    assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert answer.error_message == "Authentication failed: Invalid username or password"  # of a known user and an unknown one
    assert (connection.principal, connection.closing) == ("User:ANONYMOUS", True)


@pytest.mark.parametrize("token", [b"", b"\0", b"alice", b"\0alice\0"])
def test_no_credentials_at_all(whole: WholeBroker, token: bytes) -> None:
    connection = shaken(failure_delay_ms=0)
    answer = begin(whole, connection, token).answer()
    assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert connection.closing


def test_scram_goes_back_and_forth(whole: WholeBroker) -> None:
    connection = shaken("SCRAM-SHA-256")
    talk = conversation("SCRAM-SHA-256", "alice", "secret")
    first = begin(whole, connection, next(talk)).answer()
    assert first.error_code == ErrorCode.NONE
    assert first.auth_bytes.startswith(b"r=")
    assert connection.principal == "User:ANONYMOUS"
    second = begin(whole, connection, talk.send(first.auth_bytes)).answer()
    assert second.auth_bytes.startswith(b"v=")
    assert connection.principal == "User:alice"


def test_out_of_place(whole: WholeBroker) -> None:
    done = shaken()
    begin(whole, done, GOOD)
    for connection in (Connection(), done):
        answer = begin(whole, connection, GOOD).answer()
        assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE
        assert answer.error_message == "SaslAuthenticate request received after successful authentication"
        assert not connection.closing


def test_a_session_goes_on_with_the_same_principal_only(whole: WholeBroker) -> None:
    connection = shaken(max_reauth_ms={"PLAIN": 60_000}, failure_delay_ms=0)
    begin(whole, connection, GOOD)
    connection.sasl.handshake("PLAIN", 0)
    answer = begin(whole, connection, b"\0bob\0other").answer()
    assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert answer.error_message == "Cannot change principals during re-authentication from User.alice: User.bob"
    assert (connection.principal, connection.closing) == ("User:alice", True)
    assert connection.sasl.phase is SaslPhase.REAUTHENTICATING
