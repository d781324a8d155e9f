"""DeleteAcls: a result for each filter, with the rules that are gone."""

from __future__ import annotations

from typing import Any

import pytest
from oncelog.broker.auth.acls import AclFilter, AclOperation, PatternType, PermissionType, ResourceType
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from support.acl_rules import ALICE, ALLOW, BOB, LITERAL, PREFIXED, READ, WRITE, authorizer, entry
from support.whole_broker import CLUSTER, WholeBroker

pytestmark = pytest.mark.unit
EVERYTHING = AclFilter(ResourceType.ANY, None, PatternType.ANY, None, None, operation=AclOperation.ANY, permission=PermissionType.ANY)


def wanted(**fields: Any) -> dict[str, Any]:
    any_rule = {"resource_type_filter": 1, "pattern_type_filter": 1, "operation": 1, "permission_type": 1}
    return {**any_rule, "resource_name_filter": None, "principal_filter": None, "host_filter": None, **fields}


@pytest.fixture
def ruled(whole: WholeBroker) -> WholeBroker:
    whole.context.authorizer = authorizer(entry("a"), entry("a", WRITE), entry("b", pattern=PREFIXED), super_users=("User:ANONYMOUS",))
    return whole


def delete(whole: WholeBroker, *filters: dict[str, Any], version: int = 3) -> Any:
    return whole.ask(ApiKey.DELETE_ACLS, version, filters=list(filters)).filter_results


def left(whole: WholeBroker) -> int:
    assert whole.context.authorizer is not None
    return len(whole.context.authorizer.describe(EVERYTHING))


@pytest.mark.parametrize("version", [1, 2, 3])
def test_what_is_gone_is_told(ruled: WholeBroker, version: int) -> None:
    (result,) = delete(ruled, wanted(operation=WRITE), version=version)
    assert (result.error_code, result.error_message) == (ErrorCode.NONE, None)
    (gone,) = result.matching_acls
    assert (gone.resource_type, gone.resource_name, gone.pattern_type) == (ResourceType.TOPIC, "a", LITERAL)
    assert (gone.principal, gone.host, gone.operation, gone.permission_type) == (ALICE, "*", WRITE, ALLOW)
    assert left(ruled) == 2


def test_each_filter_has_its_result(ruled: WholeBroker) -> None:
    results = delete(ruled, wanted(resource_name_filter="b"), wanted(principal_filter=BOB), wanted(operation=READ), wanted())
    assert [len(result.matching_acls) for result in results] == [1, 0, 1, 1]  # what one has taken the next does not find
    assert left(ruled) == 0
    assert delete(ruled) == []


@pytest.mark.parametrize("field", ["resource_type_filter", "pattern_type_filter", "operation", "permission_type"])
@pytest.mark.parametrize("number", [0, 99])
def test_unknown_elements_delete_nothing(ruled: WholeBroker, field: str, number: int) -> None:
    unknown, known = delete(ruled, wanted(**{field: number}), wanted(resource_name_filter="b"))
    assert (unknown.error_code, unknown.matching_acls) == (ErrorCode.INVALID_REQUEST, [])
    assert (known.error_code, left(ruled)) == (ErrorCode.NONE, 2)


def test_without_an_authorizer(whole: WholeBroker) -> None:
    (result,) = delete(whole, wanted())
    assert (result.error_code, result.error_message) == (ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")


def test_without_the_cluster(whole: WholeBroker) -> None:
    whole.deny(AclOperation.ALTER, *CLUSTER)
    before = left(whole)
    assert [result.error_code for result in delete(whole, wanted(), wanted())] == [ErrorCode.CLUSTER_AUTHORIZATION_FAILED] * 2
    assert left(whole) == before
