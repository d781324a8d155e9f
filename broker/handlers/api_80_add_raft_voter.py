"""AddRaftVoter (80), v0-1.

Voters of the metadata quorum are fixed while kraft.version is 0, as on a default Apache Kafka: 35.
"""

from __future__ import annotations

from oncelog.broker.auth.acls import AclOperation
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.administration import CLUSTER_REFUSED, may
from oncelog.broker.net.dispatch import api
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode


@api(ApiKey.ADD_RAFT_VOTER, 0, 1)
def handle(req: messages.AddRaftVoterRequest, ctx: RequestContext) -> messages.AddRaftVoterResponse:
    """Refuse."""
    if not may(ctx, AclOperation.ALTER):
        return messages.AddRaftVoterResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, error_message=CLUSTER_REFUSED)
    message = "Cluster doesn't support adding voter because the kraft.version feature is 0"
    return messages.AddRaftVoterResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, error_message=message)
