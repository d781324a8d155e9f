"""CreateAcls (30), v1-3.

Adds access rules; one result a rule, when all are on disk. v1: prefixed patterns. v2: flexible. v3: resource type USER. Without an
authorizer: 54. More than 10,000 new ones: 44, and none is added.
"""

from __future__ import annotations

from functools import partial

from oncelog.broker.answers import Settling
from oncelog.broker.auth.acls import CLUSTER_NAME, AclEntry, AclOperation, PatternType, PermissionType, ResourcePattern, ResourceType
from oncelog.broker.auth.authorizer import Authorizer
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.administration import CHANGES_A_TURN, CLUSTER_REFUSED, check_changes, may, member
from oncelog.broker.net.dispatch import api
from oncelog.broker.net.turns import Steps, at_once
from oncelog.coordinator.deferred import Reply
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError

_Result = messages.CreateAclsResponse.AclCreationResult


@api(ApiKey.CREATE_ACLS, 1, 3)
def handle(req: messages.CreateAclsRequest, ctx: RequestContext) -> Reply[messages.CreateAclsResponse]:
    """Add each rule that is well formed."""
    authorizer = ctx.broker.authorizer
    if not may(ctx, AclOperation.ALTER):
        refused = KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, CLUSTER_REFUSED)
    elif authorizer is None:
        refused = KafkaError(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")
    else:
        steps = _create_all(req, authorizer)
        return ctx.broker.turns.answer(steps) if len(req.creations) > CHANGES_A_TURN else at_once(steps)
    return _answer([refused] * len(req.creations))


def _create_all(req: messages.CreateAclsRequest, authorizer: Authorizer) -> Steps[Reply[messages.CreateAclsResponse]]:
    refused: dict[int, KafkaError] = {}
    new: dict[str, AclEntry] = {}
    for number, creation in enumerate(req.creations):
        try:
            new |= authorizer.new([entry_of(creation)])
        except KafkaError as invalid:
            refused[number] = invalid.with_traceback(None)  # of thousands
        if number % CHANGES_A_TURN == CHANGES_A_TURN - 1:
            yield None
    try:
        check_changes(len(new))
    except KafkaError as too_many:
        return _answer([refused.get(number, too_many) for number in range(len(req.creations))])
    adding = Settling()
    keys = list(new)
    for start in range(0, len(keys), CHANGES_A_TURN):
        some = {key: new[key] for key in keys[start : start + CHANGES_A_TURN]}
        adding.start(start, partial(authorizer.begin_create, some))
        if start + CHANGES_A_TURN < len(keys):
            yield None

    def answer() -> messages.CreateAclsResponse:
        error = next(iter(adding.failed.values()), None)
        return _answer([refused.get(number, error) for number in range(len(req.creations))])

    return adding.holding_reply(answer)


def _answer(errors: list[KafkaError] | list[KafkaError | None]) -> messages.CreateAclsResponse:
    return messages.CreateAclsResponse(
        results=[
            _Result(error_code=ErrorCode.NONE, error_message="")
            if error is None
            else _Result(error_code=error.code, error_message=error.message)
            for error in errors
        ]
    )


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
