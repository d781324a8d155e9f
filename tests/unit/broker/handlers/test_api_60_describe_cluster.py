"""DescribeCluster: a cluster of one, for whom asks a broker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from oncelog.broker.auth.acls import AclOperation
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from support.whole_broker import CLUSTER, WholeBroker

pytestmark = pytest.mark.unit
NOT_REQUESTED = -(2**31)


def describe(whole: WholeBroker, version: int = 2, **fields: Any) -> Any:
    return whole.ask(ApiKey.DESCRIBE_CLUSTER, version, **fields)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_this_broker_is_its_own_controller(whole: WholeBroker, version: int) -> None:
    answer = describe(whole, version)
    assert (answer.error_code, answer.cluster_id, answer.controller_id) == (ErrorCode.NONE, whole.context.cluster_id, 1)
    assert [(each.broker_id, each.host, each.port, each.rack) for each in answer.brokers] == [(1, "127.0.0.1", 9092, None)]
    assert answer.cluster_authorized_operations == NOT_REQUESTED


def test_the_advertised_address(wholes: Callable[..., WholeBroker]) -> None:
    whole = wholes(settings={"advertised.listeners": "PLAINTEXT://kafka.example:19092"})
    assert [(each.host, each.port) for each in describe(whole).brokers] == [("kafka.example", 19092)]


@pytest.mark.parametrize(
    ("endpoint_type", "error", "why"),
    [
        (
            2,
            ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER",
        ),
        (0, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, "Unsupported endpoint type 0"),
        (3, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, "Unsupported endpoint type 3"),
    ],
)
def test_controllers_are_not_here(whole: WholeBroker, endpoint_type: int, error: ErrorCode, why: str) -> None:
    answer = describe(whole, 1, endpoint_type=endpoint_type)
    assert (answer.error_code, answer.error_message, answer.endpoint_type) == (error, why, 1)
    assert (answer.cluster_id, answer.controller_id, answer.brokers) == ("", -1, [])


def test_operations_are_told_to_whom_asks(whole: WholeBroker) -> None:
    assert describe(whole, include_cluster_authorized_operations=True).cluster_authorized_operations == 8096
    whole.deny(AclOperation.ALTER, *CLUSTER)
    assert describe(whole, include_cluster_authorized_operations=True).cluster_authorized_operations == 8096 - (1 << AclOperation.ALTER)


def test_without_the_cluster_the_broker_is_told_all_the_same(whole: WholeBroker) -> None:
    whole.deny(AclOperation.DESCRIBE, *CLUSTER)
    answer = describe(whole, include_cluster_authorized_operations=True)
    assert (answer.error_code, len(answer.brokers), answer.cluster_authorized_operations) == (ErrorCode.NONE, 1, 0)
