"""ListPartitionReassignments (46), v0.

None is ever going on with one broker.
"""

from __future__ import annotations

from oncelog.broker.auth.acls import AclOperation
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.administration import CLUSTER_REFUSED, may
from oncelog.broker.net.dispatch import api
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode


@api(ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, 0)
def handle(req: messages.ListPartitionReassignmentsRequest, ctx: RequestContext) -> messages.ListPartitionReassignmentsResponse:
    """List none."""
    response = messages.ListPartitionReassignmentsResponse
    if not may(ctx, AclOperation.DESCRIBE):
        return response(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, error_message=CLUSTER_REFUSED, topics=[])
    return response(error_code=0, error_message=None, topics=[])
