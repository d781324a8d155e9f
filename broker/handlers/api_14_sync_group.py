"""SyncGroup (14), v0-5.

The leader gives the assignment, the others are parked until it does. v3: instance id. v4: flexible. v5: protocol type and name, both
needed.
"""

from __future__ import annotations

from oncelog.broker.answers import then
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.broker.context import RequestContext
from oncelog.broker.net.dispatch import api
from oncelog.coordinator.deferred import Reply
from oncelog.coordinator.groups.classic.requests import SyncGroup
from oncelog.coordinator.groups.classic.state import SyncGroupResult
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode

_WITH_PROTOCOL = 5


@api(ApiKey.SYNC_GROUP, 0, 5)
def handle(req: messages.SyncGroupRequest, ctx: RequestContext) -> Reply[messages.SyncGroupResponse]:
    """The assignment, when it is there."""
    if not ctx.authorize(AclOperation.READ, ResourceType.GROUP, req.group_id):
        return _answer(SyncGroupResult(ErrorCode.GROUP_AUTHORIZATION_FAILED))
    if ctx.api_version >= _WITH_PROTOCOL and (req.protocol_type is None or req.protocol_name is None):
        return _answer(SyncGroupResult(ErrorCode.INCONSISTENT_GROUP_PROTOCOL))
    request = SyncGroup(
        group_id=req.group_id,
        generation_id=req.generation_id,
        member_id=req.member_id,
        group_instance_id=req.group_instance_id,
        protocol_type=req.protocol_type,
        protocol_name=req.protocol_name,
        assignments={each.member_id: bytes(each.assignment) for each in req.assignments},
    )
    return then(ctx.broker.groups.sync_group(request), _answer)


def _answer(result: SyncGroupResult) -> messages.SyncGroupResponse:
    return messages.SyncGroupResponse(
        error_code=result.error, protocol_type=result.protocol_type, protocol_name=result.protocol_name, assignment=result.assignment
    )
