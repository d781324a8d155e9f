"""WriteTxnMarkers from an administrator: what becomes of the transaction, and what is refused."""

from __future__ import annotations

import pytest
from oncelog.coordinator.txn.producer_ids import FIRST_PRODUCER_ID as P
from oncelog.protocol.errors import ErrorCode as E
from oncelog.protocol.errors import KafkaError
from oncelog.protocol.names import TopicPartition
from support.txn_bench import Bench, now
from support.txn_machine import COMMITTED, Machine


@pytest.mark.parametrize("version", [3, 5])
def test_admin_abort_of_a_live_transaction_fences_its_client(version: int) -> None:
    bench = Bench()
    bench.init()
    bench.add((P, 0), 0, 1)
    for partition in (0, 1):
        bench.logs.at("a", partition).write(P, 0)
    bench.clock.now_ms += 5
    assert bench.service.write_marker_from_admin(P, 1, 0, False, [TopicPartition("a", 0)], transaction_version=2) == {
        TopicPartition("a", 0): E.NONE
    }
    assert bench.end((P, 0), commit=True, version=version).error in (E.PRODUCER_FENCED, E.INVALID_TXN_STATE)
    assert bench.brief() == ("CompleteAbort", P, 1, 0)
    assert [[m.commit for m in bench.logs.at("a", n).markers()] for n in (0, 1)] == [[False], [False]]
    assert bench.init(pair=(P, 0)).error is E.NONE


def test_admin_marker_with_a_far_epoch_does_not_lock_the_id_out() -> None:
    bench = Bench()
    bench.init()
    bench.produce((P, 0), 0)
    bench.service.write_marker_from_admin(P, 9, 0, False, [TopicPartition("a", 0)], transaction_version=2)
    pair = bench.init()
    bench.produce((P, pair.producer_epoch), 0)
    assert pair.producer_epoch > 9
    assert bench.end((P, pair.producer_epoch), commit=True).error is E.NONE


def test_admin_marker_refusals() -> None:
    bench = Bench()
    gone, there = TopicPartition("gone", 0), TopicPartition("a", 0)
    assert bench.service.write_marker_from_admin(5, 0, -1, False, [gone, there]) == {gone: E.UNKNOWN_TOPIC_OR_PARTITION, there: E.NONE}
    assert bench.service.write_marker_from_admin(5, -1, 0, False, [there]) == {there: E.UNKNOWN_SERVER_ERROR}
    bench.logs.at("a").append_marker(5, 7, 0, True, 0)
    assert bench.service.write_marker_from_admin(5, 6, 0, False, [there]) == {there: E.INVALID_PRODUCER_EPOCH}


def test_case_68_to_71_markers(machine: Machine) -> None:
    pair = machine.init()
    machine.produce(pair, 0, 0)
    tp = TopicPartition("a", 0)

    def mark(epoch: int, version: int, coordinator_epoch: int = 0) -> E:
        return now(machine.service.write_marker_from_admin(P, epoch, coordinator_epoch, False, [tp], transaction_version=version))[tp]

    assert mark(0, 2) is E.INVALID_PRODUCER_EPOCH
    assert mark(1, 2) is E.NONE
    assert machine.end(pair).error in (E.PRODUCER_FENCED, E.INVALID_TXN_STATE)
    assert mark(1, 2) is E.NONE  # a second one is appended, as by Apache Kafka 4.3.0
    assert mark(2, 0, 4) is E.NONE
    assert mark(2, 0, 3) is E.TRANSACTION_COORDINATOR_FENCED
    assert machine.committed(0) == []


def test_case_67_marker_where_the_producer_never_wrote(machine: Machine) -> None:
    tp = TopicPartition("a", 0)
    assert now(machine.service.write_marker_from_admin(P, 4, 0, False, [tp]))[tp] is E.NONE
    assert machine.log(0).log_end_offset == 1
    with pytest.raises(KafkaError) as refused:
        machine.produce((P, 3), 0, 0, id=None)
    assert refused.value.code is E.INVALID_PRODUCER_EPOCH
    data = machine.log(0).read(0, 1 << 20, isolation=COMMITTED, min_one_message=True)
    assert not data.aborted
