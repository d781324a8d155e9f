"""Who may see and alter settings of which resource, and resources that are named twice."""

from __future__ import annotations

from typing import Any

import pytest
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.broker.handlers.shared.config_access import check_access, check_once, twice
from oncelog.protocol import messages
from oncelog.protocol.errors import ErrorCode, KafkaError

pytestmark = pytest.mark.unit
TOPIC, BROKER, LOGGER, METRICS, GROUP, UNKNOWN = 2, 4, 8, 16, 32, 99
ALTER, DESCRIBE = AclOperation.ALTER_CONFIGS, AclOperation.DESCRIBE_CONFIGS


class Asked:
    """A request whose principal may do nothing but `granted`."""

    def __init__(self, *granted: tuple[AclOperation, ResourceType, str]) -> None:
        self._granted = granted

    def authorize(self, operation: AclOperation, kind: ResourceType, name: str) -> bool:
        return (operation, kind, name) in self._granted


@pytest.mark.parametrize("operation", [ALTER, DESCRIBE])
@pytest.mark.parametrize(
    ("kind", "needed", "error"),
    [
        (TOPIC, (ResourceType.TOPIC, "x"), ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        (GROUP, (ResourceType.GROUP, "x"), ErrorCode.GROUP_AUTHORIZATION_FAILED),
        (BROKER, (ResourceType.CLUSTER, "kafka-cluster"), ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
        (LOGGER, (ResourceType.CLUSTER, "kafka-cluster"), ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
        (METRICS, (ResourceType.CLUSTER, "kafka-cluster"), ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
        (UNKNOWN, (ResourceType.CLUSTER, "kafka-cluster"), ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
    ],
)
def test_the_right_that_is_needed(operation: AclOperation, kind: int, needed: tuple[ResourceType, str], error: ErrorCode) -> None:
    granted: Any = Asked((operation, *needed))
    check_access(granted, operation, kind, "x")
    other = DESCRIBE if operation is ALTER else ALTER
    for refused in (Asked(), Asked((other, *needed)), Asked((operation, needed[0], "y"))):
        with pytest.raises(KafkaError) as raised:
            check_access(refused, operation, kind, "x")  # type: ignore[arg-type]
        assert raised.value.code is error


def resource(kind: int, name: str) -> messages.AlterConfigsRequest.AlterConfigsResource:
    return messages.AlterConfigsRequest.AlterConfigsResource(resource_type=kind, resource_name=name)


def test_named_twice_is_type_and_name() -> None:
    asked = [resource(TOPIC, "a"), resource(GROUP, "a"), resource(TOPIC, "b"), resource(TOPIC, "a")]
    repeated = twice(asked)
    assert repeated == {(TOPIC, "a")}
    assert twice(()) == set()
    check_once(asked[1], repeated)
    check_once(asked[2], repeated)
    with pytest.raises(KafkaError, match="at most once") as refused:
        check_once(asked[3], repeated)
    assert refused.value.code is ErrorCode.INVALID_REQUEST
