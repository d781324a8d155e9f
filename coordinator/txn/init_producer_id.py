"""InitProducerId: which (producer id, epoch) a client gets, and who may still come back (KIP-360, KIP-588, KIP-939)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from oncelog.coordinator.txn.config import TxnConfig
from oncelog.coordinator.txn.state import (
    MAX_CLIENT_EPOCH,
    NO_EPOCH,
    NO_PRODUCER_ID,
    TWO_PHASE_COMMIT_TIMEOUT_MS,
    TransactionMetadata,
    TransactionState,
)
from oncelog.protocol.errors import ErrorCode


@dataclass(frozen=True, slots=True, kw_only=True)
class InitProducerId:
    """One request; (-1, -1) means that the client brings no pair. `client` is for the log line about whoever is fenced."""

    transactional_id: str | None
    timeout_ms: int
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_EPOCH
    enable_2pc: bool = False
    keep_prepared: bool = False
    client: str = ""

    @property
    def has_pair(self) -> bool:
        return self.producer_id != NO_PRODUCER_ID

    @property
    def effective_timeout_ms(self) -> int:
        return TWO_PHASE_COMMIT_TIMEOUT_MS if self.enable_2pc else self.timeout_ms


@dataclass(frozen=True, slots=True)
class InitProducerIdResult:
    """The pair to use from now on; `ongoing_*` names the prepared transaction that was kept."""

    error: ErrorCode
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_EPOCH
    ongoing_producer_id: int = NO_PRODUCER_ID
    ongoing_producer_epoch: int = NO_EPOCH


def refuse(request: InitProducerId, config: TxnConfig) -> ErrorCode:
    """What is wrong with the request itself, in the order of Kafka's checks; NONE when nothing is."""
    if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_EPOCH):
        return ErrorCode.INVALID_REQUEST
    if request.transactional_id is None:
        return ErrorCode.NONE
    if request.transactional_id == "":
        return ErrorCode.INVALID_REQUEST
    if request.enable_2pc and not config.two_phase_commit_enable:
        return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    if request.keep_prepared and not config.two_phase_commit_enable:
        return ErrorCode.UNSUPPORTED_VERSION
    if request.keep_prepared and not request.enable_2pc:
        return ErrorCode.INVALID_REQUEST
    if not request.enable_2pc and not 0 < request.timeout_ms <= config.transaction_max_timeout_ms:
        return ErrorCode.INVALID_TRANSACTION_TIMEOUT
    return ErrorCode.NONE


def is_plausible(txn: TransactionMetadata, request: InitProducerId) -> bool:
    """Whether the pair may belong to a client of this id: of its producer id, or of the exhausted one before it."""
    return (
        not request.has_pair
        or request.producer_id in (txn.producer_id, txn.client_producer_id)
        or (request.producer_id == txn.previous_producer_id and request.producer_epoch >= MAX_CLIENT_EPOCH)
    )


def created(request: InitProducerId, producer_id: int, now_ms: int) -> TransactionMetadata:
    """A transactional id nobody used before, or one that expired: whatever pair the client brings, it starts afresh."""
    assert request.transactional_id is not None
    return TransactionMetadata(
        transactional_id=request.transactional_id,
        producer_id=producer_id,
        producer_epoch=0,
        timeout_ms=request.effective_timeout_ms,
        state=TransactionState.EMPTY,
        last_update_timestamp_ms=now_ms,
        previous_producer_id=producer_id,
    )


def renewed(
    txn: TransactionMetadata, request: InitProducerId, new_producer_id: Callable[[], int], now_ms: int, *, doubtful: bool = False
) -> TransactionMetadata | None:
    """An idle id under its next epoch, or under the same one for a repeated request; None for a client that was fenced.

    A repeated request is known by `last_producer_epoch`. It also sets the previous producer id to the present one, so that a third
    identical request after a rotation is refused, as by Kafka. `doubtful`: the next epoch may have been given out already.
    """
    producer_id, epoch, last = txn.producer_id, txn.producer_epoch, txn.last_producer_epoch
    current = request.has_pair and request.producer_epoch == epoch
    if (doubtful or epoch >= MAX_CLIENT_EPOCH) and (current or not request.has_pair):
        producer_id, epoch, last = new_producer_id(), 0, epoch if request.has_pair else NO_EPOCH
    elif not request.has_pair:
        epoch, last = epoch + 1, NO_EPOCH
    elif current:
        epoch, last = epoch + 1, epoch
    elif request.producer_epoch != last:
        return None
    return txn._replace(
        producer_id=producer_id,
        producer_epoch=epoch,
        last_producer_epoch=last,
        previous_producer_id=txn.producer_id,
        timeout_ms=request.effective_timeout_ms,
        state=TransactionState.EMPTY,
        partitions=frozenset(),
        start_timestamp_ms=-1,
        last_update_timestamp_ms=now_ms,
        client_transaction_version=0,
    )


def kept(txn: TransactionMetadata, request: InitProducerId, new_producer_id: Callable[[], int], now_ms: int) -> TransactionMetadata:
    """The open transaction stays as its producer left it; the client, its owner from now on, gets an epoch above all others."""
    next_id, next_epoch = txn.next_producer_id, txn.client_epoch + 1
    if next_epoch > MAX_CLIENT_EPOCH:
        next_id, next_epoch = new_producer_id(), 0
    return txn._replace(
        next_producer_id=next_id,
        next_producer_epoch=next_epoch,
        timeout_ms=request.effective_timeout_ms,
        last_update_timestamp_ms=now_ms,
    )
