"""The SASL conversation of one connection: every phase, every mechanism, re-authentication."""

from __future__ import annotations

import pytest
from oncelog.broker.auth.sasl import ANONYMOUS, SaslPhase, SaslState
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from support.sasl_states import MECHANISMS, authenticate, settings

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_right_password_gives_the_principal(mechanism: str) -> None:
    state = SaslState(settings())
    assert not state.allows(ApiKey.METADATA, 0)
    assert authenticate(state, mechanism, "alice", "secret").error is ErrorCode.NONE
    assert (state.principal, state.phase) == ("User:alice", SaslPhase.AUTHENTICATED)
    assert state.allows(ApiKey.METADATA, 10**12)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(("user", "password"), [("alice", "wrong"), ("nobody", "secret"), ("alice", "")])
def test_wrong_credentials_are_58_late_and_close(mechanism: str, user: str, password: str) -> None:
    state = SaslState(settings())
    answer = authenticate(state, mechanism, user, password)
    assert (answer.error, answer.close, answer.delay_ms) == (ErrorCode.SASL_AUTHENTICATION_FAILED, True, 100)
    assert state.principal == ANONYMOUS
    assert not state.allows(ApiKey.METADATA, 0)


def test_unknown_user_and_wrong_password_cannot_be_told_apart() -> None:
    answers = {authenticate(SaslState(settings()), "PLAIN", user, "wrong").message for user in ("alice", "nobody")}
    assert len(answers) == 1


def test_an_unknown_mechanism_is_told_what_there_is_and_closed() -> None:
    answer = SaslState(settings()).handshake("GSSAPI", 0)
    assert (answer.error, answer.mechanisms, answer.close) == (ErrorCode.UNSUPPORTED_SASL_MECHANISM, MECHANISMS, True)


def test_requests_out_of_order_are_34() -> None:
    state = SaslState(settings())
    assert state.authenticate(b"", 0).close
    assert state.handshake("PLAIN", 0).error is ErrorCode.NONE
    assert state.handshake("PLAIN", 0).error is ErrorCode.ILLEGAL_SASL_STATE
    authenticate(late := SaslState(settings()), "PLAIN", "alice", "secret")
    answer = late.authenticate(b"", 0)
    assert (answer.error, answer.close) == (ErrorCode.ILLEGAL_SASL_STATE, False)


def test_a_session_ends_unless_the_client_authenticates_again() -> None:
    state = SaslState(settings(max_reauth_ms=4000))
    assert authenticate(state, "PLAIN", "alice", "secret", now_ms=0).session_lifetime_ms == 4000
    assert state.allows(ApiKey.METADATA, 3999)
    assert not state.allows(ApiKey.METADATA, 4000)
    assert state.allows(ApiKey.SASL_HANDSHAKE, 4000)
    assert state.handshake("PLAIN", 3500).error is ErrorCode.NONE
    assert state.allows(ApiKey.PRODUCE, 3600)  # the old session serves until the new one is there
    assert state.authenticate(b"\0alice\0secret", 3700).error is ErrorCode.NONE
    assert state.allows(ApiKey.METADATA, 7699)


def test_a_session_cannot_change_hands_or_mechanism_nor_hurry() -> None:
    state = SaslState(settings())
    authenticate(state, "PLAIN", "alice", "secret", now_ms=0)
    assert state.handshake("PLAIN", 999).error is ErrorCode.ILLEGAL_SASL_STATE
    state.handshake("PLAIN", 1000)
    assert state.authenticate(b"\0bob\0other", 1001).error is ErrorCode.SASL_AUTHENTICATION_FAILED
    authenticate(other := SaslState(settings()), "PLAIN", "alice", "secret", now_ms=0)
    assert other.handshake("SCRAM-SHA-256", 5000).close


def test_after_a_handshake_of_the_first_version_tokens_come_bare() -> None:
    state = SaslState(settings())
    assert not state.takes_tokens
    state.handshake("PLAIN", 0, framed=False)
    assert state.takes_tokens
    assert state.authenticate(b"\0alice\0secret", 0).error is ErrorCode.NONE
    assert not state.takes_tokens
    state.handshake("PLAIN", 0)
    assert not SaslState(settings()).takes_tokens


def test_between_handshake_and_authentication_nothing_else_is_served() -> None:
    state = SaslState(settings())
    assert state.allows(ApiKey.API_VERSIONS, 0)
    state.handshake("PLAIN", 0)
    assert not state.allows(ApiKey.API_VERSIONS, 0)
    assert state.allows(ApiKey.SASL_AUTHENTICATE, 0)
    assert state.allows(ApiKey.SASL_HANDSHAKE, 0)
