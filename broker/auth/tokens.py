"""A client's SASL token and what follows from it on its connection, whether it came in SaslAuthenticate or bare (SaslHandshake v0)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.answers import later
from oncelog.broker.auth.sasl import AuthenticateAnswer, SaslPhase, SaslState
from oncelog.broker.net.answer_stream import Pieces
from oncelog.broker.net.dispatch import CloseConnection
from oncelog.coordinator.deferred import Reply
from oncelog.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from oncelog.broker.context import ConnectionFacts


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


def take_bare_token(token: bytes, sasl: SaslState, connection: ConnectionFacts, now_ms: float) -> Reply[Pieces]:
    """As above; the answer is a bare challenge. A refusal has none: the connection ends (`SaslServerAuthenticator.handleSaslToken`)."""
    answer = take_token(token, sasl, connection, now_ms)
    if answer.error is ErrorCode.NONE:
        return [answer.token]
    return later(CloseConnection("authentication failed"), answer.delay_ms)
