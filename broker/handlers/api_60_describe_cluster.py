"""DescribeCluster (60), v0-2.

This broker, which is its own controller. v1: the kind of endpoint asked for (a controller's is not here). v2: `is_fenced`, never true.
"""

from __future__ import annotations

from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.topic_access import NOT_REQUESTED, cluster_operations
from oncelog.broker.net.dispatch import api
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode

_BROKERS, _CONTROLLERS = 1, 2


@api(ApiKey.DESCRIBE_CLUSTER, 0, 2)
def handle(req: messages.DescribeClusterRequest, ctx: RequestContext) -> messages.DescribeClusterResponse:
    """Describe the cluster of one."""
    if req.endpoint_type == _CONTROLLERS:
        message = "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"
        return _refusal(ErrorCode.MISMATCHED_ENDPOINT_TYPE, message)
    if req.endpoint_type != _BROKERS:
        return _refusal(ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, f"Unsupported endpoint type {req.endpoint_type}")
    broker = ctx.broker
    host, port = broker.endpoint_for(ctx.connection)
    wanted = req.include_cluster_authorized_operations
    return messages.DescribeClusterResponse(
        endpoint_type=_BROKERS,
        cluster_id=broker.cluster_id,
        controller_id=broker.node_id,
        brokers=[messages.DescribeClusterResponse.DescribeClusterBroker(broker_id=broker.node_id, host=host, port=port, rack=None)],
        cluster_authorized_operations=cluster_operations(ctx) if wanted else NOT_REQUESTED,
    )


def _refusal(error: ErrorCode, message: str) -> messages.DescribeClusterResponse:
    return messages.DescribeClusterResponse(
        error_code=error, error_message=message, endpoint_type=_BROKERS, cluster_id="", controller_id=-1, brokers=[]
    )
