"""GetTelemetrySubscriptions: no metric is asked for, and a client keeps its id."""

from __future__ import annotations

import uuid

import pytest
from oncelog.broker.handlers.api_71_get_telemetry_subscriptions import subscription_id
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from support.whole_broker import WholeBroker

pytestmark = pytest.mark.unit
NOBODY = uuid.UUID(int=0)


def test_a_client_keeps_its_id(whole: WholeBroker) -> None:
    client = uuid.UUID(int=77)
    answer = whole.ask(ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, 0, client_instance_id=client)
    assert (answer.error_code, answer.client_instance_id, answer.requested_metrics) == (ErrorCode.NONE, client, [])
    assert (answer.subscription_id, answer.push_interval_ms) == (subscription_id(client), 300_000)
    assert answer.accepted_compression_types == [4, 3, 1, 2]


def test_one_without_an_id_gets_one_of_its_own(whole: WholeBroker) -> None:
    given = [whole.ask(ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, 0, client_instance_id=NOBODY) for _ in range(2)]
    ids = {answer.client_instance_id for answer in given}
    assert len(ids - {NOBODY}) == 2
    assert [answer.subscription_id for answer in given] == [subscription_id(answer.client_instance_id) for answer in given]


def test_it_is_answered_and_not_advertised(whole: WholeBroker) -> None:
    advertised = {key for key, _, _ in whole.context.apis.advertised()}
    assert not {ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, ApiKey.PUSH_TELEMETRY} & advertised


@pytest.mark.parametrize("number", [0, 1, 77, 2**127, 2**128 - 1])
def test_numbers_of_subscriptions_are_int32_and_not_negative(number: int) -> None:
    assert 0 <= subscription_id(uuid.UUID(int=number)) < 2**31
    assert subscription_id(uuid.UUID(int=number)) != subscription_id(uuid.UUID(int=number ^ 1))
