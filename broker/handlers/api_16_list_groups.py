"""ListGroups (16), v0-5.

Groups of both kinds. v3: flexible. v4: state, and a filter by it. v5: type, and a filter by it. Filters ignore case.
"""

from __future__ import annotations

from oncelog.broker.auth.acls import CLUSTER_NAME, AclOperation, ResourceType
from oncelog.broker.context import RequestContext
from oncelog.broker.net.dispatch import api
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import KafkaError


@api(ApiKey.LIST_GROUPS, 0, 5)
def handle(req: messages.ListGroupsRequest, ctx: RequestContext) -> messages.ListGroupsResponse:
    """What may be seen."""
    try:
        found = ctx.broker.groups.listing.list(req.states_filter, req.types_filter)
    except KafkaError as error:
        return messages.ListGroupsResponse(error_code=error.code)
    if not ctx.sees(AclOperation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME):
        found = [group for group in found if ctx.sees(AclOperation.DESCRIBE, ResourceType.GROUP, group.group_id)]
    kind = messages.ListGroupsResponse.ListedGroup
    return messages.ListGroupsResponse(
        groups=[
            kind(group_id=group.group_id, protocol_type=group.protocol_type, group_state=group.state, group_type=group.kind)
            for group in found
        ]
    )
