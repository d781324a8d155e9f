"""What ListTransactions and DescribeTransactions tell; they change nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from oncelog.coordinator.txn.shard import TxnShard
from oncelog.coordinator.txn.state import STATE_OF_WIRE_NAME, TransactionMetadata, TransactionState
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import TopicPartition


class TransactionListing(NamedTuple):
    transactional_id: str
    producer_id: int
    state: TransactionState


@dataclass(frozen=True, slots=True)
class ListTransactionsResult:
    """`unknown_states`: filters that name no state."""

    error: ErrorCode
    unknown_states: tuple[str, ...] = ()
    transactions: tuple[TransactionListing, ...] = ()


@dataclass(frozen=True, slots=True)
class TransactionDescription:
    """`partitions`: those without a marker yet. An unknown id is described by zeros, as by Kafka."""

    error: ErrorCode
    transactional_id: str
    state: str = ""
    timeout_ms: int = 0
    start_timestamp_ms: int = 0
    producer_id: int = 0
    producer_epoch: int = 0
    partitions: frozenset[TopicPartition] = frozenset()


def list_transactions(
    shards: Iterable[TxnShard],
    now_ms: int,
    states: Collection[str],
    producer_ids: Collection[int],
    duration_ms: int,
    matches: Callable[[str], bool] | None,
) -> ListTransactionsResult:
    """All filters must agree; an empty one lets everything pass. An idle id has no start and so passes any duration, as in Kafka."""
    known = {STATE_OF_WIRE_NAME[name] for name in states if name in STATE_OF_WIRE_NAME}
    unknown = tuple(name for name in states if name not in STATE_OF_WIRE_NAME)
    found = [
        TransactionListing(txn.transactional_id, txn.producer_id, txn.state)
        for shard in shards
        for txn in shard.transactions.values()
        if (not states or txn.state in known)
        and (not producer_ids or txn.producer_id in producer_ids)
        and (duration_ms < 0 or now_ms - txn.start_timestamp_ms > duration_ms)
        and (matches is None or matches(txn.transactional_id))
    ]
    return ListTransactionsResult(ErrorCode.NONE, unknown, tuple(sorted(found)))


def describe_transaction(
    transactional_id: str, txn: TransactionMetadata | None, remaining: frozenset[TopicPartition] | None
) -> TransactionDescription:
    """`remaining`: partitions still without marker while the transaction ends."""
    if transactional_id == "":
        return TransactionDescription(ErrorCode.INVALID_REQUEST, transactional_id)
    if txn is None:
        return TransactionDescription(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, transactional_id)
    return TransactionDescription(
        ErrorCode.NONE,
        transactional_id,
        txn.state.wire_name,
        txn.timeout_ms,
        txn.start_timestamp_ms,
        txn.producer_id,
        txn.producer_epoch,
        txn.partitions if remaining is None else remaining,
    )
