"""IncrementalAlterConfigs (44), v0-1.

Changes single values of a resource: 0 SET, 1 DELETE, 2 APPEND, 3 SUBTRACT (the last two on lists). One result a resource.
v1: flexible.
"""

from __future__ import annotations

from oncelog.broker.auth.acls import AclOperation
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.config_access import check_access, check_once, twice
from oncelog.broker.net.dispatch import api
from oncelog.broker.settings.changes import Change
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError


@api(ApiKey.INCREMENTAL_ALTER_CONFIGS, 0, 1)
def handle(req: messages.IncrementalAlterConfigsRequest, ctx: RequestContext) -> messages.IncrementalAlterConfigsResponse:
    """Alter each resource that is named once."""
    repeated = twice(req.resources)
    responses = [_alter(resource, repeated, req.validate_only, ctx) for resource in req.resources]
    return messages.IncrementalAlterConfigsResponse(responses=responses)


def _alter(
    resource: messages.IncrementalAlterConfigsRequest.AlterConfigsResource,
    repeated: set[tuple[int, str]],
    validate_only: bool,
    ctx: RequestContext,
) -> messages.IncrementalAlterConfigsResponse.AlterConfigsResourceResponse:
    error, message = ErrorCode.NONE, None
    kind, name = resource.resource_type, resource.resource_name
    try:
        check_once(resource, repeated)
        check_access(ctx, AclOperation.ALTER_CONFIGS, kind, name)
        changes = [Change(config.name, config.config_operation, config.value) for config in resource.configs]
        ctx.broker.dynamic_configs.alter_incrementally(kind, name, changes, validate_only=validate_only)
    except KafkaError as refused:
        error, message = refused.code, refused.message
    result = messages.IncrementalAlterConfigsResponse.AlterConfigsResourceResponse
    return result(error_code=error, error_message=message, resource_type=kind, resource_name=name)
