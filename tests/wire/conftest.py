"""A fresh Kafka makes the topics of its coordinators when somebody first asks for one: ask before the recordings, which did."""

from __future__ import annotations

import pytest
from oncelog.protocol.api_keys import ApiKey
from support.process import BrokerProcess, wait_until
from support.wire import Connection

COORDINATOR_SECONDS = 30.0


@pytest.fixture(scope="session", autouse=True)
def coordinators(request: pytest.FixtureRequest, broker_process: BrokerProcess | None) -> None:
    bootstrap = request.config.getoption("--bootstrap") or (broker_process and broker_process.bootstrap)
    with Connection(bootstrap) as connection:
        for key_type in (0, 1):
            asked = {"key": "any", "key_type": key_type}

            def found(asked: dict[str, object] = asked) -> bool:
                return connection.request(ApiKey.FIND_COORDINATOR, 3, asked).error_code == 0

            wait_until(found, COORDINATOR_SECONDS, "a coordinator")
