"""UnregisterBroker: the only one stays, another is not there."""

from __future__ import annotations

import pytest
from oncelog.broker.auth.acls import AclOperation
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from support.whole_broker import CLUSTER, WholeBroker

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("broker_id", "error", "why"),
    [
        (1, ErrorCode.INVALID_REQUEST, "The only broker of the cluster cannot be unregistered"),
        (2, ErrorCode.BROKER_ID_NOT_REGISTERED, "Broker ID 2 is not currently registered"),
        (-1, ErrorCode.BROKER_ID_NOT_REGISTERED, "Broker ID -1 is not currently registered"),
    ],
)
def test_nobody_can_be_taken_off(whole: WholeBroker, broker_id: int, error: ErrorCode, why: str) -> None:
    assert whole.context.node_id == 1
    answer = whole.ask(ApiKey.UNREGISTER_BROKER, 0, broker_id=broker_id)
    assert (answer.error_code, answer.error_message) == (error, why)


def test_without_the_cluster(whole: WholeBroker) -> None:
    whole.deny(AclOperation.ALTER, *CLUSTER)
    for broker_id in (1, 2):
        assert whole.ask(ApiKey.UNREGISTER_BROKER, 0, broker_id=broker_id).error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
