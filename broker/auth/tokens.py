"""A client's SASL token and what follows from it on its connection, whether it came in SaslAuthenticate or bare (SaslHandshake v0)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from oncelog.broker.auth.sasl import AuthenticateAnswer, SaslPhase, SaslState
from oncelog.broker.net.dispatch import CloseConnection
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.primitives import Piece

if TYPE_CHECKING:
    from oncelog.broker.context import ConnectionFacts

T = TypeVar("T")


def take_token(token: bytes, sasl: SaslState, connection: ConnectionFacts, now_ms: float) -> AuthenticateAnswer:
    """Hand the token to the state; the principal, the log line and the end of the connection as it decides."""
    answer = sasl.authenticate(token, now_ms)
    if answer.error is ErrorCode.NONE:
        if sasl.phase is SaslPhase.AUTHENTICATED:
            connection.authenticated(sasl.principal)
    else:
        connection.turned_away("authentication failed", mechanism=sasl.mechanism, user=answer.claimed, reason=answer.message)
    if answer.close:
        connection.close_after_response()
    return answer


def take_bare_token(token: bytes, sasl: SaslState, connection: ConnectionFacts, now_ms: float) -> list[Piece] | asyncio.Future[list[Piece]]:
    """As above; the answer is a bare challenge. A refusal has none: the connection ends (`SaslServerAuthenticator.handleSaslToken`)."""
    answer = take_token(token, sasl, connection, now_ms)
    if answer.error is ErrorCode.NONE:
        return [answer.token]
    return later(CloseConnection("authentication failed"), answer.delay_ms)


def later(outcome: T | Exception, delay_ms: int) -> asyncio.Future[T]:
    """The answer to a wrong password waits, which makes guessing slow."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle() -> None:
        if future.done():  # the connection may be gone, and the future cancelled, before the time is up
            return
        if isinstance(outcome, Exception):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)

    loop.call_later(delay_ms / 1000, settle)
    return future
