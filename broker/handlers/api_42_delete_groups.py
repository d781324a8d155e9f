"""DeleteGroups (42), v0-2.

Groups without members go with their offsets, pending ones too. With members: 68; unknown: 69. v2: flexible.
"""

from __future__ import annotations

from oncelog.broker.answers import all_of, then
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.broker.context import RequestContext
from oncelog.broker.net.dispatch import api
from oncelog.coordinator.deferred import Reply
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode


@api(ApiKey.DELETE_GROUPS, 0, 2)
def handle(req: messages.DeleteGroupsRequest, ctx: RequestContext) -> Reply[messages.DeleteGroupsResponse]:
    """One verdict a group."""
    names = list(dict.fromkeys(req.groups_names))
    allowed = [name for name in names if ctx.authorize(AclOperation.DELETE, ResourceType.GROUP, name)]
    replies = ctx.broker.groups.removal.delete_groups(allowed)
    kind = messages.DeleteGroupsResponse.DeletableGroupResult

    def answer(codes: list[ErrorCode]) -> messages.DeleteGroupsResponse:
        verdicts = dict(zip(replies, codes, strict=True))
        return messages.DeleteGroupsResponse(
            results=[kind(group_id=name, error_code=verdicts.get(name, ErrorCode.GROUP_AUTHORIZATION_FAILED)) for name in names]
        )

    return then(all_of(list(replies.values())), answer)
