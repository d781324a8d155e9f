"""DeleteAcls (31), v1-3.

Removes the access rules that match each filter, and answers with them when that is on disk. v1: prefixed patterns. v2: flexible.
v3: resource type USER. Without an authorizer: 54.
"""

from __future__ import annotations

from functools import partial

from oncelog.broker.answers import Settling
from oncelog.broker.auth.acls import AclEntry, AclOperation
from oncelog.broker.auth.authorizer import Authorizer
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.api_29_describe_acls import filter_of
from oncelog.broker.handlers.shared.administration import CHANGES_A_TURN, CLUSTER_REFUSED, may
from oncelog.broker.net.dispatch import api
from oncelog.broker.net.turns import Steps, at_once
from oncelog.coordinator.deferred import Reply
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode

_Result = messages.DeleteAclsResponse.DeleteAclsFilterResult
_Deleted = _Result.DeleteAclsMatchingAcl


@api(ApiKey.DELETE_ACLS, 1, 3)
def handle(req: messages.DeleteAclsRequest, ctx: RequestContext) -> Reply[messages.DeleteAclsResponse]:
    """Remove what each filter matches."""
    authorizer = ctx.broker.authorizer
    if not may(ctx, AclOperation.ALTER):
        refused = _Result(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, error_message=CLUSTER_REFUSED, matching_acls=[])
    elif authorizer is None:
        refused = _Result(error_code=ErrorCode.SECURITY_DISABLED, error_message="No Authorizer is configured.", matching_acls=[])
    else:
        steps = _delete_all(req, authorizer)
        if len(req.filters) * authorizer.count <= CHANGES_A_TURN:
            return at_once(steps)
        return ctx.broker.turns.answer(steps, partial(messages.encode_response, ApiKey.DELETE_ACLS, ctx.api_version))
    return messages.DeleteAclsResponse(filter_results=[refused for _ in req.filters])


def _delete_all(req: messages.DeleteAclsRequest, authorizer: Authorizer) -> Steps[Reply[messages.DeleteAclsResponse]]:
    results: list[_Result] = []
    gone: set[str] = set()
    for number, wanted in enumerate(map(filter_of, req.filters), 1):
        if wanted.has_unknown():
            results.append(_Result(error_code=ErrorCode.INVALID_REQUEST, error_message="Filter contain UNKNOWN elements", matching_acls=[]))
            continue
        found = {key: entry for key, entry in authorizer.matching(wanted).items() if key not in gone}
        gone |= found.keys()
        told: list[_Deleted] = []
        results.append(_Result(error_code=ErrorCode.NONE, error_message=None, matching_acls=told))
        for entry in found.values():
            told.append(_deleted(entry))
            if len(told) % CHANGES_A_TURN == 0:
                yield None
        if number < len(req.filters):
            yield None
    deleting = Settling()
    if gone:
        deleting.start(0, partial(authorizer.begin_delete, gone))

    def answer() -> messages.DeleteAclsResponse:
        if error := deleting.failed.get(0):
            failed = _Result(error_code=error.code, error_message=error.message, matching_acls=[])
            return messages.DeleteAclsResponse(filter_results=[failed for _ in results])
        return messages.DeleteAclsResponse(filter_results=results)

    return deleting.holding_reply(answer)


def _deleted(entry: AclEntry) -> _Deleted:
    return _Deleted(
        error_code=0,
        error_message=None,
        resource_type=entry.pattern.resource_type,
        resource_name=entry.pattern.name,
        pattern_type=entry.pattern.pattern_type,
        principal=entry.principal,
        host=entry.host,
        operation=entry.operation,
        permission_type=entry.permission,
    )
