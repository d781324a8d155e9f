"""Transaction markers: which ones a decided transaction needs, and what an open transaction found at start-up is to become.

After a power cut a partition and the transaction log may disagree, because each keeps what it had synced: a marker may be missing
although the transaction log says Complete, and the record that added a partition may be missing although its data is there.
`resolve` puts the two together again. The rule behind every line: an end that was answered keeps its outcome, everything else may
be aborted, and nothing stays open that no transactional id will ever end. Where damage took a marker, the index of aborted
transactions still tells how its transaction ended.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple, Protocol

from oncelog.coordinator.txn.state import MAX_EPOCH, TransactionMetadata, TransactionState
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import TopicPartition


class Marker(NamedTuple):
    """One end transaction marker for one partition; `transaction_version` picks the check of epochs there (KIP-1228)."""

    topic_partition: TopicPartition
    producer_id: int
    producer_epoch: int
    commit: bool
    transaction_version: int


class Delivery(NamedTuple):
    """What became of a marker. `end_offset`: the answer may rest on it once everything below is durable (None: it is, or nothing was
    written)."""

    error: ErrorCode
    end_offset: int | None = None

    @property
    def retry(self) -> bool:
        """The partition cannot take it now, but may later."""
        return self.error in _RETRIABLE


NOTHING_TO_AWAIT = Delivery(ErrorCode.NONE)

_RETRIABLE = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)


class MarkerChannel(Protocol):
    """The way to a partition's leader: a call here, WriteTxnMarkers over the wire where leaders live elsewhere."""

    def write(self, marker: Marker, now_ms: int, *, unless_since_ms: int | None = None) -> Delivery:
        """`unless_since_ms`: somebody may have written this marker already, at or after that time; look first, do not write it twice."""


def marker_version(txn: TransactionMetadata) -> int:
    """2 when the end raised the epoch, else 0: the end decides, not what began the transaction."""
    return 2 if txn.client_transaction_version >= 2 else 0


def markers_of(txn: TransactionMetadata) -> list[Marker]:
    """The markers that a prepared transaction needs, in order of topic and partition."""
    version = marker_version(txn)
    return [Marker(partition, txn.producer_id, txn.producer_epoch, txn.state.is_commit, version) for partition in sorted(txn.partitions)]


class OpenTransaction(NamedTuple):
    """An open transaction that a partition shows after it was loaded. `committed`: if it has ended, damage has taken its COMMIT."""

    topic_partition: TopicPartition
    producer_id: int
    producer_epoch: int
    committed: bool = False
    first_offset: int = -1


class Leave(Enum):
    """Nothing to mend."""

    LEAVE = 0


class Restore(NamedTuple):
    """Add the partition to the id's open transaction again."""

    transactional_id: str
    topic_partition: TopicPartition


def resolve(found: OpenTransaction, txn: TransactionMetadata | None) -> Leave | Restore | Marker:
    """What to do about `found`; `txn` is the transactional id that has, or had just before, this producer id."""
    if txn is None or found.producer_id not in (txn.producer_id, txn.previous_producer_id):
        return _orphan(found)
    if found.producer_id != txn.producer_id:  # the producer id was exhausted by the very end whose marker is missing
        ended = txn.state in _COMPLETE and found.producer_epoch == txn.last_producer_epoch
        return _marker(found, txn, MAX_EPOCH) if ended else _orphan(found)
    is_current = found.producer_epoch == txn.producer_epoch
    is_last = found.producer_epoch in (txn.producer_epoch - 1, txn.last_producer_epoch)
    if txn.state.is_commit and marker_version(txn) < 2:
        is_last = False  # that was of the present epoch; of the one before nobody knows any more
    match txn.state:
        case TransactionState.ONGOING if is_current:
            return Leave.LEAVE if found.topic_partition in txn.partitions else _restore(found, txn)
        case TransactionState.PREPARE_COMMIT | TransactionState.PREPARE_ABORT if is_current or is_last:
            return Leave.LEAVE if found.topic_partition in txn.partitions else _marker(found, txn, txn.producer_epoch)
        case TransactionState.COMPLETE_COMMIT | TransactionState.COMPLETE_ABORT if is_current:
            # with an epoch for each transaction this is already the next one, else it is the one that ended
            return _restore(found, txn) if marker_version(txn) == 2 else _marker(found, txn, txn.producer_epoch)
        case TransactionState.COMPLETE_COMMIT | TransactionState.COMPLETE_ABORT if is_last:
            return _marker(found, txn, txn.producer_epoch)
        case TransactionState.EMPTY if is_current:
            return _restore(found, txn)
    return _orphan(found)


_COMPLETE = (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)


def _marker(found: OpenTransaction, txn: TransactionMetadata, epoch: int) -> Marker:
    return Marker(found.topic_partition, found.producer_id, epoch, txn.state.is_commit, marker_version(txn))


def _restore(found: OpenTransaction, txn: TransactionMetadata) -> Restore:
    return Restore(txn.transactional_id, found.topic_partition)


def _orphan(found: OpenTransaction) -> Marker:
    """End it under its own epoch: nobody is left who could be fenced by a higher one."""
    return Marker(found.topic_partition, found.producer_id, found.producer_epoch, found.committed, 0)
