"""AlterConfigs (33), v0-2.

Replaces all values of a resource: what is not named returns to its default. Clients since 2.3 use IncrementalAlterConfigs.
v2: flexible.
"""

from __future__ import annotations

from oncelog.broker.auth.acls import AclOperation
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.config_access import check_access, check_once, twice
from oncelog.broker.net.dispatch import api
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError


@api(ApiKey.ALTER_CONFIGS, 0, 2)
def handle(req: messages.AlterConfigsRequest, ctx: RequestContext) -> messages.AlterConfigsResponse:
    """Alter each resource that is named once."""
    repeated = twice(req.resources)
    return messages.AlterConfigsResponse(responses=[_alter(resource, repeated, req.validate_only, ctx) for resource in req.resources])


def _alter(
    resource: messages.AlterConfigsRequest.AlterConfigsResource, repeated: set[tuple[int, str]], validate_only: bool, ctx: RequestContext
) -> messages.AlterConfigsResponse.AlterConfigsResourceResponse:
    error, message = ErrorCode.NONE, None
    kind, name = resource.resource_type, resource.resource_name
    try:
        check_once(resource, repeated)
        check_access(ctx, AclOperation.ALTER_CONFIGS, kind, name)
        values = [(config.name, config.value) for config in resource.configs]
        ctx.broker.dynamic_configs.replace(kind, name, values, validate_only=validate_only)
    except KafkaError as refused:
        error, message = refused.code, refused.message
    result = messages.AlterConfigsResponse.AlterConfigsResourceResponse
    return result(error_code=error, error_message=message, resource_type=kind, resource_name=name)
