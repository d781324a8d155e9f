"""GetTelemetrySubscriptions (71), v0.

Answered but not advertised, as a broker without a telemetry plugin does: no metric is asked for. The client's id is echoed, or made
up when it is zero, so that it stays the same over pushes.
"""

from __future__ import annotations

import uuid
from zlib import crc32

from oncelog.broker.context import RequestContext
from oncelog.broker.net.dispatch import api
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey

PUSH_INTERVAL_MS = 300_000
TELEMETRY_MAX_BYTES = 1_048_576
# zstd, lz4, gzip, snappy
COMPRESSION_TYPES = [4, 3, 1, 2]


@api(ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, 0, 0, hidden=True)
def handle(req: messages.GetTelemetrySubscriptionsRequest, ctx: RequestContext) -> messages.GetTelemetrySubscriptionsResponse:
    """Ask for no metrics."""
    client_instance_id = req.client_instance_id or ctx.broker.env.random.uuid()
    return messages.GetTelemetrySubscriptionsResponse(
        error_code=0,
        client_instance_id=client_instance_id,
        subscription_id=subscription_id(client_instance_id),
        accepted_compression_types=COMPRESSION_TYPES,
        push_interval_ms=PUSH_INTERVAL_MS,
        telemetry_max_bytes=TELEMETRY_MAX_BYTES,
        delta_temporality=True,
        requested_metrics=[],
    )


def subscription_id(client_instance_id: uuid.UUID) -> int:
    """The number of the (empty) subscription of a client: a checksum of its id, as an int32."""
    return crc32(client_instance_id.bytes) & 0x7FFFFFFF
