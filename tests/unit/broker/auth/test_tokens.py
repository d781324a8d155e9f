"""A SASL token: what it makes of its connection, in SaslAuthenticate and bare."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from oncelog.broker.auth.sasl import SaslPhase, SaslState
from oncelog.broker.auth.tokens import take_bare_token, take_token
from oncelog.broker.commands.client.sasl import conversation
from oncelog.broker.net.dispatch import CloseConnection
from oncelog.coordinator.deferred import Deferred
from oncelog.protocol.errors import ErrorCode
from support.sasl_states import settings
from support.simloop import SimLoop
from support.whole_broker import Connection

pytestmark = pytest.mark.unit
GOOD, BAD = b"\0alice\0secret", b"\0alice\0wrong"


@pytest.fixture
def loop() -> Iterator[SimLoop]:
    made = SimLoop()
    yield made
    made.abandon()


def shaken(mechanism: str = "PLAIN", *, framed: bool = True) -> tuple[SaslState, Connection]:
    state = SaslState(settings(failure_delay_ms=100))
    state.handshake(mechanism, 0, framed=framed)
    return state, Connection()


def test_the_right_one_names_the_principal() -> None:
    state, connection = shaken()
    assert take_token(GOOD, state, connection, 0).error is ErrorCode.NONE
    assert (connection.principal, connection.closing, connection.told) == ("User:alice", False, [])


def test_one_of_several_does_not_yet() -> None:
    state, connection = shaken("SCRAM-SHA-512")
    answer = take_token(next(conversation("SCRAM-SHA-512", "alice", "secret")), state, connection, 0)
    assert (answer.error, state.phase) == (ErrorCode.NONE, SaslPhase.HANDSHAKEN)
    assert connection.principal == "User:ANONYMOUS"


def test_a_wrong_one_is_told_with_who_it_said_it_was() -> None:
    state, connection = shaken()
    answer = take_token(BAD, state, connection, 0)
    assert (answer.error, answer.delay_ms) == (ErrorCode.SASL_AUTHENTICATION_FAILED, 100)
    assert connection.closing
    (told,) = connection.told
    assert (told["what"], told["mechanism"], told["user"]) == ("authentication failed", "PLAIN", "alice")
    assert told["reason"] == answer.message


def test_one_too_many_leaves_the_connection_open() -> None:
    state, connection = shaken()
    take_token(GOOD, state, connection, 0)
    assert take_token(GOOD, state, connection, 0).error is ErrorCode.ILLEGAL_SASL_STATE
    assert (connection.principal, connection.closing, len(connection.told)) == ("User:alice", False, 1)


def test_a_bare_one_is_answered_by_the_bare_challenge() -> None:
    state, connection = shaken("SCRAM-SHA-256", framed=False)
    talk = conversation("SCRAM-SHA-256", "alice", "secret")
    first = take_bare_token(next(talk), state, connection, 0)
    assert isinstance(first, list)
    (challenge,) = first
    assert bytes(challenge).startswith(b"r=")  # type: ignore[arg-type]
    (proof,) = take_bare_token(talk.send(bytes(challenge)), state, connection, 0)  # type: ignore[misc,arg-type]
    assert bytes(proof).startswith(b"v=")
    assert connection.principal == "User:alice"


def test_a_wrong_bare_one_ends_the_connection_after_a_while(loop: SimLoop) -> None:
    state, connection = shaken(framed=False)

    async def asked() -> Deferred[object]:
        reply = take_bare_token(BAD, state, connection, 0)
        assert isinstance(reply, Deferred)
        await asyncio.sleep(0.099)
        assert not reply.done
        await asyncio.sleep(0.002)
        return reply

    reply = loop.run_until_complete(asked())
    assert connection.closing
    with pytest.raises(CloseConnection, match="authentication failed"):
        reply.result()
