"""What each mechanism says to good and bad messages."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from oncelog.broker.auth.sasl import SaslState
from oncelog.broker.auth.scram import ScramCredentials, ScramMechanism, credential_of, salted_password
from oncelog.broker.commands.client.sasl import conversation
from oncelog.protocol.errors import ErrorCode
from support.memory_store import MemoryStore, written
from support.sasl_states import authenticate, settings

pytestmark = pytest.mark.unit


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


@pytest.mark.parametrize("salt", [b"", b"salt", b"0123456789ab"])
@pytest.mark.parametrize("mechanism", [ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512])
def test_any_salt_will_do(mechanism: ScramMechanism, salt: bytes) -> None:
    credentials = ScramCredentials(MemoryStore())
    credential = credential_of(mechanism, salt, 4096, salted_password(mechanism, "s", salt, 4096))
    credentials.begin_set("bob=,", mechanism, credential, written)
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
