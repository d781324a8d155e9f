"""SaslAuthenticate (36), v0-2.

One token of the mechanism chosen by SaslHandshake. v1: the answer tells for how long the session lasts (KIP-368). v2: flexible.
Wrong credentials: 58 and a closed connection, both after `connection.failed.authentication.delay.ms`. On a listener without
SASL, or after authentication: 34.
"""

from __future__ import annotations

import asyncio
from typing import Any

from oncelog.broker.auth.sasl import AFTER_AUTHENTICATION, AuthenticateAnswer
from oncelog.broker.context import RequestContext
from oncelog.broker.dispatch import api
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode


@api(ApiKey.SASL_AUTHENTICATE, 0, 2)
def handle(req: Any, ctx: RequestContext) -> Any:
    """Hand the token to the connection's SASL state."""
    sasl = ctx.connection.sasl
    if sasl is None:
        return _response(AuthenticateAnswer(ErrorCode.ILLEGAL_SASL_STATE, AFTER_AUTHENTICATION))
    answer = sasl.authenticate(bytes(req.auth_bytes), ctx.broker.env.clock.monotonic_ms())
    if answer.error is ErrorCode.NONE:
        ctx.connection.principal = sasl.principal
    if answer.close:
        ctx.connection.close_after_response()
    return _later(_response(answer), answer.delay_ms) if answer.delay_ms else _response(answer)


def _response(answer: AuthenticateAnswer) -> Any:
    return messages.SaslAuthenticateResponse(
        error_code=answer.error,
        error_message=answer.message,
        auth_bytes=answer.token,
        session_lifetime_ms=answer.session_lifetime_ms,
    )


def _later(response: Any, delay_ms: int) -> asyncio.Future[Any]:
    """The answer to a wrong password waits, which makes guessing slow."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    # the connection may be gone, and the future cancelled, before the time is up
    loop.call_later(delay_ms / 1000, lambda: None if future.done() else future.set_result(response))
    return future
