"""DescribeAcls: rules by filter, grouped by what they protect."""

from __future__ import annotations

from typing import Any

import pytest
from oncelog.broker.auth.acls import AclOperation, PatternType, PermissionType, ResourceType
from oncelog.broker.handlers.api_29_describe_acls import filter_of
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from support.acl_rules import ALICE, ALLOW, BOB, DESCRIBE, LITERAL, PREFIXED, READ, WRITE, authorizer, entry
from support.whole_broker import CLUSTER, WholeBroker

pytestmark = pytest.mark.unit
ANY = {
    "resource_type_filter": 1,
    "resource_name_filter": None,
    "pattern_type_filter": 1,
    "principal_filter": None,
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}


@pytest.fixture
def ruled(whole: WholeBroker) -> WholeBroker:
    rules = [entry("a"), entry("a", WRITE, principal=BOB), entry("ab", pattern=PREFIXED), entry("g", kind=ResourceType.GROUP)]
    whole.context.authorizer = authorizer(*rules, super_users=("User:ANONYMOUS",))
    return whole


def describe(whole: WholeBroker, version: int = 3, **fields: Any) -> dict[tuple[int, str, int], list[tuple[str, int]]]:
    answer = whole.ask(ApiKey.DESCRIBE_ACLS, version, **{**ANY, **fields})
    assert (answer.error_code, answer.error_message) == (ErrorCode.NONE, "")
    found = answer.resources
    return {
        (each.resource_type, each.resource_name, each.pattern_type): [(rule.principal, rule.operation) for rule in each.acls]
        for each in found
    }


@pytest.mark.parametrize("version", [1, 2, 3])
def test_everything_by_pattern(ruled: WholeBroker, version: int) -> None:
    assert describe(ruled, version) == {
        (ResourceType.TOPIC, "a", LITERAL): [(ALICE, READ), (BOB, WRITE)],
        (ResourceType.TOPIC, "ab", PREFIXED): [(ALICE, READ)],
        (ResourceType.GROUP, "g", LITERAL): [(ALICE, READ)],
    }


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        ({"resource_type_filter": ResourceType.GROUP}, {"g"}),
        ({"resource_name_filter": "a"}, {"a"}),
        ({"resource_name_filter": "abc", "pattern_type_filter": PatternType.MATCH}, {"ab"}),
        ({"pattern_type_filter": PREFIXED}, {"ab"}),
        ({"principal_filter": BOB}, {"a"}),
        ({"host_filter": "10.9.9.9"}, set()),
        ({"operation": WRITE}, {"a"}),
        ({"operation": DESCRIBE}, set()),
        ({"permission_type": PermissionType.DENY}, set()),
        ({"permission_type": ALLOW}, {"a", "ab", "g"}),
        ({"operation": 99}, set()),  # a number that nobody knows matches nothing
    ],
    ids=str,
)
def test_filters(ruled: WholeBroker, fields: dict[str, Any], names: set[str]) -> None:
    assert {name for _, name, _ in describe(ruled, **fields)} == names


def test_without_an_authorizer(whole: WholeBroker) -> None:
    answer = whole.ask(ApiKey.DESCRIBE_ACLS, 3, **ANY)
    assert (answer.error_code, answer.error_message) == (ErrorCode.SECURITY_DISABLED, "No Authorizer is configured on the broker")


def test_without_the_cluster(whole: WholeBroker) -> None:
    whole.deny(AclOperation.DESCRIBE, *CLUSTER)
    answer = whole.ask(ApiKey.DESCRIBE_ACLS, 3, **ANY)
    assert (answer.error_code, answer.resources) == (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, [])


def test_the_filter_is_what_was_asked_for() -> None:
    wanted = filter_of(messages.DescribeAclsRequest(**{**ANY, "resource_name_filter": "t", "pattern_type_filter": 4, "host_filter": "h"}))
    rule = entry("t", pattern=PREFIXED, host="h")
    assert wanted.matches(rule)
    others = entry("t", pattern=PREFIXED), entry("t", host="h"), entry("u", pattern=PREFIXED, host="h")
    assert not any(wanted.matches(other) for other in others)
    assert not wanted.has_unknown()
    assert filter_of(messages.DescribeAclsRequest(**{**ANY, "permission_type": 7})).has_unknown()
