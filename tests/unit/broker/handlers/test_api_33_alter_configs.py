"""AlterConfigs: all values of a resource at once, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from support.whole_broker import CLUSTER, WholeBroker

pytestmark = pytest.mark.unit
TOPIC, BROKER, GROUP = 2, 4, 32


def resource(kind: int, name: str, **values: str | None) -> dict[str, Any]:
    configs = [{"name": key.replace("_", "."), "value": value} for key, value in values.items()]
    return {"resource_type": kind, "resource_name": name, "configs": configs}


def alter(whole: WholeBroker, *resources: dict[str, Any], version: int = 2, validate_only: bool = False) -> list[tuple[str, int]]:
    answer = whole.ask(ApiKey.ALTER_CONFIGS, version, resources=list(resources), validate_only=validate_only)
    return [(each.resource_name, each.error_code) for each in answer.responses]


def configs(whole: WholeBroker, topic: str = "t") -> dict[str, str]:
    found = whole.logs.topics.get(topic)
    assert found is not None
    return dict(found.configs)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_what_is_not_named_returns_to_its_default(whole: WholeBroker, version: int) -> None:
    assert alter(whole, resource(TOPIC, "t", retention_ms="5", segment_ms="7000")) == [("t", 0)]
    assert alter(whole, resource(TOPIC, "t", retention_ms="6"), version=version) == [("t", 0)]
    assert configs(whole) == {"retention.ms": "6"}
    assert alter(whole, resource(TOPIC, "t"), version=version) == [("t", 0)]
    assert configs(whole) == {}


def test_one_that_is_wrong_leaves_all_of_its_resource(whole: WholeBroker) -> None:
    whole.logs.create_topic("u", 1)
    bad = resource(TOPIC, "t", retention_ms="5", segment_bytes="many")
    assert alter(whole, bad, resource(TOPIC, "u", retention_ms="5")) == [("t", ErrorCode.INVALID_CONFIG), ("u", 0)]
    assert (configs(whole), configs(whole, "u")) == ({}, {"retention.ms": "5"})


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        (resource(TOPIC, "gone", retention_ms="5"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (resource(TOPIC, "t", no_such_setting="5"), ErrorCode.INVALID_CONFIG),
        (resource(TOPIC, "t", retention_ms=None), ErrorCode.INVALID_REQUEST),
        (resource(BROKER, "no number"), ErrorCode.INVALID_REQUEST),
        (resource(99, "t"), ErrorCode.INVALID_REQUEST),
    ],
    ids=str,
)
def test_refusals(whole: WholeBroker, asked: dict[str, Any], error: ErrorCode) -> None:
    assert alter(whole, asked) == [(asked["resource_name"], error)]


def test_a_resource_that_is_named_twice_is_not_altered(whole: WholeBroker) -> None:
    whole.logs.create_topic("u", 1)
    asked = [resource(TOPIC, "t", retention_ms="5"), resource(TOPIC, "u", retention_ms="5"), resource(TOPIC, "t")]
    answer = alter(whole, *asked)
    assert answer == [("t", ErrorCode.INVALID_REQUEST), ("u", 0), ("t", ErrorCode.INVALID_REQUEST)]
    assert configs(whole) == {}


def test_only_validated(whole: WholeBroker) -> None:
    good, bad = resource(TOPIC, "t", retention_ms="5"), resource(TOPIC, "t", retention_ms="x")
    assert alter(whole, good, validate_only=True) == [("t", 0)]
    assert alter(whole, bad, validate_only=True) == [("t", ErrorCode.INVALID_CONFIG)]
    assert configs(whole) == {}


def test_topics_groups_and_the_cluster_have_rights_of_their_own(whole: WholeBroker) -> None:
    asked = [resource(TOPIC, "t", retention_ms="5"), resource(GROUP, "g"), resource(BROKER, "")]
    for operation, kind, name in (
        (AclOperation.ALTER_CONFIGS, ResourceType.TOPIC, "t"),
        (AclOperation.ALTER_CONFIGS, ResourceType.GROUP, "g"),
        (AclOperation.ALTER_CONFIGS, *CLUSTER),
    ):
        whole.deny(operation, kind, name)
    assert alter(whole, *asked) == [("t", 29), ("g", 30), ("", 31)]
    assert configs(whole) == {}
