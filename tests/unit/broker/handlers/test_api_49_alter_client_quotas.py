"""AlterClientQuotas: one result an entity, and what is kept."""

from __future__ import annotations

from typing import Any

import pytest
from oncelog.broker.auth.acls import AclOperation
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from support.whole_broker import CLUSTER, WholeBroker

pytestmark = pytest.mark.unit
Entity = list[tuple[str, str | None]]
USER_U: Entity = [("user", "u")]


def entry(entity: Entity, **changes: float | None) -> dict[str, Any]:
    parts = [{"entity_type": kind, "entity_name": name} for kind, name in entity]
    return {"entity": parts, "ops": [{"key": key, "value": value or 0.0, "remove": value is None} for key, value in changes.items()]}


def alter(whole: WholeBroker, *entries: dict[str, Any], version: int = 1, validate_only: bool = False) -> list[tuple[Entity, int]]:
    answer = whole.ask(ApiKey.ALTER_CLIENT_QUOTAS, version, entries=list(entries), validate_only=validate_only)
    return [([(part.entity_type, part.entity_name) for part in each.entity], each.error_code) for each in answer.entries]


def quotas(whole: WholeBroker) -> dict[Any, dict[str, float]]:
    return dict(whole.context.client_quotas.describe([], False))


@pytest.mark.parametrize("version", [0, 1])
def test_set_changed_and_removed(whole: WholeBroker, version: int) -> None:
    assert alter(whole, entry(USER_U, producer_byte_rate=10, request_percentage=1.5), version=version) == [(USER_U, 0)]
    assert alter(whole, entry(USER_U, producer_byte_rate=20), version=version) == [(USER_U, 0)]
    assert quotas(whole) == {(("user", "u"),): {"producer_byte_rate": 20, "request_percentage": 1.5}}
    assert alter(whole, entry(USER_U, producer_byte_rate=None, request_percentage=None), version=version) == [(USER_U, 0)]
    assert quotas(whole) == {}


def test_the_default_of_a_type_has_no_name(whole: WholeBroker) -> None:
    default: Entity = [("user", None), ("client-id", None)]
    assert alter(whole, entry(default, consumer_byte_rate=1)) == [(default, ErrorCode.NONE)]
    assert quotas(whole) == {(("client-id", None), ("user", None)): {"consumer_byte_rate": 1}}


@pytest.mark.parametrize(
    ("entity", "changes"),
    [
        ([], {"producer_byte_rate": 1.0}),
        ([("planet", "x")], {"producer_byte_rate": 1.0}),
        ([("user", "")], {"producer_byte_rate": 1.0}),
        ([("ip", "::1"), ("user", "u")], {"connection_creation_rate": 1.0}),
        ([("ip", "no address!")], {"connection_creation_rate": 1.0}),
        ([("user", "u")], {"connection_creation_rate": 1.0}),
        ([("ip", "10.0.0.1")], {"producer_byte_rate": 1.0}),
        ([("user", "u")], {"producer_byte_rate": 0.0001}),
        ([("user", "u")], {"producer_byte_rate": -1.0}),
        ([("user", "u")], {"producer_byte_rate": 1.5}),
        ([("user", "u")], {"no_such_quota": 1.0}),
    ],
    ids=str,
)
def test_refusals_leave_the_others(whole: WholeBroker, entity: Entity, changes: dict[str, float]) -> None:
    told = alter(whole, entry(entity, **changes), entry([("client-id", "c")], request_percentage=50.5))
    assert told == [(entity, ErrorCode.INVALID_REQUEST), ([("client-id", "c")], ErrorCode.NONE)]
    assert list(quotas(whole)) == [(("client-id", "c"),)]


def test_an_entity_that_is_named_twice_in_any_order(whole: WholeBroker) -> None:
    one: Entity = [("user", "u"), ("client-id", "c")]
    told = alter(whole, entry(one, producer_byte_rate=1), entry(USER_U, producer_byte_rate=2), entry(one[::-1], producer_byte_rate=3))
    assert [error for _, error in told] == [ErrorCode.INVALID_REQUEST, ErrorCode.NONE]  # one result an entity
    assert quotas(whole) == {(("user", "u"),): {"producer_byte_rate": 2}}
    assert alter(whole) == []


def test_only_validated(whole: WholeBroker) -> None:
    told = alter(whole, entry(USER_U, producer_byte_rate=1), entry([("user", "")], producer_byte_rate=1), validate_only=True)
    assert [error for _, error in told] == [ErrorCode.NONE, ErrorCode.INVALID_REQUEST]
    assert quotas(whole) == {}


def test_without_the_cluster(whole: WholeBroker) -> None:
    whole.deny(AclOperation.ALTER_CONFIGS, *CLUSTER)
    assert alter(whole, entry(USER_U, producer_byte_rate=1)) == [(USER_U, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)]
    assert quotas(whole) == {}
