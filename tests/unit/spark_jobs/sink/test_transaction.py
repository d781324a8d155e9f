"""The driver's questions, and which of several answers counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from oncelog.protocol import messages
from oncelog.spark_jobs.sink import wire
from oncelog.spark_jobs.sink.client import BrokerError, FencedError, NotReachedError
from oncelog.spark_jobs.sink.transaction import NOBODY, Position, ProducerIdentity, TransactionClient
from support.sink_broker import Broker, cluster

ME = ProducerIdentity(2**40, 7)


@pytest.fixture
def broker() -> Broker:
    return Broker()


@pytest.fixture
def transaction(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> Iterator[TransactionClient]:
    with cluster(broker, monkeypatch, patience=5) as (made, _):
        yield TransactionClient(made, "q", 60_000)


def test_a_new_epoch(broker: Broker, transaction: TransactionClient) -> None:
    broker.on[wire.INIT_PRODUCER_ID] = [{"error_code": 51}, {"error_code": 0, "producer_id": ME[0], "producer_epoch": ME[1]}]
    assert transaction.begin() == ME
    request = broker.asked[-1][2]
    assert (request.transactional_id, request.transaction_timeout_ms) == ("q", 60_000)
    assert (request.producer_id, request.producer_epoch) == NOBODY
    transaction.begin(ME)
    assert (broker.asked[-1][2].producer_id, broker.asked[-1][2].producer_epoch) == ME


def test_somebody_else_has_the_id(broker: Broker, transaction: TransactionClient) -> None:
    broker.on[wire.INIT_PRODUCER_ID] = [{"error_code": 90, "producer_id": -1, "producer_epoch": -1}]
    with pytest.raises(FencedError, match="InitProducerId of q"):
        transaction.begin(ME)


def test_a_time_out_beyond_what_the_protocol_can_say(broker: Broker, transaction: TransactionClient) -> None:
    assert TransactionClient(transaction.cluster, "q", 2**40).timeout_ms == 2**31 - 1


def committed(*entries: tuple[str, int, str, int]) -> dict[str, Any]:
    """(topic, offset, owner, error) of partition 0 each."""
    one: Any = messages.OffsetFetchResponse.OffsetFetchResponseTopic
    part = one.OffsetFetchResponsePartition
    return {
        "error_code": 0,
        "topics": [
            one(name=t, partitions=[part(partition_index=0, committed_offset=o, metadata=m, error_code=e)]) for t, o, m, e in entries
        ],
    }


@pytest.mark.parametrize(
    ("entries", "position"),
    [
        ((), Position(0, "")),
        ((("a", 7, "me", 0),), Position(7, "me")),
        ((("a", 7, "me", 0), ("b", 9, "me", 0)), Position(9, "me")),
        ((("a", 7, "me", 0), ("b", 99, "former", 0)), Position(7, "me")),
        ((("b", 99, "former", 0), ("a", 7, "older", 0)), Position(99, "former")),
        ((("a", -1, "", 0),), Position(0, "")),
    ],
)
def test_the_position_is_the_highest_of_its_owner(
    broker: Broker, transaction: TransactionClient, entries: tuple[tuple[str, int, str, int], ...], position: Position
) -> None:
    broker.on[wire.OFFSET_FETCH] = [committed(*entries)]
    assert transaction.position("me") == position
    assert broker.asked[-1][2].require_stable


def test_a_position_that_a_transaction_may_still_change_is_waited_for(broker: Broker, transaction: TransactionClient) -> None:
    broker.on[wire.OFFSET_FETCH] = [committed(("a", 1, "me", 88)), {"error_code": 14, "topics": []}, committed(("a", 8, "me", 0))]
    assert transaction.position("me") == Position(8, "me")
    assert broker.count(wire.OFFSET_FETCH) == 3


def added(codes: dict[int, int]) -> dict[str, Any]:
    kind: Any = messages.AddPartitionsToTxnResponse
    one = kind.AddPartitionsToTxnTopicResult
    results = [one.AddPartitionsToTxnPartitionResult(partition_index=n, partition_error_code=code) for n, code in codes.items()]
    return {"results_by_topic_v3_and_below": [one(name="t", results_by_partition=results)]}


@pytest.mark.parametrize(("codes", "final"), [({0: 55, 1: 29}, 29), ({0: 51, 1: 47}, 47), ({0: 55, 1: 3, 2: 48}, 48)])
def test_of_the_errors_of_several_partitions_the_final_one_counts(
    broker: Broker, transaction: TransactionClient, codes: dict[int, int], final: int
) -> None:
    broker.on[wire.ADD_PARTITIONS] = [added(codes)]
    with pytest.raises(BrokerError) as told:
        transaction.add_partitions(ME, {"t": list(codes)})
    assert (told.value.code, broker.count(wire.ADD_PARTITIONS)) == (final, 1)


def test_errors_that_pass_are_waited_for_though_others_were_not_tried(broker: Broker, transaction: TransactionClient) -> None:
    broker.on[wire.ADD_PARTITIONS] = [added({0: 55, 1: 51}), added({0: 0, 1: 0})]
    transaction.add_partitions(ME, {"t": [0, 1]})
    request = broker.asked[-1][2]
    assert (request.v3_and_below_producer_id, request.v3_and_below_producer_epoch) == ME
    assert broker.count(wire.ADD_PARTITIONS) == 2


def test_the_position_goes_into_the_transaction(broker: Broker, transaction: TransactionClient) -> None:
    one: Any = messages.TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic
    part = one.TxnOffsetCommitResponsePartition
    broker.on[wire.ADD_OFFSETS] = [{"error_code": 51}, {"error_code": 0}]
    answers = [{"topics": [one(name="t", partitions=[part(partition_index=0, error_code=code)])]} for code in (14, 0)]
    broker.on[wire.TXN_OFFSET_COMMIT] = answers
    transaction.add_position(ME, "t", Position(8, "me"))
    apis = [api for _, api, _ in broker.asked if api not in (wire.FIND_COORDINATOR, wire.METADATA)]
    assert apis == [wire.ADD_OFFSETS] * 2 + [wire.TXN_OFFSET_COMMIT] * 2
    request = broker.asked[-1][2]
    (partition,) = request.topics[0].partitions
    assert (request.group_id, request.producer_id, request.producer_epoch) == ("q", *ME)
    assert (request.topics[0].name, partition.partition_index, partition.committed_offset, partition.committed_metadata) == (
        "t",
        0,
        8,
        "me",
    )
    found = [(request.key, request.key_type) for _, api, request in broker.asked if api == wire.FIND_COORDINATOR]
    assert found == [("q", wire.TRANSACTION), ("q", wire.GROUP)]


@pytest.mark.parametrize("commit", [True, False])
def test_the_end_is_asked_for_until_it_is_answered(broker: Broker, transaction: TransactionClient, commit: bool) -> None:
    broker.on[wire.END_TXN] = [ConnectionError("lost"), {"error_code": 51}, {"error_code": 0}]
    transaction.end(ME, commit)
    assert [request.committed for _, api, request in broker.asked if api == wire.END_TXN] == [commit] * 3
    broker.on[wire.END_TXN] = [ConnectionError("lost")]
    with pytest.raises(NotReachedError):
        transaction.end(ME, commit)
