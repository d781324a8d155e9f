"""UnregisterBroker (64), v0.

Takes a broker that is gone off the cluster's list: an id that is not this broker's is 102, and the only broker cannot be taken off.
"""

from __future__ import annotations

from oncelog.broker.auth.acls import AclOperation
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.administration import CLUSTER_REFUSED, may
from oncelog.broker.net.dispatch import api
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode


@api(ApiKey.UNREGISTER_BROKER, 0, 0)
def handle(req: messages.UnregisterBrokerRequest, ctx: RequestContext) -> messages.UnregisterBrokerResponse:
    """Refuse: nobody but us is registered."""
    if not may(ctx, AclOperation.ALTER):
        return messages.UnregisterBrokerResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, error_message=CLUSTER_REFUSED)
    if req.broker_id != ctx.broker.node_id:
        return messages.UnregisterBrokerResponse(
            error_code=ErrorCode.BROKER_ID_NOT_REGISTERED, error_message=f"Broker ID {req.broker_id} is not currently registered"
        )
    return messages.UnregisterBrokerResponse(
        error_code=ErrorCode.INVALID_REQUEST, error_message="The only broker of the cluster cannot be unregistered"
    )
