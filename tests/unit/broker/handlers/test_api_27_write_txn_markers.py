"""WriteTxnMarkers: an administrator ends what hangs, and hears of each partition."""

from __future__ import annotations

from typing import Any

import pytest
from oncelog.broker.auth.acls import AclOperation
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import IsolationLevel
from support.txn_requests import Pair, begun, initialised, state
from support.whole_broker import CLUSTER, WholeBroker

pytestmark = pytest.mark.unit
HANGING = Pair(77, 3)


def hang(whole: WholeBroker, *partitions: int, pair: Pair = HANGING) -> None:
    """Open transactions that no transactional id knows."""
    for partition in partitions:
        whole.append("t", b"v", partition=partition, **pair.fields, base_sequence=0, is_transactional=True)


def marker(pair: Pair = HANGING, *partitions: int, topic: str = "t", committed: bool = False, **fields: Any) -> dict[str, Any]:
    topics = [{"name": topic, "partition_indexes": list(partitions)}]
    return {**pair.fields, "transaction_result": committed, "coordinator_epoch": 0, "topics": topics, **fields}


def write(whole: WholeBroker, *markers: dict[str, Any], version: int = 1) -> dict[int, list[tuple[str, int, int]]]:
    answer = whole.ask(ApiKey.WRITE_TXN_MARKERS, version, markers=list(markers))
    return {
        each.producer_id: [(topic.name, p.partition_index, p.error_code) for topic in each.topics for p in topic.partitions]
        for each in answer.markers
    }


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("committed", [True, False])
def test_hanging_transactions_are_ended(whole: WholeBroker, version: int, committed: bool) -> None:
    hang(whole, 0, 1)
    assert whole.log("t").last_stable_offset == 0
    told = write(whole, marker(HANGING, 0, 1, committed=committed), version=version)
    assert told == {77: [("t", 0, ErrorCode.NONE), ("t", 1, ErrorCode.NONE)]}
    assert [whole.log("t", partition).last_stable_offset for partition in (0, 1)] == [2, 2]
    aborted = whole.log("t").read(0, 1 << 20, isolation=IsolationLevel.READ_COMMITTED, min_one_message=False).aborted
    assert [entry.producer_id for entry in aborted or ()] == ([] if committed else [77])


def test_from_version_2_the_epoch_must_be_above(whole: WholeBroker) -> None:
    hang(whole, 0)
    same = marker(HANGING, 0, transaction_version=2)
    assert write(whole, same, version=2) == {77: [("t", 0, ErrorCode.INVALID_PRODUCER_EPOCH)]}
    above = marker(Pair(77, 4), 0, transaction_version=2)
    assert write(whole, above, version=2) == {77: [("t", 0, ErrorCode.NONE)]}


def test_results_stand_by_producer(whole: WholeBroker) -> None:
    other = Pair(78, 0)
    hang(whole, 0, 1)
    hang(whole, 1, pair=other)
    told = write(whole, marker(HANGING, 0), marker(other, 1), marker(HANGING, 1, 9), marker(HANGING, 0, topic="gone"))
    assert told == {77: [("t", 0, 0), ("t", 1, 0), ("t", 9, 3), ("gone", 0, 3)], 78: [("t", 1, 0)]}
    assert write(whole) == {}


@pytest.mark.parametrize("epoch", [-1, -2])
def test_epochs_that_are_none(whole: WholeBroker, epoch: int) -> None:
    assert write(whole, marker(Pair(77, epoch), 0)) == {77: [("t", 0, ErrorCode.UNKNOWN_SERVER_ERROR)]}
    assert whole.log("t").log_end_offset == 0


def test_a_live_transaction_is_aborted_by_its_coordinator(whole: WholeBroker) -> None:
    pair = begun(whole)
    assert write(whole, marker(Pair(pair.producer_id, pair.producer_epoch + 1), 0)) == {pair.producer_id: [("t", 0, 0)]}
    whole.advance(10)
    assert state(whole) == "CompleteAbort"
    assert initialised(whole).producer_epoch > pair.producer_epoch


def test_one_of_two_rights_on_the_cluster(whole: WholeBroker) -> None:
    hang(whole, 0)
    whole.deny(AclOperation.ALTER, *CLUSTER)
    assert write(whole, marker(HANGING, 0)) == {77: [("t", 0, 0)]}
    whole.deny(AclOperation.CLUSTER_ACTION, *CLUSTER)
    assert write(whole, marker(HANGING, 0), marker(HANGING, 1)) == {77: [("t", 0, 31), ("t", 1, 31)]}
    assert whole.log("t").log_end_offset == 2
