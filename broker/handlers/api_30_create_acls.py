"""CreateAcls (30), v1-3.

Adds access rules, durably; one result a rule. v1: prefixed patterns. v2: flexible. v3: resource type USER. Without an authorizer: 54.
"""

from __future__ import annotations

from oncelog.broker.auth.acls import CLUSTER_NAME, AclEntry, AclOperation, PatternType, PermissionType, ResourcePattern, ResourceType
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.administration import CLUSTER_REFUSED, may, member
from oncelog.broker.net.dispatch import api
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError


@api(ApiKey.CREATE_ACLS, 1, 3)
def handle(req: messages.CreateAclsRequest, ctx: RequestContext) -> messages.CreateAclsResponse:
    """Add each rule that is well formed."""
    results = [_create(creation, ctx) for creation in req.creations]
    result = messages.CreateAclsResponse.AclCreationResult
    return messages.CreateAclsResponse(results=[result(error_code=error, error_message=message) for error, message in results])


def _create(creation: messages.CreateAclsRequest.AclCreation, ctx: RequestContext) -> tuple[ErrorCode, str | None]:
    if not may(ctx, AclOperation.ALTER):
        return ErrorCode.CLUSTER_AUTHORIZATION_FAILED, CLUSTER_REFUSED
    if ctx.broker.authorizer is None:
        return ErrorCode.SECURITY_DISABLED, "No Authorizer is configured."
    try:
        ctx.broker.authorizer.create(entry_of(creation))
    except KafkaError as error:
        return error.code, error.message
    return ErrorCode.NONE, ""


def entry_of(creation: messages.CreateAclsRequest.AclCreation) -> AclEntry:
    """The rule asked for. Raises KafkaError(INVALID_REQUEST) as `AclControlManager.validateNewAcl` does."""
    pattern = ResourcePattern(
        member(ResourceType, creation.resource_type), creation.resource_name, member(PatternType, creation.resource_pattern_type)
    )
    operation, permission = member(AclOperation, creation.operation), member(PermissionType, creation.permission_type)
    if pattern.resource_type in (ResourceType.UNKNOWN, ResourceType.ANY):
        raise _invalid(f"Invalid resourceType {pattern.resource_type.name}")
    if pattern.pattern_type not in (PatternType.LITERAL, PatternType.PREFIXED):
        raise _invalid(f"Invalid patternType {pattern.pattern_type.name}")
    if operation in (AclOperation.UNKNOWN, AclOperation.ANY):
        raise _invalid(f"Invalid operation {operation.name}")
    if permission not in (PermissionType.DENY, PermissionType.ALLOW):
        raise _invalid(f"Invalid permissionType {permission.name}")
    if not pattern.name:
        raise _invalid("Invalid empty resource name")
    if pattern.resource_type is ResourceType.CLUSTER and pattern.name != CLUSTER_NAME:
        raise _invalid(f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}")
    if ":" not in creation.principal:
        raise _invalid(f"Could not parse principal from `{creation.principal}` (no colon between the type and the name)")
    return AclEntry(pattern, creation.principal, creation.host, operation, permission)


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)
