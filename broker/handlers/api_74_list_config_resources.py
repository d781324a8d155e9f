"""ListConfigResources (74), v0-1.

Names of the resources that have settings. v0 (then called ListClientMetricsResources) lists client metrics subscriptions only.
v1: by type, none given means all; an unknown type is 35.
"""

from __future__ import annotations

from oncelog.broker.auth.acls import AclOperation
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.administration import may
from oncelog.broker.net.dispatch import api
from oncelog.broker.settings.catalogue import ConfigResource
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode

# Kafka's order
EVERY_TYPE = (
    ConfigResource.GROUP,
    ConfigResource.CLIENT_METRICS,
    ConfigResource.BROKER_LOGGER,
    ConfigResource.BROKER,
    ConfigResource.TOPIC,
)


@api(ApiKey.LIST_CONFIG_RESOURCES, 0, 1)
def handle(req: messages.ListConfigResourcesRequest, ctx: RequestContext) -> messages.ListConfigResourcesResponse:
    """List the resources of the types asked for."""
    response = messages.ListConfigResourcesResponse
    if not may(ctx, AclOperation.DESCRIBE_CONFIGS):
        return response(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, config_resources=[])
    kinds = set(req.resource_types) or set(EVERY_TYPE) if ctx.api_version > 0 else {ConfigResource.CLIENT_METRICS}
    if not kinds <= set(EVERY_TYPE):
        return response(error_code=ErrorCode.UNSUPPORTED_VERSION, config_resources=[])
    found = ctx.broker.dynamic_configs.resources(kind for kind in EVERY_TYPE if kind in kinds)
    resources = [response.ConfigResource(resource_name=name, resource_type=kind) for kind, name in found]
    return response(error_code=0, config_resources=resources)
