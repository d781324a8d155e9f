"""The record of a transactional id in `__transaction_state` (Kafka's `TransactionLogKey`, `TransactionLogValue`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from struct import Struct, pack
from typing import Final, NamedTuple

from oncelog.protocol.internal.fields import FieldReader, FieldWriter, known_version
from oncelog.protocol.primitives import Buffer, unsigned_varint

FIRST_FLEXIBLE_TRANSACTION_VALUE: Final = 1
LAST_PRODUCER_EPOCH_TAG: Final = 1000  # ours, far above Kafka's; Kafka reads past tags it does not know

_KEY_HEAD: Final = Struct(">hh")  # record type, size of the name


class TransactionLogKey(NamedTuple):
    """Key of `__transaction_state`, version 0."""

    transactional_id: str

    def encode(self) -> bytes:
        id = self.transactional_id.encode()
        return _KEY_HEAD.pack(0, len(id)) + id


_FRONT: Final = Struct(">hqhib")  # version, producer id, epoch, timeout, status
_TIMES: Final = Struct(">qq")
_TAGGED_INT16: Final = Struct(">BBh")
_TAGGED_INT64: Final = Struct(">BBq")
_TIMES_COUNT: Final = Struct(">qqB")  # and how many tagged fields there are
_LAST_EPOCH: Final = Struct(">2sBh")
_LAST_EPOCH_TAG: Final = unsigned_varint(LAST_PRODUCER_EPOCH_TAG)


def transaction_value(
    producer_id: int,
    producer_epoch: int,
    timeout_ms: int,
    status: int,
    partitions: bytes,
    last_update_timestamp_ms: int,
    start_timestamp_ms: int,
    previous_producer_id: int,
    next_producer_id: int,
    client_transaction_version: int,
    next_producer_epoch: int,
    last_producer_epoch: int,
) -> bytes:
    """A `TransactionLogValue` of version 1; `partitions` by `packed_partitions`. 1 us."""
    count, fields = 0, b""
    if previous_producer_id != -1:
        count, fields = 1, _TAGGED_INT64.pack(0, 8, previous_producer_id)
    if next_producer_id != -1:
        count, fields = count + 1, fields + _TAGGED_INT64.pack(1, 8, next_producer_id)
    if client_transaction_version != 0:
        count, fields = count + 1, fields + _TAGGED_INT16.pack(2, 2, client_transaction_version)
    if next_producer_epoch != -1:
        count, fields = count + 1, fields + _TAGGED_INT16.pack(3, 2, next_producer_epoch)
    if last_producer_epoch != -1:
        count, fields = count + 1, fields + _LAST_EPOCH.pack(_LAST_EPOCH_TAG, 2, last_producer_epoch)
    front = _FRONT.pack(1, producer_id, producer_epoch, timeout_ms, status)
    return front + partitions + _TIMES_COUNT.pack(last_update_timestamp_ms, start_timestamp_ms, count) + fields


def packed_partitions(partitions: Sequence[tuple[str, Sequence[int]]] | None) -> bytes:
    """As they stand in a `TransactionLogValue` of version 1."""
    if partitions is None:
        return b"\x00"
    pieces = [unsigned_varint(len(partitions) + 1)]
    for topic, indexes in partitions:
        name = topic.encode()
        count = len(indexes)
        pieces += (unsigned_varint(len(name) + 1), name, unsigned_varint(count + 1), pack(f">{count}i", *indexes), b"\x00")
    return b"".join(pieces)


@dataclass(slots=True)
class TransactionLogValue:
    """What the transaction log says about a transactional id. `transaction_partitions` is None in state Empty."""

    producer_id: int
    producer_epoch: int
    transaction_timeout_ms: int
    transaction_status: int
    transaction_partitions: list[tuple[str, list[int]]] | None
    transaction_last_update_timestamp_ms: int
    transaction_start_timestamp_ms: int
    previous_producer_id: int = -1
    next_producer_id: int = -1
    client_transaction_version: int = 0
    next_producer_epoch: int = -1
    last_producer_epoch: int = -1

    def encode(self, version: int = 1) -> bytes:
        """Version 1 (transaction.version >= 1) has the tagged fields, version 0 drops them."""
        if version >= FIRST_FLEXIBLE_TRANSACTION_VALUE:
            return transaction_value(
                self.producer_id,
                self.producer_epoch,
                self.transaction_timeout_ms,
                self.transaction_status,
                packed_partitions(self.transaction_partitions),
                self.transaction_last_update_timestamp_ms,
                self.transaction_start_timestamp_ms,
                self.previous_producer_id,
                self.next_producer_id,
                self.client_transaction_version,
                self.next_producer_epoch,
                self.last_producer_epoch,
            )
        front = _FRONT.pack(version, self.producer_id, self.producer_epoch, self.transaction_timeout_ms, self.transaction_status)
        times = _TIMES.pack(self.transaction_last_update_timestamp_ms, self.transaction_start_timestamp_ms)
        return front + self._partitions_of_version_0() + times

    def _partitions_of_version_0(self) -> bytes:
        out = FieldWriter()

        def topic_partitions(entry: tuple[str, list[int]]) -> None:
            out.string(entry[0])
            out.int32_array(entry[1])

        out.array(self.transaction_partitions, topic_partitions)
        return out.result()

    @classmethod
    def decode(cls, data: Buffer) -> TransactionLogValue:
        version = FieldReader(data).int16()
        known_version(cls.__name__, version, 1)
        fields = FieldReader(data, flexible=version >= FIRST_FLEXIBLE_TRANSACTION_VALUE)
        _, producer_id, producer_epoch, timeout_ms, status = fields.fixed(_FRONT)

        def topic_partitions() -> tuple[str, list[int]]:
            entry = fields.string(), fields.int32_array()
            fields.raw_tags()
            return entry

        partitions = fields.nullable_array(topic_partitions)
        updated_ms, started_ms = fields.fixed(_TIMES)
        tags = fields.int_tags()
        return cls(
            producer_id,
            producer_epoch,
            timeout_ms,
            status,
            partitions,
            updated_ms,
            started_ms,
            previous_producer_id=tags.get(0, -1),
            next_producer_id=tags.get(1, -1),
            client_transaction_version=tags.get(2, 0),
            next_producer_epoch=tags.get(3, -1),
            last_producer_epoch=tags.get(LAST_PRODUCER_EPOCH_TAG, -1),
        )
