"""DescribeTransactions: what is known of an id, and to whom which partitions are told."""

from __future__ import annotations

from typing import Any

import pytest
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from support.txn_requests import add, begun, end, initialised
from support.whole_broker import WholeBroker

pytestmark = pytest.mark.unit


def describe(whole: WholeBroker, *ids: str) -> list[Any]:
    found = whole.ask(ApiKey.DESCRIBE_TRANSACTIONS, 0, transactional_ids=list(ids)).transaction_states
    assert [each.transactional_id for each in found] == list(ids)
    return list(found)


def topics(state: Any) -> list[tuple[str, list[int]]]:
    return [(topic.topic, topic.partitions) for topic in state.topics]


def test_an_open_transaction(whole: WholeBroker) -> None:
    whole.logs.create_topic("a", 1)
    began_ms = whole.clock.time_ms()
    pair = begun(whole, partition=1)
    add(whole, pair, ("t", [0]), ("a", [0]))
    (told,) = describe(whole, "x")
    assert (told.error_code, told.transaction_state, told.transaction_timeout_ms) == (ErrorCode.NONE, "Ongoing", 60_000)
    assert (told.producer_id, told.producer_epoch, told.transaction_start_time_ms) == (*pair, began_ms)
    assert topics(told) == [("a", [0]), ("t", [0, 1])]


def test_between_transactions(whole: WholeBroker) -> None:
    initialised(whole)
    (empty,) = describe(whole, "x")
    assert (empty.transaction_state, empty.transaction_start_time_ms, topics(empty)) == ("Empty", -1, [])
    end(whole, begun(whole))
    (ended,) = describe(whole, "x")
    assert (ended.transaction_state, topics(ended)) == ("CompleteCommit", [])


def test_ids_that_nobody_knows(whole: WholeBroker) -> None:
    unknown, empty = describe(whole, "unknown", "")
    assert (unknown.error_code, unknown.transaction_state, unknown.producer_id) == (ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, "", 0)
    assert empty.error_code == ErrorCode.INVALID_REQUEST
    assert describe(whole) == []


def test_without_the_id(whole: WholeBroker) -> None:
    begun(whole)
    whole.deny(AclOperation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, "x")
    told, unknown = describe(whole, "x", "unknown")
    assert (told.error_code, told.transaction_state, told.producer_id) == (ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "", 0)
    assert unknown.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND


def test_topics_that_may_not_be_described_are_left_out(whole: WholeBroker) -> None:
    whole.logs.create_topic("a", 1)
    add(whole, begun(whole), ("a", [0]))
    whole.deny(AclOperation.DESCRIBE, ResourceType.TOPIC, "t")
    (told,) = describe(whole, "x")
    assert (told.error_code, topics(told)) == (ErrorCode.NONE, [("a", [0])])
