"""DeleteAcls (31), v1-3.

Removes the access rules that match each filter, durably, and answers with them. v1: prefixed patterns. v2: flexible.
v3: resource type USER. Without an authorizer: 54.
"""

from __future__ import annotations

from oncelog.broker.auth.acls import AclEntry, AclFilter, AclOperation
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.api_29_describe_acls import filter_of
from oncelog.broker.handlers.shared.administration import CLUSTER_REFUSED, may
from oncelog.broker.net.dispatch import api
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode

_Result = messages.DeleteAclsResponse.DeleteAclsFilterResult


@api(ApiKey.DELETE_ACLS, 1, 3)
def handle(req: messages.DeleteAclsRequest, ctx: RequestContext) -> messages.DeleteAclsResponse:
    """Remove what each filter matches."""
    return messages.DeleteAclsResponse(filter_results=[_delete(filter_of(wanted), ctx) for wanted in req.filters])


def _delete(wanted: AclFilter, ctx: RequestContext) -> _Result:
    if not may(ctx, AclOperation.ALTER):
        return _result(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, CLUSTER_REFUSED)
    if ctx.broker.authorizer is None:
        return _result(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")
    if wanted.has_unknown():
        return _result(ErrorCode.INVALID_REQUEST, "Filter contain UNKNOWN elements")
    return _result(ErrorCode.NONE, None, ctx.broker.authorizer.delete(wanted))


def _result(error: ErrorCode, message: str | None, deleted: list[AclEntry] | None = None) -> _Result:
    matching = [
        _Result.DeleteAclsMatchingAcl(
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
        for entry in deleted or ()
    ]
    return _Result(error_code=error, error_message=message, matching_acls=matching)
