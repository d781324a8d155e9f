"""Heartbeat (12), v0-4.

Prolongs a member's session; 27 asks it to join again. v3: instance id. v4: flexible.
"""

from __future__ import annotations

from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.broker.context import RequestContext
from oncelog.broker.net.dispatch import api
from oncelog.coordinator.groups.classic.requests import Heartbeat
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode


@api(ApiKey.HEARTBEAT, 0, 4)
def handle(req: messages.HeartbeatRequest, ctx: RequestContext) -> messages.HeartbeatResponse:
    """Still there."""
    if not ctx.authorize(AclOperation.READ, ResourceType.GROUP, req.group_id):
        return messages.HeartbeatResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    request = Heartbeat(req.group_id, req.generation_id, req.member_id, req.group_instance_id)
    return messages.HeartbeatResponse(error_code=ctx.broker.groups.heartbeat(request))
