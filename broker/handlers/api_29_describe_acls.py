"""DescribeAcls (29), v1-3.

The access rules that match a filter, grouped by resource pattern. v1: prefixed patterns. v2: flexible. v3: resource type USER.
Without an authorizer: 54.
"""

from __future__ import annotations

from itertools import groupby

from oncelog.broker.auth.acls import AclEntry, AclFilter, AclOperation, PatternType, PermissionType, ResourceType
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.administration import CLUSTER_REFUSED, may, member
from oncelog.broker.net.dispatch import api
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode


@api(ApiKey.DESCRIBE_ACLS, 1, 3)
def handle(req: messages.DescribeAclsRequest, ctx: RequestContext) -> messages.DescribeAclsResponse:
    """List matching rules."""
    if not may(ctx, AclOperation.DESCRIBE):
        return _refused(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, CLUSTER_REFUSED)
    authorizer = ctx.broker.authorizer
    if authorizer is None:
        return _refused(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured on the broker")
    by_pattern = groupby(sorted(authorizer.describe(filter_of(req))), key=lambda entry: entry.pattern)
    return messages.DescribeAclsResponse(error_code=0, error_message="", resources=[_resource(list(group)) for _, group in by_pattern])


def filter_of(wanted: messages.DescribeAclsRequest | messages.DeleteAclsRequest.DeleteAclsFilter) -> AclFilter:
    """The filter of DescribeAcls or one of DeleteAcls."""
    return AclFilter(
        resource_type=member(ResourceType, wanted.resource_type_filter),
        name=wanted.resource_name_filter,
        pattern_type=member(PatternType, wanted.pattern_type_filter),
        principal=wanted.principal_filter,
        host=wanted.host_filter,
        operation=member(AclOperation, wanted.operation),
        permission=member(PermissionType, wanted.permission_type),
    )


def _resource(entries: list[AclEntry]) -> messages.DescribeAclsResponse.DescribeAclsResource:
    resource = messages.DescribeAclsResponse.DescribeAclsResource
    pattern = entries[0].pattern
    rule = resource.AclDescription
    acls = [rule(principal=e.principal, host=e.host, operation=e.operation, permission_type=e.permission) for e in entries]
    return resource(resource_type=pattern.resource_type, resource_name=pattern.name, pattern_type=pattern.pattern_type, acls=acls)


def _refused(error: ErrorCode, message: str) -> messages.DescribeAclsResponse:
    return messages.DescribeAclsResponse(error_code=error, error_message=message, resources=[])
