"""Who may administer what."""

from __future__ import annotations

import pytest
from oncelog.broker.auth.authorizer import Authorizer
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from support.administered import Harness, alter

pytestmark = pytest.mark.unit


def test_nothing_is_administered_without_permission(broker: Harness) -> None:
    broker.broker.authorizer = Authorizer(broker.store)
    assert alter(broker, 2, "a02", ("retention.ms", 0, "1")) == 29
    assert alter(broker, 32, "g", ("consumer.session.timeout.ms", 0, "50000")) == 30
    assert alter(broker, 4, "1", ("log.retention.ms", 0, "1")) == 31
    assert broker.send(ApiKey.DESCRIBE_QUORUM, 2, messages.DescribeQuorumRequest(topics=[])).error_code == 31
    assert broker.send(ApiKey.DESCRIBE_LOG_DIRS, 4, messages.DescribeLogDirsRequest(topics=None)).error_code == 31
    assert broker.send(ApiKey.UNREGISTER_BROKER, 0, messages.UnregisterBrokerRequest(broker_id=1)).error_code == 31
