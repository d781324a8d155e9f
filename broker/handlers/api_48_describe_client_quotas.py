"""DescribeClientQuotas (48), v0-1.

The stored quotas whose entities match every component; `strict` leaves out entities with further types. v1: flexible.
Quotas are kept and shown, not enforced.
"""

from __future__ import annotations

from oncelog.broker.auth.acls import AclOperation
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.administration import CLUSTER_REFUSED, may
from oncelog.broker.net.dispatch import api
from oncelog.broker.settings.client_quotas import Component
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError


@api(ApiKey.DESCRIBE_CLIENT_QUOTAS, 0, 1)
def handle(req: messages.DescribeClientQuotasRequest, ctx: RequestContext) -> messages.DescribeClientQuotasResponse:
    """List matching quotas."""
    response = messages.DescribeClientQuotasResponse
    if not may(ctx, AclOperation.DESCRIBE_CONFIGS):
        return response(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, error_message=CLUSTER_REFUSED, entries=None)
    wanted = [Component(c.entity_type, c.match_type, c.match) for c in req.components]
    try:
        found = ctx.broker.client_quotas.describe(wanted, req.strict)
    except KafkaError as error:
        return response(error_code=error.code, error_message=error.message, entries=None)
    entries = [
        response.EntryData(
            entity=[response.EntryData.EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
            values=[response.EntryData.ValueData(key=key, value=value) for key, value in values.items()],
        )
        for entity, values in found
    ]
    return response(error_code=0, error_message="", entries=entries)
