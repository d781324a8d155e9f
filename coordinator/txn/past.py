"""How a transaction ended that a partition shows as open though its id went on: what is left of the decisions.

Damage may take the end of a partition, and with it the marker of one transaction and all that its producer wrote afterwards. The newest
record of the id is about another transaction then. Older records tell, as far as compaction left them: it takes away what a later record
of the id replaced, always from the front, so the records that are left follow each other without a gap. Where the end raised the epoch,
the decision about that epoch is the one. Where the epoch stays, the n-th decision of an epoch that names a partition belongs to the
n-th marker of that epoch there; so both must be there from the first one on, and agree.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from enum import Enum
from typing import NamedTuple

from oncelog.coordinator.runtime import CoordinatorRuntime, batches
from oncelog.coordinator.txn.markers import OpenTransaction, marker_version
from oncelog.coordinator.txn.shard import TxnShard, metadata_of
from oncelog.coordinator.txn.state import TransactionMetadata, TransactionState
from oncelog.protocol.control_records import parse_end_transaction_marker
from oncelog.protocol.errors import KafkaError
from oncelog.protocol.internal.records import TransactionLogKey, TransactionLogValue, decode_key, decode_value
from oncelog.protocol.names import TRANSACTION_STATE, TopicPartition
from oncelog.protocol.records import iter_records
from oncelog.storage.log.log import Log

_PRODUCER_ID = slice(2, 10)  # of a value of any version
_NONE_WHOLE = 1 << 31


class Decision(NamedTuple):
    """One end of a transaction: the epoch of its data, the marker it called for, and when it was decided."""

    epoch: int
    marker_epoch: int
    version: int
    commit: bool
    partitions: frozenset[TopicPartition]
    at_ms: int


class Doubt(Enum):
    """`NEWEST`: nothing speaks against what the newest record says. `UNKNOWN`: it may be about another transaction."""

    NEWEST = 0
    UNKNOWN = 1


class _OfProducer:
    """`whole_from`: of epochs from this one on no decision is missing."""

    __slots__ = ("decisions", "whole_from")

    def __init__(self, whole_from: int) -> None:
        self.decisions: list[Decision] = []
        self.whole_from = whole_from


class _MarkerSeen(NamedTuple):
    commit: bool
    timestamp_ms: int


class PastDecisions:
    """About some producer ids. `damaged`: these partitions of the transaction log lost records once: where offsets are missing in them
    decisions may be."""

    def __init__(self, runtime: CoordinatorRuntime[TxnShard], producer_ids: Collection[int], damaged: Collection[int]) -> None:
        self._of: dict[int, _OfProducer] = {}
        for shard in runtime.shards():
            if shard.transactions or shard.partition in damaged:
                self._read(runtime.log(shard.partition), producer_ids, damaged=shard.partition in damaged)

    def ends_of(self, producer_id: int, epoch: int, place: TopicPartition) -> list[Decision]:
        """About transactions of this epoch that wrote to `place`, in order."""
        known = self._of.get(producer_id)
        return [one for one in known.decisions if one.epoch == epoch and place in one.partitions] if known is not None else []

    def end_of(self, found: OpenTransaction, log: Log, txn: TransactionMetadata | None, *, hurt: bool) -> Decision | Doubt:
        """How `found` ended. `hurt`: acknowledged records of its partition are lost. Of what is prepared now the newest record tells."""
        ends = self.ends_of(found.producer_id, found.producer_epoch, found.topic_partition)
        running = txn is not None and txn.state is TransactionState.ONGOING and _is_of(found, txn)
        if not ends:
            kept = txn is not None and _is_of(found, txn) and marker_version(txn) < 2
            return Doubt.UNKNOWN if hurt and kept and not self._is_whole(found) else Doubt.NEWEST
        if not (running or any(one.marker_epoch == one.epoch for one in ends)):
            decided: Decision | None = ends[-1]
        else:
            number = self._ended_there(found, log, ends)
            if number is None:
                return Doubt.UNKNOWN if hurt else Doubt.NEWEST
            decided = ends[number] if number < len(ends) else None
        if decided is None or (txn is not None and txn.state.is_prepared and decided is ends[-1] and _decides(txn, decided)):
            return Doubt.NEWEST
        return decided

    def decided_by_marker(self, txn: TransactionMetadata, place: TopicPartition, log: Log) -> tuple[bool, int] | None:
        """(commit, time) of the marker that ended the running transaction `txn` at `place`, though no decision is left; None without one.

        Where the epoch stays the markers are counted as above.
        """
        _, bumped = _markers(log, txn.producer_id, txn.producer_epoch + 1, log.log_end_offset)
        seen = None
        if bumped:
            seen = bumped[0]
        elif marker_version(txn) < 2:
            found = OpenTransaction(place, txn.producer_id, txn.producer_epoch, first_offset=log.log_end_offset)
            ends = self.ends_of(txn.producer_id, txn.producer_epoch, place)
            kept = self._aligned(found, log, ends)
            seen = kept[len(ends)] if kept is not None and len(kept) > len(ends) else None
        return None if seen is None else (seen.commit, seen.timestamp_ms)

    def _ended_there(self, found: OpenTransaction, log: Log, ends: list[Decision]) -> int | None:
        """How many of `ends` have their marker in front of `found`; None where that can not be known."""
        markers = self._aligned(found, log, ends)
        return None if markers is None or len(markers) > len(ends) else len(markers)

    def _is_whole(self, found: OpenTransaction) -> bool:
        known = self._of.get(found.producer_id)
        return known is not None and found.producer_epoch >= known.whole_from

    def _aligned(self, found: OpenTransaction, log: Log, ends: list[Decision]) -> list[_MarkerSeen] | None:
        if not self._is_whole(found) or log.log_start_offset > 0:
            return None
        known = self._of[found.producer_id]
        whole, markers = _markers(log, found.producer_id, found.producer_epoch, found.first_offset)
        into = sum(
            found.topic_partition in one.partitions for one in known.decisions if one.marker_epoch == found.producer_epoch > one.epoch
        )
        markers = markers[into:]
        agree = all(mark.commit == one.commit and mark.timestamp_ms >= one.at_ms for mark, one in zip(markers, ends, strict=False))
        return markers if whole and agree else None

    def _read(self, log: Log, producer_ids: Collection[int], *, damaged: bool) -> None:
        before: dict[str, TransactionMetadata] = {}
        here = dict[int, _OfProducer]()
        for txn in _values(log, producer_ids):
            if txn is None:
                if damaged:
                    before.clear()
                    for one in here.values():
                        one.whole_from = _NONE_WHOLE
                continue
            previous = before.get(txn.transactional_id)
            before[txn.transactional_id] = txn
            known = self._of.get(txn.producer_id)
            if known is None:
                # an Empty record may also tell of epochs whose records are lost, above the first
                begins = txn.state is TransactionState.EMPTY and not (damaged and txn.producer_epoch)
                known = here[txn.producer_id] = self._of[txn.producer_id] = _OfProducer(txn.producer_epoch + (not begins))
            if txn.state.is_prepared:
                follows = previous is not None and previous.producer_id == txn.producer_id and previous.state is TransactionState.ONGOING
                epoch = previous.producer_epoch if follows and previous is not None else _epoch_of_data(txn)
                at_ms = txn.last_update_timestamp_ms
                decision = Decision(epoch, txn.producer_epoch, marker_version(txn), txn.state.is_commit, txn.partitions, at_ms)
                known.decisions.append(decision)


def _is_of(found: OpenTransaction, txn: TransactionMetadata) -> bool:
    return (found.producer_id, found.producer_epoch) == (txn.producer_id, txn.producer_epoch)


def _decides(txn: TransactionMetadata, decision: Decision) -> bool:
    return (txn.producer_epoch, txn.last_update_timestamp_ms) == (decision.marker_epoch, decision.at_ms)


def _epoch_of_data(txn: TransactionMetadata) -> int:
    """Of a Prepare record whose Ongoing record is not left."""
    if marker_version(txn) < 2:
        return txn.producer_epoch
    return txn.last_producer_epoch if txn.last_producer_epoch >= 0 else txn.producer_epoch - 1


def _values(log: Log, producer_ids: Collection[int]) -> Iterator[TransactionMetadata | None]:
    """What records say of these producers; None where offsets are missing."""
    offset = log.log_start_offset
    for header, batch in batches(log):
        if header.base_offset > offset:
            yield None
        for record in iter_records(batch) if not header.is_control else ():
            if record.offset > offset:
                yield None
            offset = record.offset + 1
            if record.key is None or record.value is None or int.from_bytes(record.value[_PRODUCER_ID], "big") not in producer_ids:
                continue
            key = decode_key(TRANSACTION_STATE, record.key)
            value = decode_value(key, record.value) if isinstance(key, TransactionLogKey) else None
            if isinstance(key, TransactionLogKey) and isinstance(value, TransactionLogValue):
                yield metadata_of(key.transactional_id, value)
        if header.next_offset > offset:
            yield None
        offset = header.next_offset


def _markers(log: Log, producer_id: int, epoch: int, below: int) -> tuple[bool, list[_MarkerSeen]]:
    """Those of the producer's epoch in front of an offset; the first value: is nothing missing among the batches there?"""
    whole, markers, offset = True, list[_MarkerSeen](), log.log_start_offset
    try:
        for header, batch in batches(log):
            if header.base_offset >= below:
                break
            whole, offset = whole and header.base_offset == offset and header.records_count > 0, header.next_offset
            if header.is_control and (header.producer_id, header.producer_epoch) == (producer_id, epoch):
                marker = parse_end_transaction_marker(batch)
                whole = whole and marker is not None
                if marker is not None:
                    markers.append(_MarkerSeen(marker.commit, header.max_timestamp))
    except KafkaError:
        return False, markers
    return whole, markers
