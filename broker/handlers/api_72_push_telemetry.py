"""PushTelemetry (72), v0.

Answered but not advertised. Metrics are not kept; a zero client id is 42 and an unknown subscription 117.
"""

from __future__ import annotations

from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.api_71_get_telemetry_subscriptions import subscription_id
from oncelog.broker.net.dispatch import api
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode


@api(ApiKey.PUSH_TELEMETRY, 0, 0, hidden=True)
def handle(req: messages.PushTelemetryRequest, ctx: RequestContext) -> messages.PushTelemetryResponse:
    """Check who pushes; drop what is pushed."""
    if not req.client_instance_id:
        return messages.PushTelemetryResponse(error_code=ErrorCode.INVALID_REQUEST)
    if req.subscription_id != subscription_id(req.client_instance_id):
        return messages.PushTelemetryResponse(error_code=ErrorCode.UNKNOWN_SUBSCRIPTION_ID)
    return messages.PushTelemetryResponse(error_code=0)
