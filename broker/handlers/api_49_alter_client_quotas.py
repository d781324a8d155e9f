"""AlterClientQuotas (49), v0-1.

Sets and removes quotas of users, client ids and addresses, durably; one result an entity. v1: flexible.
Quotas are kept and shown, not enforced.
"""

from __future__ import annotations

from collections import Counter

from oncelog.broker.auth.acls import AclOperation
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.administration import CLUSTER_REFUSED, may
from oncelog.broker.net.dispatch import api
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError

_Entry = messages.AlterClientQuotasRequest.EntryData


@api(ApiKey.ALTER_CLIENT_QUOTAS, 0, 1)
def handle(req: messages.AlterClientQuotasRequest, ctx: RequestContext) -> messages.AlterClientQuotasResponse:
    """Alter the quotas of each entity."""
    allowed = may(ctx, AclOperation.ALTER_CONFIGS)
    named = Counter(_entity(entry) for entry in req.entries)
    entries = {_entity(entry): entry for entry in req.entries}
    return messages.AlterClientQuotasResponse(
        entries=[_alter(entry, req.validate_only, allowed, ctx, twice=named[entity] > 1) for entity, entry in entries.items()]
    )


def _entity(entry: _Entry) -> frozenset[tuple[str, str | None]]:
    return frozenset((part.entity_type, part.entity_name) for part in entry.entity)


def _alter(
    entry: _Entry, validate_only: bool, allowed: bool, ctx: RequestContext, *, twice: bool
) -> messages.AlterClientQuotasResponse.EntryData:
    error, message = ErrorCode.NONE, None
    entity = [(part.entity_type, part.entity_name) for part in entry.entity]
    changes = {op.key: None if op.remove else op.value for op in entry.ops}
    try:
        if not allowed:
            raise KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, CLUSTER_REFUSED)
        if twice:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Each client quota entity must appear at most once in the request.")
        ctx.broker.client_quotas.alter(entity, changes, validate_only=validate_only)
    except KafkaError as refused:
        error, message = refused.code, refused.message
    data = messages.AlterClientQuotasResponse.EntryData
    parts = [data.EntityData(entity_type=kind, entity_name=name) for kind, name in entity]
    return data(error_code=error, error_message=message, entity=parts)
