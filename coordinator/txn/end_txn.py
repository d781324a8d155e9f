"""The end of a transaction: EndTxn in its two dialects, and the coordinator's own aborts (KIP-98, KIP-890)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from oncelog.coordinator.txn.state import (
    MAX_CLIENT_EPOCH,
    MAX_EPOCH,
    NO_EPOCH,
    NO_PRODUCER_ID,
    TRANSITIONS,
    Event,
    Outcome,
    TransactionMetadata,
    TransactionState,
)
from oncelog.protocol.errors import ErrorCode

_BUMPING_VERSION = 5  # EndTxn from here on raises the epoch (TransactionVersion.transactionVersionForEndTxn)


class EndTxn(NamedTuple):
    """One request."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    commit: bool
    api_version: int

    @property
    def bumps_epoch(self) -> bool:
        return self.api_version >= _BUMPING_VERSION


class EndTxnResult(NamedTuple):
    """`producer_id` and `producer_epoch`: the pair to use next (on the wire from v5 on)."""

    error: ErrorCode
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_EPOCH


def verdict(txn: TransactionMetadata | None, request: EndTxn, *, pending: bool) -> Outcome:
    """What becomes of the request. The two dialects check in different order, as Apache Kafka 4.3.0 does."""
    if txn is None:
        return Outcome(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    return _verdict_v5(txn, request, pending) if request.bumps_epoch else _verdict_v4(txn, request, pending)


def _verdict_v4(txn: TransactionMetadata, request: EndTxn, pending: bool) -> Outcome:
    if request.producer_id != txn.client_producer_id:
        return Outcome(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if request.producer_epoch != txn.client_epoch:
        return Outcome(ErrorCode.PRODUCER_FENCED)
    if pending:
        return Outcome(ErrorCode.CONCURRENT_TRANSACTIONS)
    return TRANSITIONS[txn.state, Event.COMMIT_V4 if request.commit else Event.ABORT_V4]


def _verdict_v5(txn: TransactionMetadata, request: EndTxn, pending: bool) -> Outcome:
    if pending:
        return Outcome(ErrorCode.CONCURRENT_TRANSACTIONS)
    after_overflow = _is_retry_after_overflow(txn, request)
    if request.producer_id != txn.client_producer_id and not after_overflow:
        return Outcome(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    retry = after_overflow or txn.client_epoch == request.producer_epoch + 1
    if not retry and request.producer_epoch != txn.client_epoch:
        return Outcome(ErrorCode.PRODUCER_FENCED)
    if retry:
        return TRANSITIONS[txn.state, Event.COMMIT_RETRY if request.commit else Event.ABORT_RETRY]
    return TRANSITIONS[txn.state, Event.COMMIT if request.commit else Event.ABORT]


def _is_retry_after_overflow(txn: TransactionMetadata, request: EndTxn) -> bool:
    """The first EndTxn exhausted the producer id, or left it for another; its answer, which named the new one, was lost."""
    return (
        txn.previous_producer_id == request.producer_id
        and txn.producer_id != request.producer_id
        and request.producer_epoch in (MAX_CLIENT_EPOCH, txn.last_producer_epoch)
        and txn.producer_epoch == 0
    )


def prepared(
    txn: TransactionMetadata,
    state: TransactionState,
    next_pair: tuple[int, int],
    last_epoch: int,
    client_transaction_version: int,
    now_ms: int,
) -> TransactionMetadata:
    """The Prepare record: decided, under the epoch its markers carry.

    The client goes on as `next_pair`. Is that another producer id, the markers carry the highest epoch of the old one.
    """
    next_id, next_epoch = next_pair
    rotates = next_id != txn.producer_id
    return TransactionMetadata(
        txn.transactional_id,
        txn.producer_id,
        MAX_EPOCH if rotates else next_epoch,
        txn.timeout_ms,
        state,
        now_ms,
        txn.partitions,
        # a transaction may be aborted that never got a partition; it begins, for the record, as it ends
        now_ms if txn.state.is_idle else txn.start_timestamp_ms,
        last_epoch,
        txn.previous_producer_id,
        next_id if rotates else NO_PRODUCER_ID,
        next_epoch if rotates and next_epoch > 0 else NO_EPOCH,
        client_transaction_version,
    )


def ended(
    txn: TransactionMetadata,
    state: TransactionState,
    request: EndTxn,
    new_producer_id: Callable[[], int],
    now_ms: int,
    *,
    doubtful: bool = False,
) -> TransactionMetadata:
    """The Prepare record of an EndTxn that was accepted. `doubtful`: the next epoch may have been given out already."""
    pair = txn.client_producer_id, txn.client_epoch
    if not request.bumps_epoch:
        return prepared(txn, state, pair, txn.last_producer_epoch, 0, now_ms)
    next_pair = (new_producer_id(), 0) if doubtful else _next_pair(*pair, new_producer_id)
    return prepared(txn, state, next_pair, txn.client_epoch, 2, now_ms)


def fenced(
    txn: TransactionMetadata, level: int, new_producer_id: Callable[[], int], now_ms: int, *, at_least_epoch: int = 0
) -> TransactionMetadata:
    """The PrepareAbort record of an abort that the client did not ask for; its epoch is of no use afterwards.

    At transaction.version `level` 2 the fenced client may ask for its new pair by InitProducerId, below it is gone for good.
    `at_least_epoch`: an epoch that a partition has seen already, by a marker that did not come from here.
    """
    pair = _next_pair(txn.client_producer_id, max(txn.client_epoch, at_least_epoch - 1), new_producer_id)
    if level >= 2:
        return prepared(txn, TransactionState.PREPARE_ABORT, pair, txn.client_epoch, 2, now_ms)
    return prepared(txn, TransactionState.PREPARE_ABORT, pair, NO_EPOCH, 0, now_ms)


def _next_pair(producer_id: int, epoch: int, new_producer_id: Callable[[], int]) -> tuple[int, int]:
    return (producer_id, epoch + 1) if epoch < MAX_CLIENT_EPOCH else (new_producer_id(), 0)
