"""DescribeDelegationToken (41), v1-3.

Refused like CreateDelegationToken: 64 on plain text, else 61. v2: flexible. v3: requester.
"""

from __future__ import annotations

from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.delegation_tokens import refusal
from oncelog.broker.net.dispatch import api
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey


@api(ApiKey.DESCRIBE_DELEGATION_TOKEN, 1, 3)
def handle(req: messages.DescribeDelegationTokenRequest, ctx: RequestContext) -> messages.DescribeDelegationTokenResponse:
    """Refuse."""
    return messages.DescribeDelegationTokenResponse(error_code=refusal(ctx), tokens=[])
