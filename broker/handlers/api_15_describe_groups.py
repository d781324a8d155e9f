"""DescribeGroups (15), v0-6.

Classic groups with their members. v3: authorized operations. v4: instance ids. v5: flexible. v6: an unknown group is 69 instead of only
Dead.
"""

from __future__ import annotations

from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.topic_access import NOT_REQUESTED, authorized_operations
from oncelog.broker.net.dispatch import api
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode

_NOT_FOUND = 6


@api(ApiKey.DESCRIBE_GROUPS, 0, 6)
def handle(req: messages.DescribeGroupsRequest, ctx: RequestContext) -> messages.DescribeGroupsResponse:
    """One entry a group."""
    return messages.DescribeGroupsResponse(groups=[_group(group_id, req, ctx) for group_id in req.groups])


def _group(group_id: str, req: messages.DescribeGroupsRequest, ctx: RequestContext) -> messages.DescribeGroupsResponse.DescribedGroup:
    kind = messages.DescribeGroupsResponse.DescribedGroup
    if not ctx.authorize(AclOperation.DESCRIBE, ResourceType.GROUP, group_id):
        return kind(group_id=group_id, error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    found = ctx.broker.groups.listing.describe(group_id)
    error, text = found.error, None
    if error is ErrorCode.GROUP_ID_NOT_FOUND:
        error = error if ctx.api_version >= _NOT_FOUND else ErrorCode.NONE
        text = found.why if error else None
    return kind(
        group_id=group_id,
        error_code=error,
        error_message=text,
        group_state=found.state,
        protocol_type=found.protocol_type,
        protocol_data=found.protocol_name,
        members=[
            kind.DescribedGroupMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                member_metadata=member.metadata,
                member_assignment=member.assignment,
            )
            for member in found.members
        ],
        authorized_operations=(
            authorized_operations(ctx, ResourceType.GROUP, group_id) if req.include_authorized_operations and not error else NOT_REQUESTED
        ),
    )
