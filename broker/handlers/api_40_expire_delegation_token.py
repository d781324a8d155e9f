"""ExpireDelegationToken (40), v1-2.

Refused like CreateDelegationToken: 64 on plain text, else 61. v2: flexible.
"""

from __future__ import annotations

from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.delegation_tokens import refusal
from oncelog.broker.net.dispatch import api
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey


@api(ApiKey.EXPIRE_DELEGATION_TOKEN, 1, 2)
def handle(req: messages.ExpireDelegationTokenRequest, ctx: RequestContext) -> messages.ExpireDelegationTokenResponse:
    """Refuse."""
    return messages.ExpireDelegationTokenResponse(error_code=refusal(ctx), expiry_timestamp_ms=-1)
