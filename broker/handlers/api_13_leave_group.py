"""LeaveGroup (13), v0-5.

v0-2: one member, its error is the answer's. v3: several, also by instance id, one verdict each. v4: flexible. v5: reason.
"""

from __future__ import annotations

from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.broker.context import RequestContext
from oncelog.broker.net.dispatch import api
from oncelog.coordinator.groups.classic.requests import LeavingMember
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode

_SEVERAL = 3


@api(ApiKey.LEAVE_GROUP, 0, 5)
def handle(req: messages.LeaveGroupRequest, ctx: RequestContext) -> messages.LeaveGroupResponse:
    """Go."""
    if not ctx.authorize(AclOperation.READ, ResourceType.GROUP, req.group_id):
        return messages.LeaveGroupResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    several = ctx.api_version >= _SEVERAL
    members = [LeavingMember(m.member_id, m.group_instance_id) for m in req.members] if several else [LeavingMember(req.member_id)]
    error, verdicts = ctx.broker.groups.leave_group(req.group_id, members)
    if not several:
        return messages.LeaveGroupResponse(error_code=error if error is not ErrorCode.NONE else verdicts[0])
    kind = messages.LeaveGroupResponse.MemberResponse
    return messages.LeaveGroupResponse(
        error_code=error,
        members=[
            kind(member_id=member.member_id, group_instance_id=member.group_instance_id, error_code=verdict)
            for member, verdict in zip(members, verdicts, strict=True)
        ]
        if error is ErrorCode.NONE
        else [],
    )
