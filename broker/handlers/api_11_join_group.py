"""JoinGroup (11), v0-9.

v0: no rebalance timeout, the session timeout counts. v4: a member without id gets one and joins again (79). v5: static members. v6:
flexible. v7: protocol type in the answer, protocol name may be null. v8: reason. v9: skip_assignment. Parked until all members have
joined.
"""

from __future__ import annotations

from oncelog.broker.answers import then
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.broker.context import RequestContext
from oncelog.broker.net.dispatch import api
from oncelog.coordinator.deferred import Reply
from oncelog.coordinator.groups.classic.join import JoinGroup
from oncelog.coordinator.groups.classic.state import JoinGroupResult, MemberProtocol
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode

_ID_REQUIRED, _NULLABLE_PROTOCOL, _SKIPPING = 4, 7, 9


@api(ApiKey.JOIN_GROUP, 0, 9)
def handle(req: messages.JoinGroupRequest, ctx: RequestContext) -> Reply[messages.JoinGroupResponse]:
    """Join, now or when everybody has."""
    version = ctx.api_version
    if not ctx.authorize(AclOperation.READ, ResourceType.GROUP, req.group_id):
        return _answer(JoinGroupResult(ErrorCode.GROUP_AUTHORIZATION_FAILED, req.member_id), version)
    client_id = ctx.client_id or ""
    request = JoinGroup(
        group_id=req.group_id,
        member_id=req.member_id,
        group_instance_id=req.group_instance_id,
        client_id=client_id,
        client_host=f"/{ctx.connection.client_host}",
        session_timeout_ms=req.session_timeout_ms,
        rebalance_timeout_ms=req.rebalance_timeout_ms if version >= 1 else req.session_timeout_ms,
        protocol_type=req.protocol_type,
        protocols=tuple(MemberProtocol(each.name, bytes(each.metadata)) for each in req.protocols),
        new_member_id=f"{req.group_instance_id or client_id}-{ctx.broker.env.random.uuid()}",
        requires_known_member_id=version >= _ID_REQUIRED,
        supports_skipping_assignment=version >= _SKIPPING,
    )
    return then(ctx.broker.groups.join_group(request), lambda result: _answer(result, version))


def _answer(result: JoinGroupResult, version: int) -> messages.JoinGroupResponse:
    kind = messages.JoinGroupResponse.JoinGroupResponseMember
    name = result.protocol_name
    return messages.JoinGroupResponse(
        error_code=result.error,
        generation_id=result.generation_id,
        protocol_type=result.protocol_type,
        protocol_name=name if name is not None or version >= _NULLABLE_PROTOCOL else "",
        leader=result.leader,
        skip_assignment=result.skip_assignment,
        member_id=result.member_id,
        members=[
            kind(member_id=member.member_id, group_instance_id=member.group_instance_id, metadata=member.metadata)
            for member in result.members
        ],
    )
