"""Whether a producer may append: its batch, or the marker that ends its transaction, against what the partition knows of it.

Order and messages follow `UnifiedLog.append`, `ProducerAppendInfo` and `ProducerStateEntry`.
"""

from __future__ import annotations

from struct import Struct

from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.names import TopicPartition
from oncelog.protocol.primitives import INT32_MAX
from oncelog.protocol.records import BatchHeader
from oncelog.storage.log.producer_state import CachedBatch, ProducerState, unpack_entry

_HEAD = Struct(">h20xq")  # epoch and open transaction of a packed entry
_LAST_BATCH = Struct(">iqiq")
_NO_TXN = -1


def check_producer(
    state: ProducerState,
    header: BatchHeader,
    topic_partition: TopicPartition,
    offset: int,
    *,
    client: bool,
    verified: bool,
    tv2: bool,
) -> CachedBatch | None:
    """The earlier copy when the batch is a retry, None when it may be appended at `offset`.

    Raises KafkaError 45, 47 or 48; the state is untouched.
    """
    packed = state.packed(header.producer_id)
    epoch, first, last_sequence = -1, _NO_TXN, -1
    if packed is not None:
        epoch, first = _HEAD.unpack_from(packed)
        if len(packed) > _HEAD.size:
            last_sequence = _LAST_BATCH.unpack_from(packed, len(packed) - _LAST_BATCH.size)[0]
    same_epoch = epoch == header.producer_epoch
    in_sequence = header.base_sequence == (last_sequence + 1) & INT32_MAX
    if client and packed is not None and same_epoch and not in_sequence:
        duplicate = _find_duplicate(packed, header)
        if duplicate is not None:
            return duplicate
    ongoing = first >= 0 and same_epoch
    if client and header.is_transactional and not ongoing and header.producer_epoch >= epoch and not verified:
        raise KafkaError(ErrorCode.INVALID_TXN_STATE, "Record was not part of an ongoing transaction")
    if header.producer_epoch < epoch:
        raise _old_epoch(header.producer_id, header.producer_epoch, epoch, topic_partition, offset)
    if client:
        has_batches = packed is not None and len(packed) > _HEAD.size
        _check_sequence(header, epoch, last_sequence, has_batches, topic_partition, offset, tv2 and verified and not ongoing)
    if first >= 0 and not header.is_transactional:
        raise KafkaError(
            ErrorCode.INVALID_TXN_STATE,
            f"Expected transactional write from producer {header.producer_id} at offset {offset} in partition {topic_partition}",
        )
    return None


def continues(packed: bytes | None, epoch: int, sequence: int) -> bool:
    """Whether `check_producer` has nothing against a batch outside transactions, because it is the next of its producer."""
    if packed is None or len(packed) <= _HEAD.size:
        return False
    known_epoch, first = _HEAD.unpack_from(packed)
    if known_epoch != epoch or first >= 0:
        return False
    last_sequence: int = _LAST_BATCH.unpack_from(packed, len(packed) - _LAST_BATCH.size)[0]
    return sequence == (last_sequence + 1) & INT32_MAX


def continues_transaction(packed: bytes | None, epoch: int, sequence: int) -> bool | None:
    """Whether `check_producer` has nothing against a transactional batch: True in the transaction that is open, False at the beginning of
    one, if the coordinator knows of it; None: it is to be asked, or has something against it."""
    if packed is None:
        return False if sequence == 0 else None
    known_epoch, first = _HEAD.unpack_from(packed)
    if known_epoch != epoch:
        return False if sequence == 0 and epoch > known_epoch and first < 0 else None
    last_sequence = -1
    if len(packed) > _HEAD.size:
        last_sequence = _LAST_BATCH.unpack_from(packed, len(packed) - _LAST_BATCH.size)[0]
    return bool(first >= 0) if sequence == (last_sequence + 1) & INT32_MAX else None


def _find_duplicate(packed: bytes, header: BatchHeader) -> CachedBatch | None:
    last = header.last_sequence
    for batch in unpack_entry(header.producer_id, packed).batches:
        if batch.last_sequence == last and batch.first_sequence == header.base_sequence:
            return batch
    return None


def _check_sequence(
    header: BatchHeader,
    epoch: int,
    last_sequence: int,
    has_batches: bool,
    topic_partition: TopicPartition,
    offset: int,
    added_by_tv2: bool,
) -> None:
    sequence = header.base_sequence
    where = f"for producer {header.producer_id} at offset {offset} in partition {topic_partition}"
    if added_by_tv2 and sequence != 0 and not has_batches:
        raise KafkaError(
            ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
            f"Invalid sequence number {where}: {sequence} (incoming seq. number). Expected sequence 0 for transactions v2 "
            "idempotent producer with no existing state.",
        )
    if epoch < 0:
        return  # nothing is known of this producer: any sequence begins
    if header.producer_epoch != epoch:
        if sequence != 0:
            raise KafkaError(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"Invalid sequence number for new epoch of producer {header.producer_id} at offset {offset} "
                f"in partition {topic_partition}: "
                f"{header.producer_epoch} (request epoch), {sequence} (seq. number), {epoch} (current producer epoch)",
            )
    elif sequence != (last_sequence + 1) & INT32_MAX:
        raise KafkaError(
            ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
            f"Out of order sequence number {where}: {sequence} (incoming seq. number), {last_sequence} (current end sequence number)",
        )


def check_marker(
    state: ProducerState,
    producer_id: int,
    producer_epoch: int,
    coordinator_epoch: int,
    topic_partition: TopicPartition,
    offset: int,
    transaction_version: int,
) -> None:
    """Raises KafkaError: 47 for an old epoch, or a transaction version 2 marker that does not bump the epoch of an open transaction
    (with nothing open Kafka 4.3.0 appends it); 52 for an old coordinator."""
    epoch, known_coordinator, first = state.marked(producer_id)
    if producer_epoch < epoch or (transaction_version >= 2 and producer_epoch == epoch and first >= 0):
        raise _old_epoch(producer_id, producer_epoch, epoch, topic_partition, offset)
    if coordinator_epoch < known_coordinator:
        raise KafkaError(
            ErrorCode.TRANSACTION_COORDINATOR_FENCED,
            f"Invalid coordinator epoch for producerId {producer_id} at offset {offset} in partition {topic_partition}: "
            f"{coordinator_epoch} (zombie), {known_coordinator} (current)",
        )


def _old_epoch(producer_id: int, epoch: int, current: int, topic_partition: TopicPartition, offset: int) -> KafkaError:
    return KafkaError(
        ErrorCode.INVALID_PRODUCER_EPOCH,
        f"Epoch of producer {producer_id} at offset {offset} in {topic_partition} is {epoch}, "
        f"which is smaller than the last seen epoch {current}",
    )
