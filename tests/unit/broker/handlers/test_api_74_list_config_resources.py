"""ListConfigResources: what has settings, by type."""

from __future__ import annotations

from typing import Any

import pytest
from oncelog.broker.auth.acls import AclOperation
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from support.whole_broker import CLUSTER, WholeBroker

pytestmark = pytest.mark.unit
TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32


@pytest.fixture(autouse=True)
def settings(whole: WholeBroker) -> None:
    for kind, name, key, value in ((METRICS, "m", "interval.ms", "1000"), (GROUP, "g", "consumer.session.timeout.ms", "50000")):
        resource = {"resource_type": kind, "resource_name": name, "configs": [{"name": key, "config_operation": 0, "value": value}]}
        (answer,) = whole.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, resources=[resource], validate_only=False).responses
        assert answer.error_code == ErrorCode.NONE


def listed(whole: WholeBroker, *kinds: int) -> list[tuple[int, str]]:
    answer = whole.ask(ApiKey.LIST_CONFIG_RESOURCES, 1, resource_types=list(kinds))
    assert answer.error_code == ErrorCode.NONE
    return [(each.resource_type, each.resource_name) for each in answer.config_resources]


def test_all_in_kafkas_order(whole: WholeBroker) -> None:
    assert listed(whole) == [(GROUP, "g"), (METRICS, "m"), (LOGGER, "1"), (BROKER, "1"), (TOPIC, "t")]


@pytest.mark.parametrize(
    ("kinds", "found"),
    [([TOPIC], [(TOPIC, "t")]), ([TOPIC, GROUP, TOPIC], [(GROUP, "g"), (TOPIC, "t")]), ([BROKER], [(BROKER, "1")])],
    ids=str,
)
def test_by_type(whole: WholeBroker, kinds: list[int], found: list[tuple[int, str]]) -> None:
    assert listed(whole, *kinds) == found


def test_version_0_is_about_client_metrics(whole: WholeBroker) -> None:
    answer: Any = whole.ask(ApiKey.LIST_CONFIG_RESOURCES, 0)
    assert (answer.error_code, [each.resource_name for each in answer.config_resources]) == (ErrorCode.NONE, ["m"])


@pytest.mark.parametrize("kinds", [[0], [99], [TOPIC, 3]])
def test_a_type_that_nobody_knows(whole: WholeBroker, kinds: list[int]) -> None:
    answer = whole.ask(ApiKey.LIST_CONFIG_RESOURCES, 1, resource_types=kinds)
    assert (answer.error_code, answer.config_resources) == (ErrorCode.UNSUPPORTED_VERSION, [])


def test_without_the_cluster(whole: WholeBroker) -> None:
    whole.deny(AclOperation.DESCRIBE_CONFIGS, *CLUSTER)
    for version in (0, 1):
        answer = whole.ask(ApiKey.LIST_CONFIG_RESOURCES, version)
        assert (answer.error_code, answer.config_resources) == (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, [])
