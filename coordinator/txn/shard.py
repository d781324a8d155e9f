"""`__transaction_state`: metadata to records and back, and the shard they add up to.

The value is written in version 1 from transaction.version 1 on, else in version 0, which has no tags. Tag 0 (previous producer
id) is present in every record of version 1, as Apache Kafka 4.3.0 writes it. One tag is ours: the last epoch of the client,
without which a client could not repeat a request after a restart. Kafka skips tags it does not know.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from itertools import groupby

from oncelog.coordinator.result import CoordinatorRecord
from oncelog.coordinator.txn.state import NO_PRODUCER_ID, TransactionMetadata, TransactionState
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.internal.records import decode_key, decode_value
from oncelog.protocol.internal.transaction_log import (
    TransactionLogKey,
    TransactionLogValue,
    packed_partitions,
    transaction_value,
)
from oncelog.protocol.names import TRANSACTION_STATE, TopicPartition

_EMPTY = TransactionState.EMPTY
_NO_PARTITIONS = packed_partitions(None)
_FEW = 8


class TransactionLogFormat:
    """Records as transaction.version `level` has them."""

    def __init__(self, level: int) -> None:
        self._version = 1 if level >= 1 else 0

    @property
    def tells_last_epoch(self) -> bool:
        """By the record alone a repeated InitProducerId is known."""
        return self._version >= 1

    def record(self, txn: TransactionMetadata) -> CoordinatorRecord:
        """Raises KafkaError(UNSUPPORTED_VERSION) for what version 0 cannot hold: a request that raises epochs, at level 0."""
        if self._version == 0 and txn.client_transaction_version:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, "transaction.version is 0")
        content = txn if self._version >= 1 else None  # version 0 does not tell all
        return CoordinatorRecord(_key(txn.transactional_id), _value_of(txn, self._version), content)

    def tombstone(self, transactional_id: str) -> CoordinatorRecord:
        return CoordinatorRecord(_key(transactional_id), None)


class TxnShard:
    """The transactional ids of one partition. `pending` ones are between a decision and its last durable record: 51 to everybody."""

    newest_record_wins = True

    def __init__(self, partition: int) -> None:
        self.partition = partition
        self.transactions: dict[str, TransactionMetadata] = {}
        self._id_of_producer: dict[int, str] = {}
        self._pending: set[str] = set()
        self._renewed: dict[str, TransactionMetadata] = {}
        self._doubtful: set[str] = set()

    def get(self, transactional_id: str) -> TransactionMetadata | None:
        return self.transactions.get(transactional_id)

    def of_producer(self, producer_id: int) -> TransactionMetadata | None:
        """The id that has this producer id, or had it just before an exhausted epoch made it change."""
        id = self._id_of_producer.get(producer_id)
        return None if id is None else self.transactions[id]

    def remember(self, renewed: TransactionMetadata) -> None:
        """What a record in version 0 does not tell: as with Kafka, a client may repeat its request until the next start."""
        self._renewed[renewed.transactional_id] = renewed

    def with_last_epoch(self, txn: TransactionMetadata) -> TransactionMetadata:
        """`txn` with what was remembered of the way to its epoch."""
        renewed = self._renewed.get(txn.transactional_id)
        if renewed is None or (renewed.producer_id, renewed.producer_epoch) != (txn.producer_id, txn.producer_epoch):
            return txn
        return txn._replace(last_producer_epoch=renewed.last_producer_epoch, previous_producer_id=renewed.previous_producer_id)

    def is_pending(self, transactional_id: str) -> bool:
        return transactional_id in self._pending

    def set_pending(self, transactional_id: str) -> None:
        self._pending.add(transactional_id)

    def clear_pending(self, transactional_id: str) -> None:
        self._pending.discard(transactional_id)

    def doubt_all(self) -> None:
        """Records are lost: any id may have been given epochs of which nothing is left, until it gets another producer id."""
        self._doubtful = set(self.transactions)

    def doubt(self, producer_ids: Collection[int]) -> None:
        """What an earlier process found out; ids that have another producer id since are safe."""
        self._doubtful |= {id for id, txn in self.transactions.items() if txn.producer_id in producer_ids}

    def doubtful_producers(self) -> set[int]:
        return {self.transactions[id].producer_id for id in self._doubtful}

    def is_doubtful(self, transactional_id: str) -> bool:
        return transactional_id in self._doubtful

    def replay(
        self,
        key: bytes,
        value: bytes | None,
        *,
        offset: int,
        producer_id: int,
        producer_epoch: int,
        timestamp_ms: int,
        content: TransactionMetadata | None = None,
    ) -> None:
        """Take a record over; keys of unknown versions are skipped, as by Kafka."""
        if content is not None:
            self._put(content.transactional_id, content)
            return
        decoded = decode_key(TRANSACTION_STATE, key)
        if not isinstance(decoded, TransactionLogKey):
            return
        id = decoded.transactional_id
        if value is None:
            self._put(id, None)
            self._renewed.pop(id, None)
            return
        body = decode_value(decoded, value)
        assert isinstance(body, TransactionLogValue)
        self._put(id, metadata_of(id, body))

    def _put(self, id: str, after: TransactionMetadata | None) -> None:
        before = self.transactions.pop(id, None)
        if (
            before is not None
            and after is not None
            and before.producer_id == after.producer_id
            and before.previous_producer_id == after.previous_producer_id
            and before.next_producer_id == after.next_producer_id
        ):
            self.transactions[id] = after
            return
        if after is None or before is None or after.producer_id != before.producer_id:
            self._doubtful.discard(id)
        for known in () if before is None else _producer_ids(before):
            self._id_of_producer.pop(known, None)
        if after is not None:
            self.transactions[id] = after
            for known in _producer_ids(after):
                self._id_of_producer[known] = id

    def replay_marker(self, producer_id: int, producer_epoch: int, commit: bool, offset: int) -> None:
        """Nobody writes markers into the transaction log; one that is there means nothing."""


def _producer_ids(txn: TransactionMetadata) -> tuple[int, ...]:
    if txn.previous_producer_id == txn.next_producer_id == NO_PRODUCER_ID:
        return (txn.producer_id,)
    return tuple({txn.producer_id, txn.previous_producer_id, txn.next_producer_id} - {NO_PRODUCER_ID})


@lru_cache(maxsize=4096)
def _key(transactional_id: str) -> bytes:
    return TransactionLogKey(transactional_id).encode()


def _value_of(txn: TransactionMetadata, version: int) -> bytes:
    if version == 0:
        return _log_value(txn).encode(0)
    return transaction_value(
        txn.producer_id,
        txn.producer_epoch,
        txn.timeout_ms,
        txn.state,
        _NO_PARTITIONS if txn.state is _EMPTY else _packed(txn.partitions),
        txn.last_update_timestamp_ms,
        txn.start_timestamp_ms,
        txn.previous_producer_id,
        txn.next_producer_id,
        txn.client_transaction_version,
        txn.next_producer_epoch,
        txn.last_producer_epoch,
    )


def _log_value(txn: TransactionMetadata) -> TransactionLogValue:
    return TransactionLogValue(
        txn.producer_id,
        txn.producer_epoch,
        txn.timeout_ms,
        txn.state,
        None if txn.state is _EMPTY else _grouped(txn.partitions),
        txn.last_update_timestamp_ms,
        txn.start_timestamp_ms,
    )


def _packed(partitions: frozenset[TopicPartition]) -> bytes:
    return _packed_few(partitions) if len(partitions) <= _FEW else packed_partitions(_grouped(partitions))


@lru_cache(maxsize=4096)
def _packed_few(partitions: frozenset[TopicPartition]) -> bytes:
    """Of what most transactions write to, again and again."""
    return packed_partitions(_grouped(partitions))


def _grouped(partitions: frozenset[TopicPartition]) -> list[tuple[str, list[int]]]:
    return [(topic, [each.partition for each in group]) for topic, group in groupby(sorted(partitions), key=lambda each: each.topic)]


def metadata_of(transactional_id: str, value: TransactionLogValue) -> TransactionMetadata:
    return TransactionMetadata(
        transactional_id=transactional_id,
        producer_id=value.producer_id,
        producer_epoch=value.producer_epoch,
        timeout_ms=value.transaction_timeout_ms,
        state=TransactionState(value.transaction_status),
        last_update_timestamp_ms=value.transaction_last_update_timestamp_ms,
        partitions=frozenset(
            TopicPartition(topic, partition) for topic, partitions in value.transaction_partitions or () for partition in partitions
        ),
        start_timestamp_ms=value.transaction_start_timestamp_ms,
        last_producer_epoch=value.last_producer_epoch,
        previous_producer_id=value.previous_producer_id,
        next_producer_id=value.next_producer_id,
        next_producer_epoch=value.next_producer_epoch,
        client_transaction_version=value.client_transaction_version,
    )
