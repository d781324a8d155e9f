"""SaslHandshake (17), v0-1.

The client names its mechanism. After v0 its tokens come bare, each behind its length; after v1 in SaslAuthenticate.
Unknown mechanism: 33 with the mechanisms offered, then the connection is closed. On a listener without SASL: 34.
Once authenticated it begins a re-authentication (KIP-368), if sessions have an end: else 34.
"""

from __future__ import annotations

from oncelog.broker.auth.mechanisms import SaslFailure
from oncelog.broker.context import RequestContext
from oncelog.broker.net.dispatch import CloseConnection, api
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode


@api(ApiKey.SASL_HANDSHAKE, 0, 1)
def handle(req: messages.SaslHandshakeRequest, ctx: RequestContext) -> messages.SaslHandshakeResponse:
    """Remember the mechanism in the connection's SASL state."""
    sasl = ctx.connection.sasl
    if sasl is None:
        return messages.SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE, mechanisms=[])
    try:
        answer = sasl.handshake(req.mechanism, ctx.broker.env.clock.monotonic_ms(), framed=ctx.api_version > 0)
    except SaslFailure as failure:
        raise CloseConnection(str(failure)) from failure
    if answer.error is not ErrorCode.NONE:
        ctx.connection.turned_away("authentication failed", mechanism=req.mechanism, reason=answer.error.name)
    if answer.close:
        ctx.connection.close_after_response()
    return messages.SaslHandshakeResponse(error_code=answer.error, mechanisms=list(answer.mechanisms))
