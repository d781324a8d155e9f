"""The SASL conversation of one connection: every phase, every mechanism, re-authentication."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
from oncelog.broker.auth.jaas import parse_jaas, plain_users
from oncelog.broker.auth.sasl import ANONYMOUS, AuthenticateAnswer, SaslPhase, SaslSettings, SaslState
from oncelog.broker.auth.scram import ScramCredentials, ScramMechanism, check_upsertion, credential_of, salted_password
from oncelog.broker.commands.client.sasl import conversation
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError

pytestmark = pytest.mark.unit
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


class Store:
    def __init__(self) -> None:
        self.sections: dict[str, dict[str, Any]] = {}

    def section(self, name: str) -> dict[str, Any]:
        return dict(self.sections.get(name, {}))

    def put(self, section: str, key: str, value: Any) -> None:
        self.sections.setdefault(section, {})[key] = value
        if value is None:
            del self.sections[section][key]


def settings(**changes: Any) -> SaslSettings:
    credentials = ScramCredentials(Store())
    for mechanism in ScramMechanism:
        salt = os.urandom(20)
        credentials.set("alice", mechanism, credential_of(mechanism, salt, 4096, salted_password(mechanism, "secret", salt, 4096)))
    made: dict[str, Any] = {"mechanisms": MECHANISMS, "plain_users": {"alice": "secret", "bob": "other"}, "credentials": credentials}
    return SaslSettings(**{**made, **changes})


def authenticate(state: SaslState, mechanism: str, user: str, password: str, now_ms: float = 0) -> AuthenticateAnswer:
    assert state.handshake(mechanism, now_ms).error is ErrorCode.NONE
    talk = conversation(mechanism, user, password)
    token = next(talk)
    while True:
        answer = state.authenticate(token, now_ms)
        if answer.error is not ErrorCode.NONE:
            return answer
        try:
            token = talk.send(answer.token)
        except StopIteration:
            return answer


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


@pytest.mark.parametrize(
    ("token", "error"),
    [
        (b"\0alice\0secret", ErrorCode.NONE),
        (b"alice\0alice\0secret", ErrorCode.NONE),
        (b"bob\0alice\0secret", ErrorCode.SASL_AUTHENTICATION_FAILED),
        (b"alice\0secret", ErrorCode.SASL_AUTHENTICATION_FAILED),
        (b"\0\0secret", ErrorCode.SASL_AUTHENTICATION_FAILED),
        (b"\0alice\0\xff", ErrorCode.SASL_AUTHENTICATION_FAILED),
    ],
)
def test_plain_tokens(token: bytes, error: ErrorCode) -> None:
    state = SaslState(settings())
    state.handshake("PLAIN", 0)
    assert state.authenticate(token, 0).error is error


@pytest.mark.parametrize("garbage", [b"", b"\xff", b"n,,", b"n,,n=alice", b"x" * 10_000, b"p=tls-unique,,n=alice,r=abc"])
def test_scram_garbage_is_a_failed_authentication(garbage: bytes) -> None:
    state = SaslState(settings())
    state.handshake("SCRAM-SHA-256", 0)
    assert state.authenticate(garbage, 0).error is ErrorCode.SASL_AUTHENTICATION_FAILED


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


@pytest.mark.parametrize(
    ("user", "mechanism", "iterations", "code"),
    [
        ("", 1, 4096, ErrorCode.UNACCEPTABLE_CREDENTIAL),
        ("a", 0, 4096, ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        ("a", 3, 4096, ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        ("a", 1, 4095, ErrorCode.UNACCEPTABLE_CREDENTIAL),
        ("a", 1, 16385, ErrorCode.UNACCEPTABLE_CREDENTIAL),
    ],
)
def test_credentials_that_are_not_acceptable(user: str, mechanism: int, iterations: int, code: ErrorCode) -> None:
    with pytest.raises(KafkaError) as refused:
        check_upsertion(user, mechanism, iterations)
    assert refused.value.code is code


def test_jaas_users() -> None:
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    text = module + ' required\n  username="admin" password="a;b" user_alice="s\\"x" user_bob=plain;'
    assert plain_users(text) == {"alice": 's"x', "bob": "plain"}
    assert parse_jaas(text).module.endswith("PlainLoginModule")


@pytest.mark.parametrize("text", ["", "x", "Module required", 'Module maybe a="b";', 'Module required a "b";', 'Module required a="b'])
def test_bad_jaas_is_a_bad_setting(text: str) -> None:
    with pytest.raises(KafkaError) as refused:
        parse_jaas(text)
    assert refused.value.code is ErrorCode.INVALID_CONFIG


@pytest.mark.parametrize("salt", [b"", b"salt", b"0123456789ab"])
@pytest.mark.parametrize("mechanism", [ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512])
def test_any_salt_will_do(mechanism: ScramMechanism, salt: bytes) -> None:
    credentials = ScramCredentials(Store())
    credentials.set("bob=,", mechanism, credential_of(mechanism, salt, 4096, salted_password(mechanism, "s", salt, 4096)))
    state = SaslState(settings(credentials=credentials))
    assert authenticate(state, mechanism.sasl_name, "bob=,", "s").error is ErrorCode.NONE
    assert state.principal == "User:bob=,"
    refused = authenticate(SaslState(settings(credentials=credentials)), mechanism.sasl_name, "bob=,", "t")
    assert (refused.error, refused.claimed) == (ErrorCode.SASL_AUTHENTICATION_FAILED, "bob=,")


@pytest.mark.parametrize(
    "first",
    [
        "y,,n=alice,r=abc",
        "p=tls-unique,,n=alice,r=abc",
        "n,a=bob,n=alice,r=abc",
        "n,,n=alice,r=",
        "n,,n=al=41ice,r=abc",
        "n,,n=alice",
        "n,,m=x,n=alice,r=abc",
        "n,,n=alice,r=abc,tokenauth=true",
        "n,,n=,r=abc",
        "",
    ],
)
def test_first_messages_that_are_refused(first: str) -> None:
    state = SaslState(settings())
    state.handshake("SCRAM-SHA-256", 0)
    answer = state.authenticate(first.encode(), 0)
    assert (answer.error, answer.close) == (ErrorCode.SASL_AUTHENTICATION_FAILED, True)


@pytest.mark.parametrize(
    "change",
    [
        lambda final: final.replace("c=biws", "c=eSws"),
        lambda final: final.replace(",r=", ",r=x"),
        lambda final: final[: final.index(",p=")],
        lambda final: final[: final.index(",p=")] + ",p=AAAA",
        lambda final: final[: final.index(",p=")] + ",p=" + "A" * 43 + "=",
        lambda final: final + "A",
    ],
)
def test_last_messages_that_are_refused(change: Callable[[str], str]) -> None:
    state = SaslState(settings())
    state.handshake("SCRAM-SHA-256", 0)
    talk = conversation("SCRAM-SHA-256", "alice", "secret")
    challenge = state.authenticate(next(talk), 0).token
    assert b"v=" in authenticate(SaslState(settings()), "SCRAM-SHA-256", "alice", "secret").token
    answer = state.authenticate(change(talk.send(challenge).decode()).encode(), 0)
    assert (answer.error, answer.close) == (ErrorCode.SASL_AUTHENTICATION_FAILED, True)


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
