"""What a restart does about a transaction that a log has open."""

from __future__ import annotations

import pytest
from oncelog.coordinator.txn.markers import Leave, Marker, OpenTransaction, Restore, resolve
from oncelog.coordinator.txn.state import TransactionMetadata
from oncelog.coordinator.txn.state import TransactionState as S
from oncelog.protocol.names import TopicPartition

TXN = TransactionMetadata("t", 9, 4, 1, S.COMPLETE_COMMIT, 0, last_producer_epoch=3, previous_producer_id=9, client_transaction_version=2)
TP = TopicPartition("a", 0)


@pytest.mark.parametrize(
    ("changes", "producer_id", "epoch", "expected"),
    [
        ({}, 9, 3, Marker(TP, 9, 4, True, 2)),  # marker lost
        ({}, 9, 4, Restore("t", TP)),  # the next transaction's Ongoing lost
        ({"client_transaction_version": 0}, 9, 4, Marker(TP, 9, 4, True, 0)),
        ({"state": S.COMPLETE_ABORT}, 9, 3, Marker(TP, 9, 4, False, 2)),
        ({}, 9, 1, Marker(TP, 9, 1, False, 0)),  # nobody knows any more
        ({"producer_id": 10, "producer_epoch": 0, "last_producer_epoch": 32766}, 9, 32766, Marker(TP, 9, 32767, True, 2)),
        ({"producer_id": 10, "producer_epoch": 0, "last_producer_epoch": 32766}, 9, 5, Marker(TP, 9, 5, False, 0)),
        ({"state": S.ONGOING, "partitions": frozenset({TP})}, 9, 4, Leave.LEAVE),
        ({"state": S.ONGOING}, 9, 4, Restore("t", TP)),
        ({"state": S.ONGOING}, 9, 3, Marker(TP, 9, 3, False, 0)),
        ({"state": S.PREPARE_COMMIT, "partitions": frozenset({TP})}, 9, 3, Leave.LEAVE),
        ({"state": S.PREPARE_ABORT}, 9, 3, Marker(TP, 9, 4, False, 2)),
        ({"state": S.EMPTY}, 9, 4, Restore("t", TP)),
        ({"state": S.EMPTY}, 9, 3, Marker(TP, 9, 3, False, 0)),
    ],
)
def test_resolve(changes: dict[str, object], producer_id: int, epoch: int, expected: object) -> None:
    txn = TXN._replace(**changes)  # type: ignore[arg-type]
    assert resolve(OpenTransaction(TP, producer_id, epoch), txn) == expected


def test_resolve_without_owner() -> None:
    assert resolve(OpenTransaction(TP, 9, 2), None) == Marker(TP, 9, 2, False, 0)
