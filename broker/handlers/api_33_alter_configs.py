"""AlterConfigs (33), v0-2.

Replaces all values of a resource: what is not named returns to its default. Clients since 2.3 use IncrementalAlterConfigs.
v2: flexible.
"""

from __future__ import annotations

from functools import partial

from oncelog.broker.answers import Ended
from oncelog.broker.auth.acls import AclOperation
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.config_access import alter_each, check_access
from oncelog.broker.net.dispatch import api
from oncelog.coordinator.deferred import Reply
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey


@api(ApiKey.ALTER_CONFIGS, 0, 2)
def handle(req: messages.AlterConfigsRequest, ctx: RequestContext) -> Reply[messages.AlterConfigsResponse]:
    """Alter each resource that is named once."""
    result = messages.AlterConfigsResponse.AlterConfigsResourceResponse
    return alter_each(
        req.resources,
        partial(_alter, ctx, req.validate_only),
        lambda outcomes: messages.AlterConfigsResponse(
            responses=[
                result(error_code=code, error_message=message, resource_type=one.resource_type, resource_name=one.resource_name)
                for one, code, message in outcomes
            ]
        ),
    )


def _alter(ctx: RequestContext, validate_only: bool, resource: messages.AlterConfigsRequest.AlterConfigsResource, ended: Ended) -> None:
    kind, name = resource.resource_type, resource.resource_name
    check_access(ctx, AclOperation.ALTER_CONFIGS, kind, name)
    values = [(config.name, config.value) for config in resource.configs]
    ctx.broker.dynamic_configs.replace(kind, name, values, ended, validate_only=validate_only)
