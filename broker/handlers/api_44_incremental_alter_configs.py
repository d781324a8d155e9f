"""IncrementalAlterConfigs (44), v0-1.

Changes single values of a resource: 0 SET, 1 DELETE, 2 APPEND, 3 SUBTRACT (the last two on lists). One result a resource.
v1: flexible.
"""

from __future__ import annotations

from functools import partial

from oncelog.broker.answers import Ended
from oncelog.broker.auth.acls import AclOperation
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.config_access import alter_each, check_access
from oncelog.broker.net.dispatch import api
from oncelog.broker.settings.changes import Change
from oncelog.coordinator.deferred import Reply
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey


@api(ApiKey.INCREMENTAL_ALTER_CONFIGS, 0, 1)
def handle(req: messages.IncrementalAlterConfigsRequest, ctx: RequestContext) -> Reply[messages.IncrementalAlterConfigsResponse]:
    """Alter each resource that is named once."""
    result = messages.IncrementalAlterConfigsResponse.AlterConfigsResourceResponse
    return alter_each(
        req.resources,
        partial(_alter, ctx, req.validate_only),
        lambda outcomes: messages.IncrementalAlterConfigsResponse(
            responses=[
                result(error_code=code, error_message=message, resource_type=one.resource_type, resource_name=one.resource_name)
                for one, code, message in outcomes
            ]
        ),
    )


def _alter(
    ctx: RequestContext, validate_only: bool, resource: messages.IncrementalAlterConfigsRequest.AlterConfigsResource, ended: Ended
) -> None:
    kind, name = resource.resource_type, resource.resource_name
    check_access(ctx, AclOperation.ALTER_CONFIGS, kind, name)
    changes = [Change(config.name, config.config_operation, config.value) for config in resource.configs]
    ctx.broker.dynamic_configs.alter_incrementally(kind, name, changes, ended, validate_only=validate_only)
