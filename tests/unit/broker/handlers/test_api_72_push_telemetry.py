"""PushTelemetry: who pushes must have asked before."""

from __future__ import annotations

import uuid

import pytest
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from support.whole_broker import WholeBroker

pytestmark = pytest.mark.unit
CLIENT = uuid.UUID(int=77)


def push(whole: WholeBroker, client: uuid.UUID, subscription: int) -> int:
    answer = whole.ask(
        ApiKey.PUSH_TELEMETRY,
        0,
        client_instance_id=client,
        subscription_id=subscription,
        terminating=False,
        compression_type=0,
        metrics=b"",
    )
    return int(answer.error_code)


def test_the_subscription_that_it_was_given(whole: WholeBroker) -> None:
    given = whole.ask(ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, 0, client_instance_id=CLIENT).subscription_id
    assert push(whole, CLIENT, given) == ErrorCode.NONE
    assert push(whole, CLIENT, given + 1) == ErrorCode.UNKNOWN_SUBSCRIPTION_ID
    assert push(whole, uuid.UUID(int=78), given) == ErrorCode.UNKNOWN_SUBSCRIPTION_ID


@pytest.mark.parametrize("subscription", [0, 5])
def test_nobody_pushes_nothing(whole: WholeBroker, subscription: int) -> None:
    assert push(whole, uuid.UUID(int=0), subscription) == ErrorCode.INVALID_REQUEST
