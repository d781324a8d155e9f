"""ListPartitionReassignments: none, to whom may ask."""

from __future__ import annotations

import pytest
from oncelog.broker.auth.acls import AclOperation
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from support.whole_broker import CLUSTER, WholeBroker

pytestmark = pytest.mark.unit
ONE = [{"name": "t", "partition_indexes": [0]}]


@pytest.mark.parametrize("topics", [None, [], ONE])
def test_none_is_ever_going_on(whole: WholeBroker, topics: object) -> None:
    answer = whole.ask(ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, timeout_ms=1, topics=topics)
    assert (answer.error_code, answer.error_message, answer.topics) == (ErrorCode.NONE, None, [])


def test_without_the_cluster(whole: WholeBroker) -> None:
    whole.deny(AclOperation.DESCRIBE, *CLUSTER)
    answer = whole.ask(ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, timeout_ms=1, topics=None)
    assert (answer.error_code, answer.error_message) == (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed.")
