"""The SASL conversation of one connection: every phase, every mechanism, re-authentication."""

from __future__ import annotations

import pytest
from oncelog.broker.auth.mechanisms import SaslFailure
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
    assert not state.allows(ApiKey.SASL_AUTHENTICATE, 0)
    assert not state.tells_refusals
    assert state.handshake("PLAIN", 0).error is ErrorCode.NONE
    assert not state.allows(ApiKey.SASL_HANDSHAKE, 0)
    assert state.tells_refusals
    authenticate(late := SaslState(settings()), "PLAIN", "alice", "secret")
    answer = late.authenticate(b"", 0)
    assert (answer.error, answer.close) == (ErrorCode.ILLEGAL_SASL_STATE, False)


def test_versions_are_asked_for_once_before_the_login() -> None:
    state = SaslState(settings())
    state.versions_told()
    assert not state.allows(ApiKey.API_VERSIONS, 0)
    assert not state.tells_refusals
    authenticate(state, "PLAIN", "alice", "secret")
    state.versions_told()
    assert state.allows(ApiKey.API_VERSIONS, 0)


SESSIONS = dict.fromkeys(MECHANISMS, 4000)


def test_a_session_ends_unless_the_client_authenticates_again() -> None:
    state = SaslState(settings(max_reauth_ms=SESSIONS))
    assert authenticate(state, "PLAIN", "alice", "secret", now_ms=0).session_lifetime_ms == 4000
    assert state.allows(ApiKey.METADATA, 3999)
    assert not state.allows(ApiKey.METADATA, 4000)
    assert state.allows(ApiKey.SASL_HANDSHAKE, 4000)
    assert state.handshake("PLAIN", 4000).error is ErrorCode.NONE
    assert not state.allows(ApiKey.PRODUCE, 4000)
    assert state.tells_refusals
    assert state.authenticate(b"\0alice\0secret", 4100).error is ErrorCode.NONE
    assert state.allows(ApiKey.METADATA, 8099)


def test_a_session_without_an_end_is_not_renewed() -> None:
    state = SaslState(settings(max_reauth_ms={"SCRAM-SHA-256": 4000}))
    authenticate(state, "PLAIN", "alice", "secret")
    answer = state.handshake("PLAIN", 5000)
    assert (answer.error, answer.mechanisms, answer.close) == (ErrorCode.ILLEGAL_SASL_STATE, (), False)
    assert state.allows(ApiKey.METADATA, 5000)


def test_a_session_cannot_change_hands_or_mechanism_nor_hurry() -> None:
    def logged_in() -> SaslState:
        authenticate(made := SaslState(settings(max_reauth_ms=SESSIONS)), "PLAIN", "alice", "secret")
        return made

    state = logged_in()
    authenticate(state, "PLAIN", "alice", "secret", now_ms=1)
    assert state.handshake("PLAIN", 1000).error is ErrorCode.ILLEGAL_SASL_STATE
    state.handshake("PLAIN", 1001)
    refused = state.authenticate(b"\0bob\0other", 1001)
    assert refused.message == "Cannot change principals during re-authentication from User.alice: User.bob"
    other = logged_in()
    assert other.handshake("SCRAM-SHA-256", 1).error is ErrorCode.NONE
    assert not any(other.allows(key, 1) for key in ApiKey)
    with pytest.raises(SaslFailure, match="not offered"):
        logged_in().handshake("GSSAPI", 1)


def test_a_hurried_client_whose_session_ended_is_closed() -> None:
    state = SaslState(settings(max_reauth_ms={"PLAIN": 500}))
    authenticate(state, "PLAIN", "alice", "secret", now_ms=0)
    authenticate(state, "PLAIN", "alice", "secret", now_ms=100)
    assert not state.allows(ApiKey.SASL_HANDSHAKE, 1099)
    assert state.allows(ApiKey.SASL_HANDSHAKE, 1100)


def test_after_a_handshake_of_the_first_version_tokens_come_bare() -> None:
    state = SaslState(settings())
    assert not state.takes_tokens
    state.handshake("PLAIN", 0, framed=False)
    assert state.takes_tokens
    assert state.authenticate(b"\0alice\0secret", 0).error is ErrorCode.NONE
    assert not state.takes_tokens


def test_between_handshake_and_authentication_nothing_else_is_served() -> None:
    state = SaslState(settings())
    assert state.allows(ApiKey.API_VERSIONS, 0)
    state.handshake("PLAIN", 0)
    assert not state.allows(ApiKey.API_VERSIONS, 0)
    assert state.allows(ApiKey.SASL_AUTHENTICATE, 0)
    assert not state.allows(ApiKey.SASL_HANDSHAKE, 0)
