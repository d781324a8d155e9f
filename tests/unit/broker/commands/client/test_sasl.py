"""The client's side of SASL: it proves that it knows the password, and asks the same of the broker."""

from __future__ import annotations

import base64

import pytest
from oncelog.broker.auth.sasl import SaslState
from oncelog.broker.commands.client.sasl import MECHANISMS, SaslClientError, conversation
from oncelog.protocol.errors import ErrorCode
from support.sasl_states import authenticate, settings

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_broker_is_satisfied(mechanism: str) -> None:
    state = SaslState(settings())
    assert authenticate(state, mechanism, "alice", "secret").error is ErrorCode.NONE
    assert state.principal == "User:alice"


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_or_not(mechanism: str) -> None:
    assert authenticate(SaslState(settings()), mechanism, "alice", "wrong").error is ErrorCode.SASL_AUTHENTICATION_FAILED


def test_plain_is_one_token() -> None:
    talk = conversation("PLAIN", "al=,", "päss")
    assert next(talk) == b"\0al=,\0p\xc3\xa4ss"
    with pytest.raises(StopIteration):
        talk.send(b"")


@pytest.mark.parametrize("mechanism", ["GSSAPI", "plain", "SCRAM-SHA-1", ""])
def test_mechanisms_that_are_not_spoken(mechanism: str) -> None:
    with pytest.raises(SaslClientError, match="is not spoken here, only PLAIN"):
        conversation(mechanism, "a", "b")


def test_names_are_escaped_and_every_conversation_has_its_own_nonce() -> None:
    firsts = [next(conversation("SCRAM-SHA-256", "a=b,c", "p")) for _ in range(2)]
    assert all(first.startswith(b"n,,n=a=3Db=2Cc,r=") for first in firsts)
    assert firsts[0] != firsts[1]


def challenge(client_first: bytes, *, nonce: str = "server", salt: str = "c2FsdA==", iterations: str = "4096", extra: str = "") -> bytes:
    own = client_first.decode().partition(",r=")[2]
    return f"r={own}{nonce},s={salt},i={iterations}{extra}".encode()


@pytest.mark.parametrize(
    "changes",
    [{"iterations": "0"}, {"iterations": "-1"}, {"iterations": "99999999"}, {"salt": "!"}, {"nonce": "a b"}, {"iterations": ""}],
    ids=str,
)
def test_challenges_that_are_none(changes: dict[str, str]) -> None:
    talk = conversation("SCRAM-SHA-256", "alice", "secret")
    first = next(talk)
    with pytest.raises(SaslClientError, match="challenge is not valid"):
        talk.send(challenge(first, **changes))


@pytest.mark.parametrize("raw", [b"", b"e=other-error", b"\xff\xfe", b"r=someone-elses,s=c2FsdA==,i=4096"])
def test_challenges_of_somebody_else(raw: bytes) -> None:
    talk = conversation("SCRAM-SHA-512", "alice", "secret")
    next(talk)
    with pytest.raises(SaslClientError, match="challenge is not valid"):
        talk.send(raw)


def test_extensions_are_no_fault() -> None:
    talk = conversation("SCRAM-SHA-256", "alice", "secret")
    assert talk.send(challenge(next(talk), extra=",x=y")).startswith(b"c=biws,r=")


@pytest.mark.parametrize("final", [b"", b"e=invalid-proof", b"v=" + base64.b64encode(b"x" * 32), b"v=notbase64"])
def test_a_broker_that_does_not_know_the_password(final: bytes) -> None:
    talk = conversation("SCRAM-SHA-256", "alice", "secret")
    talk.send(challenge(next(talk)))
    with pytest.raises(SaslClientError, match="cannot prove that it knows the password"):
        talk.send(final)
