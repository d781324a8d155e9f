"""DescribeProducers: the producers of each partition, and where their transactions began."""

from __future__ import annotations

from typing import Any

import pytest
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from support.txn_requests import begun, end
from support.whole_broker import WholeBroker

pytestmark = pytest.mark.unit


def describe(whole: WholeBroker, *asked: tuple[str, list[int]]) -> list[Any]:
    topics = [{"name": name, "partition_indexes": numbers} for name, numbers in asked]
    answer = whole.ask(ApiKey.DESCRIBE_PRODUCERS, 0, topics=topics)
    assert [topic.name for topic in answer.topics] == [name for name, _ in asked]
    return [partition for topic in answer.topics for partition in topic.partitions]


def test_an_idempotent_producer(whole: WholeBroker) -> None:
    now_ms = whole.clock.time_ms()
    whole.append("t", b"a", b"b", producer_id=5, producer_epoch=2, base_sequence=0)
    with_one, without = describe(whole, ("t", [0, 1]))
    (told,) = with_one.active_producers
    assert (told.producer_id, told.producer_epoch, told.last_sequence, told.last_timestamp) == (5, 2, 1, now_ms)
    assert (told.coordinator_epoch, told.current_txn_start_offset) == (-1, -1)
    assert (without.error_code, without.active_producers) == (ErrorCode.NONE, [])


def test_where_a_transaction_began_and_that_it_ended(whole: WholeBroker) -> None:
    whole.append("t", b"before")
    pair = begun(whole)
    ((open_one,),) = [partition.active_producers for partition in describe(whole, ("t", [0]))]
    assert (open_one.producer_id, open_one.current_txn_start_offset) == (pair.producer_id, 1)
    end(whole, pair)
    ((ended,),) = [partition.active_producers for partition in describe(whole, ("t", [0]))]
    assert (ended.current_txn_start_offset, ended.coordinator_epoch) == (-1, 0)


def test_partitions_that_are_not_there(whole: WholeBroker) -> None:
    told = describe(whole, ("t", [0, 2, -1]), ("gone", [0]))
    assert [(each.partition_index, each.error_code) for each in told] == [(0, 0), (2, 3), (-1, 3), (0, 3)]
    assert describe(whole) == []


@pytest.mark.parametrize(("name", "why"), [("", "empty string"), ("a/b", "other than ASCII"), ("..", "not allowed"), ("x" * 250, "longer")])
def test_names_that_no_topic_has(whole: WholeBroker, name: str, why: str) -> None:
    (told,) = describe(whole, (name, [0]))
    assert told.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert why in told.error_message


def test_without_the_right_to_read(whole: WholeBroker) -> None:
    whole.append("t", b"a", producer_id=5, producer_epoch=0, base_sequence=0)
    whole.deny(AclOperation.READ, ResourceType.TOPIC, "t")
    (told,) = describe(whole, ("t", [0]))
    assert (told.error_code, told.error_message, told.active_producers) == (ErrorCode.TOPIC_AUTHORIZATION_FAILED, None, [])
