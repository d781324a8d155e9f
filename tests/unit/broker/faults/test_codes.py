"""Codes as Apache Kafka answers them."""

from __future__ import annotations

import pytest
from oncelog.broker.faults.codes import known_codes
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("api", "sent", "never"),
    [
        (ApiKey.PRODUCE, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.REBALANCE_IN_PROGRESS),
        (ApiKey.FETCH, ErrorCode.OFFSET_OUT_OF_RANGE, ErrorCode.PRODUCER_FENCED),
        (ApiKey.END_TXN, ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (ApiKey.TXN_OFFSET_COMMIT, ErrorCode.ILLEGAL_GENERATION, ErrorCode.OFFSET_OUT_OF_RANGE),
        (ApiKey.HEARTBEAT, ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.MESSAGE_TOO_LARGE),
        (ApiKey.CREATE_TOPICS, ErrorCode.TOPIC_ALREADY_EXISTS, ErrorCode.NOT_COORDINATOR),
    ],
)
def test_what_is_sent_and_what_never(api: ApiKey, sent: ErrorCode, never: ErrorCode) -> None:
    assert sent in known_codes(api)
    assert never not in known_codes(api)
    assert ErrorCode.UNKNOWN_SERVER_ERROR in known_codes(api)
    assert ErrorCode.NONE not in known_codes(api)


def test_nothing_is_known_of_apis_that_are_left_out() -> None:
    assert known_codes(ApiKey.VOTE) == frozenset()
