"""Why a delegation token request is refused."""

from __future__ import annotations

from oncelog.broker.auth.sasl import ANONYMOUS
from oncelog.broker.context import RequestContext
from oncelog.protocol.errors import ErrorCode


def refusal(ctx: RequestContext) -> ErrorCode:
    """64 for a client that did not authenticate (`KafkaApis.allowTokenRequests`), else 61: tokens are switched off."""
    if ctx.connection.principal == ANONYMOUS:
        return ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    return ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
