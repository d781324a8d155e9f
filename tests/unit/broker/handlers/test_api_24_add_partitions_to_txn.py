"""AddPartitionsToTxn: all or nothing for clients, several transactions for brokers, and who may add what."""

from __future__ import annotations

from typing import Any

import pytest
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.broker.handlers import api_24_add_partitions_to_txn
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import TopicPartition
from support.txn_requests import Pair, add, begun, init, initialised, state, verdicts
from support.whole_broker import CLUSTER, WholeBroker

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True, params=[1, 500])
def partitions_a_turn(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it takes turns or not: the answers are the same."""
    monkeypatch.setattr(api_24_add_partitions_to_txn, "PARTITIONS_A_TURN", request.param)


def partitions(whole: WholeBroker, id: str = "x") -> set[TopicPartition]:
    return set(whole.context.transactions.describe(id).partitions)


@pytest.mark.parametrize("version", range(4))
def test_partitions_open_the_transaction(whole: WholeBroker, version: int) -> None:
    pair = initialised(whole)
    assert add(whole, pair, ("t", [1, 0]), version=version) == [("t", 1, 0), ("t", 0, 0)]
    assert (state(whole), partitions(whole)) == ("Ongoing", {TopicPartition("t", 0), TopicPartition("t", 1)})


def test_one_that_cannot_be_added_keeps_all_out(whole: WholeBroker) -> None:
    pair = initialised(whole)
    told = add(whole, pair, ("t", [0, 5]), ("gone", [0]))
    assert told == [("t", 5, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), ("t", 0, ErrorCode.OPERATION_NOT_ATTEMPTED), ("gone", 0, 3)]
    assert state(whole) == "Empty"


@pytest.mark.parametrize("topic", ["secret", "__consumer_offsets", "__transaction_state"])
def test_topics_that_a_client_may_not_write_to(whole: WholeBroker, topic: str) -> None:
    whole.deny(AclOperation.WRITE, ResourceType.TOPIC, "secret")
    told = add(whole, initialised(whole), ("t", [0]), (topic, [0]), ("gone", [0]))
    assert sorted(told) == sorted([("t", 0, 55), (topic, 0, ErrorCode.TOPIC_AUTHORIZATION_FAILED), ("gone", 0, 3)])


def test_who_may_not_write_with_the_id(whole: WholeBroker) -> None:
    pair = initialised(whole)
    whole.deny(AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, "x")
    assert add(whole, pair, ("t", [0]), ("gone", [0])) == [("t", 0, 53), ("gone", 0, 53)]


@pytest.mark.parametrize(("version", "error"), [(0, 47), (1, 47), (2, ErrorCode.PRODUCER_FENCED), (3, ErrorCode.PRODUCER_FENCED)])
def test_old_clients_are_told_of_a_fence_in_their_way(whole: WholeBroker, version: int, error: int) -> None:
    pair = initialised(whole)
    init(whole)
    assert add(whole, pair, ("t", [0]), version=version) == [("t", 0, error)]


def test_strangers(whole: WholeBroker) -> None:
    pair = initialised(whole)
    assert add(whole, pair, ("t", [0]), id="") == [("t", 0, ErrorCode.INVALID_REQUEST)]
    assert add(whole, pair, ("t", [0]), id="unknown") == [("t", 0, ErrorCode.INVALID_PRODUCER_ID_MAPPING)]
    assert add(whole, Pair(pair.producer_id + 1, 0), ("t", [0])) == [("t", 0, ErrorCode.INVALID_PRODUCER_ID_MAPPING)]


def test_nothing_to_add_is_nothing_to_tell(whole: WholeBroker) -> None:
    assert add(whole, initialised(whole)) == []


# -- between brokers


def asked(pair: Pair, *numbers: int, id: str = "x", topic: str = "t", verify_only: bool = False) -> dict[str, Any]:
    topics = [{"name": topic, "partitions": list(numbers)}]
    return {"transactional_id": id, **pair.fields, "verify_only": verify_only, "topics": topics}


def for_brokers(whole: WholeBroker, *transactions: dict[str, Any], version: int = 5) -> Any:
    return whole.ask(ApiKey.ADD_PARTITIONS_TO_TXN, version, transactions=list(transactions))


@pytest.mark.parametrize("version", [4, 5])
def test_several_transactions_added_and_verified(whole: WholeBroker, version: int) -> None:
    first, second = begun(whole, "x"), initialised(whole, "y")
    answer = for_brokers(whole, asked(first, 0, 1, verify_only=True), asked(second, 1, id="y"), asked(first, 0, id=""), version=version)
    assert answer.error_code == ErrorCode.NONE
    assert [(each.transactional_id, verdicts(each.topic_results)) for each in answer.results_by_transaction] == [
        ("x", [("t", 0, ErrorCode.NONE), ("t", 1, ErrorCode.TRANSACTION_ABORTABLE)]),
        ("y", [("t", 1, ErrorCode.NONE)]),
        ("", [("t", 0, ErrorCode.INVALID_REQUEST)]),
    ]
    assert (partitions(whole, "x"), partitions(whole, "y")) == ({TopicPartition("t", 0)}, {TopicPartition("t", 1)})


def test_brokers_need_the_cluster_and_no_topic(whole: WholeBroker) -> None:
    pair = initialised(whole)
    whole.deny(AclOperation.WRITE, ResourceType.TOPIC, "t")
    (given,) = for_brokers(whole, asked(pair, 0)).results_by_transaction
    assert verdicts(given.topic_results) == [("t", 0, ErrorCode.NONE)]
    whole.deny(AclOperation.CLUSTER_ACTION, *CLUSTER)
    refused = for_brokers(whole, asked(pair, 1))
    assert (refused.error_code, refused.results_by_transaction) == (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, [])


def test_partitions_that_are_not_there(whole: WholeBroker) -> None:
    (told,) = for_brokers(whole, asked(initialised(whole), 0, 7)).results_by_transaction
    assert verdicts(told.topic_results) == [("t", 7, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), ("t", 0, ErrorCode.OPERATION_NOT_ATTEMPTED)]
    assert for_brokers(whole).results_by_transaction == []
