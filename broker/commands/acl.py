"""`oncelog acl`: who may do what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter
from oncelog.broker.auth.acls import CLUSTER_NAME, AclOperation, PatternType, PermissionType, ResourceType
from oncelog.broker.commands.client.cluster import check
from oncelog.broker.commands.client.options import DEFAULT, Connection
from oncelog.broker.commands.client.output import USAGE, done, fail, show
from oncelog.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from oncelog.protocol import messages

    Matching = messages.DeleteAclsResponse.DeleteAclsFilterResult.DeleteAclsMatchingAcl

app = App(name="acl", help="Access rules: list, add, delete.")
Resource = Literal["topic", "group", "cluster", "transactional-id", "user"]
Operation = Literal[
    "all",
    "read",
    "write",
    "create",
    "delete",
    "alter",
    "describe",
    "cluster-action",
    "describe-configs",
    "alter-configs",
    "idempotent-write",
    "two-phase-commit",
]
_COLUMNS = ["permission", "principal", "operation", "resource", "pattern", "name", "host"]


@app.command(name="list")
def list_rules(
    *, resource: Resource | None = None, name: str | None = None, principal: str | None = None, connection: Connection = DEFAULT
) -> None:
    """List rules.

    Parameters
    ----------
    name
        Only rules that decide about the resource of that name, prefixes and wildcards too.
    principal
        Only rules of that principal, as User:alice.
    """
    from oncelog.protocol import messages

    request = messages.DescribeAclsRequest(**_filter(resource, name, PatternType.MATCH, principal, None, None))
    with connection.open() as cluster:
        answer = cluster.any().send(ApiKey.DESCRIBE_ACLS, request)
        check(answer.error_code, answer.error_message)
    rows = [_row(found, acl) for found in answer.resources for acl in found.acls]
    show(rows, _COLUMNS, connection.format, nothing="no rules")


@app.command
def add(
    principal: str,
    resource: Resource,
    name: str | None = None,
    *,
    operation: tuple[Operation, ...] = ("all",),
    deny: Annotated[bool, Parameter(negative=())] = False,
    prefix: Annotated[bool, Parameter(negative=())] = False,
    host: str = "*",
    connection: Connection = DEFAULT,
) -> None:
    """Allow (or deny) a principal something.

    Parameters
    ----------
    principal
        As User:alice; User:* is everybody.
    name
        Name of the resource; * is every one. The cluster needs none.
    operation
        May be given several times.
    deny
        Deny instead of allow; a deny wins over every allow.
    prefix
        The name stands for all that begin with it.
    host
        Address the rule is limited to.
    """
    from oncelog.protocol import messages

    if ":" not in principal:
        fail(f"{principal!r} is no principal: write User:{principal}", USAGE)
    if resource == "cluster":
        name = CLUSTER_NAME if name is None else name
    if name is None:
        fail(f"which {resource}? oncelog acl add {principal} {resource} NAME (or '*' for every one, in quotes)", USAGE)
    creations = [
        messages.CreateAclsRequest.AclCreation(
            resource_type=_resource_type(resource),
            resource_name=name,
            resource_pattern_type=PatternType.PREFIXED if prefix else PatternType.LITERAL,
            principal=principal,
            host=host,
            operation=_operation(each),
            permission_type=PermissionType.DENY if deny else PermissionType.ALLOW,
        )
        for each in operation
    ]
    with connection.open() as cluster:
        for result in cluster.controller().send(ApiKey.CREATE_ACLS, messages.CreateAclsRequest(creations=creations)).results:
            check(result.error_code, result.error_message)
    done(f"added {len(creations)} rule(s)", connection.format, added=len(creations))


@app.command
def delete(
    *,
    principal: str | None = None,
    resource: Resource | None = None,
    name: str | None = None,
    operation: Operation | None = None,
    every: Annotated[bool, Parameter(negative=())] = False,
    connection: Connection = DEFAULT,
) -> None:
    """Remove the rules that match all that is given.

    Parameters
    ----------
    name
        The name as it stands in the rule.
    every
        Needed when nothing else is given: remove every rule.
    """
    from oncelog.protocol import messages

    if not every and principal is None and resource is None and name is None and operation is None:
        fail("say which rules, or --every", USAGE)
    asked = messages.DeleteAclsRequest.DeleteAclsFilter(**_filter(resource, name, PatternType.ANY, principal, operation, None))
    with connection.open() as cluster:
        answer = cluster.controller().send(ApiKey.DELETE_ACLS, messages.DeleteAclsRequest(filters=[asked]))
        (result,) = answer.filter_results
        check(result.error_code, result.error_message)
    show([_row(acl, acl) for acl in result.matching_acls], _COLUMNS, connection.format, nothing="no rule matched")


def _filter(
    resource: Resource | None,
    name: str | None,
    pattern: PatternType,
    principal: str | None,
    operation: Operation | None,
    host: str | None,
) -> dict[str, Any]:
    return {
        "resource_type_filter": ResourceType.ANY if resource is None else _resource_type(resource),
        "resource_name_filter": name,
        "pattern_type_filter": PatternType.ANY if name is None else pattern,
        "principal_filter": principal,
        "host_filter": host,
        "operation": AclOperation.ANY if operation is None else _operation(operation),
        "permission_type": PermissionType.ANY,
    }


def _row(
    resource: messages.DescribeAclsResponse.DescribeAclsResource | Matching,
    acl: messages.DescribeAclsResponse.DescribeAclsResource.AclDescription | Matching,
) -> dict[str, Any]:
    return {
        "permission": _text(PermissionType(acl.permission_type)),
        "principal": acl.principal,
        "operation": _text(AclOperation(acl.operation)),
        "resource": _text(ResourceType(resource.resource_type)),
        "pattern": _text(PatternType(resource.pattern_type)),
        "name": resource.resource_name,
        "host": acl.host,
    }


def _text(member: ResourceType | PatternType | AclOperation | PermissionType) -> str:
    return member.name.lower().replace("_", "-")


def _resource_type(resource: Resource) -> ResourceType:
    return ResourceType[resource.upper().replace("-", "_")]


def _operation(operation: Operation) -> AclOperation:
    return AclOperation[operation.upper().replace("-", "_")]
