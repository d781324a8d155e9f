"""SaslHandshake: the mechanism of a connection, and what ends it."""

from __future__ import annotations

from typing import Any

import pytest
from oncelog.broker.auth.sasl import SaslPhase, SaslState
from oncelog.broker.net.dispatch import CloseConnection
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from support.sasl_states import MECHANISMS, authenticate, settings
from support.whole_broker import Connection, WholeBroker

pytestmark = pytest.mark.unit


def shake(whole: WholeBroker, connection: Connection, mechanism: str, version: int = 1) -> Any:
    return whole.ask(ApiKey.SASL_HANDSHAKE, version, connection=connection, mechanism=mechanism)


@pytest.mark.parametrize(("version", "bare"), [(0, True), (1, False)])
def test_tokens_come_bare_after_version_0(whole: WholeBroker, version: int, bare: bool) -> None:
    state = SaslState(settings())
    answer = shake(whole, Connection(sasl=state), "PLAIN", version)
    assert (answer.error_code, tuple(answer.mechanisms)) == (ErrorCode.NONE, MECHANISMS)
    assert (state.phase, state.mechanism, state.takes_tokens) == (SaslPhase.HANDSHAKEN, "PLAIN", bare)


@pytest.mark.parametrize("mechanism", ["GSSAPI", "plain", ""])
def test_an_unknown_mechanism_ends_the_connection(whole: WholeBroker, mechanism: str) -> None:
    connection = Connection(sasl=SaslState(settings()))
    answer = shake(whole, connection, mechanism)
    assert (answer.error_code, tuple(answer.mechanisms)) == (ErrorCode.UNSUPPORTED_SASL_MECHANISM, MECHANISMS)
    assert connection.closing
    assert connection.told == [{"what": "authentication failed", "mechanism": mechanism, "reason": "UNSUPPORTED_SASL_MECHANISM"}]


def test_a_listener_without_sasl(whole: WholeBroker) -> None:
    connection = Connection()
    answer = shake(whole, connection, "PLAIN")
    assert (answer.error_code, answer.mechanisms, connection.closing) == (ErrorCode.ILLEGAL_SASL_STATE, [], False)


def test_once_authenticated_there_is_nothing_to_begin(whole: WholeBroker) -> None:
    state = SaslState(settings())
    authenticate(state, "PLAIN", "alice", "secret")
    connection = Connection(sasl=state)
    assert shake(whole, connection, "PLAIN").error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert (connection.closing, state.phase) == (False, SaslPhase.AUTHENTICATED)


def test_a_session_with_an_end_is_begun_again(whole: WholeBroker) -> None:
    state = SaslState(settings(max_reauth_ms={"PLAIN": 60_000}))
    authenticate(state, "PLAIN", "alice", "secret")
    connection = Connection(sasl=state)
    assert shake(whole, connection, "PLAIN").error_code == ErrorCode.NONE
    assert state.phase is SaslPhase.REAUTHENTICATING
    assert not connection.told


def test_beginning_again_with_what_is_not_offered_closes_without_an_answer(whole: WholeBroker) -> None:
    state = SaslState(settings(max_reauth_ms={"PLAIN": 60_000}))
    authenticate(state, "PLAIN", "alice", "secret")
    with pytest.raises(CloseConnection, match="GSSAPI, which is not offered"):
        shake(whole, Connection(sasl=state), "GSSAPI")


def test_beginning_again_is_not_served_twice_within_a_second(whole: WholeBroker) -> None:
    """The clock is the broker's."""
    state = SaslState(settings(max_reauth_ms={"PLAIN": 60_000}))
    connection = Connection(sasl=state)
    authenticate(state, "PLAIN", "alice", "secret")
    errors = []
    for waits_ms in (0, 999, 2):
        whole.advance(waits_ms)
        errors.append(shake(whole, connection, "PLAIN").error_code)
        if errors[-1] == ErrorCode.NONE:
            state.authenticate(b"\0alice\0secret", whole.clock.monotonic_ms())
    assert errors == [ErrorCode.NONE, ErrorCode.ILLEGAL_SASL_STATE, ErrorCode.NONE]
