"""SaslAuthenticate (36), v0-2.

One token of the mechanism chosen by SaslHandshake. v1: the answer tells for how long the session lasts (KIP-368). v2: flexible.
Wrong credentials: 58 and a closed connection, both after `connection.failed.authentication.delay.ms`. On a listener without
SASL, or after authentication: 34.
"""

from __future__ import annotations

from oncelog.broker.answers import later
from oncelog.broker.auth.sasl import AFTER_AUTHENTICATION, AuthenticateAnswer
from oncelog.broker.auth.tokens import take_token
from oncelog.broker.context import RequestContext
from oncelog.broker.net.dispatch import api
from oncelog.coordinator.deferred import Reply
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode


@api(ApiKey.SASL_AUTHENTICATE, 0, 2)
def handle(req: messages.SaslAuthenticateRequest, ctx: RequestContext) -> Reply[messages.SaslAuthenticateResponse]:
    """Hand the token to the connection's SASL state."""
    sasl = ctx.connection.sasl
    if sasl is None:
        return _response(AuthenticateAnswer(ErrorCode.ILLEGAL_SASL_STATE, AFTER_AUTHENTICATION))
    answer = take_token(bytes(req.auth_bytes), sasl, ctx.connection, ctx.broker.env.clock.monotonic_ms())
    return later(_response(answer), answer.delay_ms) if answer.delay_ms else _response(answer)


def _response(answer: AuthenticateAnswer) -> messages.SaslAuthenticateResponse:
    return messages.SaslAuthenticateResponse(
        error_code=answer.error,
        error_message=answer.message or "",  # never null, as `SaslAuthenticateResponseData`
        auth_bytes=answer.token,
        session_lifetime_ms=answer.session_lifetime_ms,
    )
