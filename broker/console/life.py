"""The life of a transactional id: a time line from its records, the markers it left, and what is known of its requests."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from oncelog.broker.console.drawing import batches_in
from oncelog.broker.console.model import Source
from oncelog.coordinator.txn.shard import TxnShard
from oncelog.coordinator.txn.state import TransactionMetadata, TransactionState
from oncelog.protocol.internal.fields import CorruptRecord
from oncelog.protocol.names import TopicPartition
from oncelog.protocol.records import CorruptBatch, iter_headers, iter_records

READ_BYTES = 128 << 10  # a turn's work
MOST_BYTES = 64 << 20  # of the transaction log: its newest
MARKERS_LOOKED_FOR = 200  # a marker costs a look into its partition
_MARKER_SEARCH_BYTES = 1 << 20
_PLACES_TOLD = 100


class Stored(NamedTuple):
    """One record of an id: `metadata` None for its tombstone."""

    offset: int
    time_ms: int
    metadata: TransactionMetadata | None


async def stored(source: Source, transactional_id: str) -> tuple[list[Stored], bool]:
    """The id's records that are left, oldest first; and whether the log shows it from its beginning."""
    place = await source.transaction_log(transactional_id)
    edges = None if place is None else (await source.edges([place])).get(place)
    if place is None or edges is None:
        return [], False
    found: list[Stored] = []
    offset, read = edges.log_start_offset, 0
    name = transactional_id.encode()
    while read < MOST_BYTES:
        data = await source.read(place, offset, READ_BYTES)
        if not data:
            break
        read += len(data)
        after = _take(memoryview(data), name, transactional_id, found)
        if after <= offset:
            break
        offset = after
        await asyncio.sleep(0)
    whole = edges.log_start_offset == 0 and bool(found) and found[0].metadata is not None and _is_first(found[0].metadata)
    return found, whole


def _is_first(metadata: TransactionMetadata) -> bool:
    return metadata.state is TransactionState.EMPTY and metadata.producer_epoch == 0


def _take(data: memoryview, name: bytes, transactional_id: str, found: list[Stored]) -> int:
    """Add the id's records of some batches; the offset behind them."""
    after = -1
    for position, header in iter_headers(data):
        batch = data[position : position + header.size_bytes]
        after = header.next_offset
        if header.is_control or (not header.codec and name not in bytes(batch)):
            continue
        try:
            found += [one for record in iter_records(batch) if (one := _stored(record.key, record.value, record, transactional_id))]
        except CorruptBatch:
            continue  # damage is told by `oncelog verify`
    return after


def _stored(key: bytes | None, value: bytes | None, record: Any, transactional_id: str) -> Stored | None:
    if key is None:
        return None
    shard = TxnShard(0)
    try:
        shard.replay(key, value, offset=record.offset, producer_id=-1, producer_epoch=-1, timestamp_ms=record.timestamp)
    except (CorruptRecord, ValueError):
        return None
    metadata = shard.get(transactional_id)
    if metadata is None and (value is not None or key[4:] != transactional_id.encode()):
        return None
    return Stored(record.offset, record.timestamp, metadata)


def record_events(records: Sequence[Stored]) -> list[dict[str, Any]]:
    """What happened between each record and the one before."""
    events: list[dict[str, Any]] = []
    before: TransactionMetadata | None = None
    for record in records:
        events += _between(before, record)
        before = record.metadata
    return events


def _between(before: TransactionMetadata | None, record: Stored) -> list[dict[str, Any]]:
    txn = record.metadata
    if txn is None:
        return [_event(record, "expired", (), "The id was not used for long, and is forgotten.")]
    pair = f"producer {txn.producer_id} epoch {txn.producer_epoch}"
    state = txn.state
    if state is TransactionState.EMPTY:
        again = before is not None and (before.producer_id, before.producer_epoch) != (txn.producer_id, txn.producer_epoch)
        sentence = f"The id was given {pair}" + (", which fences whoever used it before." if again else ".")
        return [_event(record, "init", (), sentence)]
    if state is TransactionState.ONGOING:
        new = txn.partitions - (before.partitions if before is not None and before.state is state else frozenset())
        if not new:
            return [_event(record, "init", (), f"A new instance took over and kept the prepared transaction of {pair}.")]
        begins = before is None or before.state is not state
        words = "A transaction begins, with" if begins else "The transaction reaches"
        kind = "offsets" if all(place.topic == "__consumer_offsets" for place in new) else "add"
        return [_event(record, kind, new, f"{words} {_places(new)}.")]
    return _end(before, record, txn, pair)


def _end(before: TransactionMetadata | None, record: Stored, txn: TransactionMetadata, pair: str) -> list[dict[str, Any]]:
    state = txn.state
    if state.is_prepared:
        kind = "prepare_commit" if state.is_commit else "prepare_abort"
        end = "commit" if state.is_commit else "abort"
        events = [_event(record, kind, txn.partitions, f"Decided to {end}, for good; markers with {pair} go to {_places(txn.partitions)}.")]
        if before is not None and state is TransactionState.PREPARE_ABORT and _ended_by_another(before, txn):
            events.append(
                _event(record, "fenced", (), f"Its coordinator aborted it by itself; whoever used epoch {before.producer_epoch} is fenced.")
            )
        return events
    kind = "complete_commit" if state.is_commit else "complete_abort"
    end = "committed" if state.is_commit else "aborted"
    return [_event(record, kind, before.partitions if before is not None else (), f"All markers are written: the transaction is {end}.")]


def _ended_by_another(before: TransactionMetadata, txn: TransactionMetadata) -> bool:
    """An old client's abort keeps the epoch; where the epoch went up without a client that does so, the coordinator did it."""
    return txn.producer_epoch != before.producer_epoch and before.client_transaction_version < 2 and txn.last_producer_epoch < 0


def _event(record: Stored, kind: str, places: Any, sentence: str) -> dict[str, Any]:
    txn = record.metadata
    return event(
        record.time_ms if txn is None else max(record.time_ms, txn.last_update_timestamp_ms),
        kind,
        "record",
        sentence,
        producer_id=None if txn is None else txn.producer_id,
        producer_epoch=None if txn is None else txn.producer_epoch,
        state=None if txn is None else txn.state.wire_name,
        partitions=[_told(place) for place in sorted(places)[:_PLACES_TOLD]],
        offset=record.offset,
    )


def event(time_ms: int, kind: str, seen_in: str, sentence: str, **facts: Any) -> dict[str, Any]:
    """A row of the time line, with everything that is not given null."""
    row: dict[str, Any] = {"time_ms": time_ms, "kind": kind, "seen_in": seen_in, "producer_id": None, "producer_epoch": None, "state": None}
    row |= {"partitions": [], "api": None, "version": None, "error": None, "client_id": None, "client_host": None, "group_id": None}
    row |= {"offset": None, "by": None, "sentence": sentence}
    return row | facts


async def _markers(source: Source, records: Sequence[Stored]) -> list[tuple[int, dict[str, Any]]]:
    """The markers of the newest ends, found by time and producer, with the offset of the decision that each carries out."""
    found: list[tuple[int, dict[str, Any]]] = []
    prepared = [(each.offset, each.metadata) for each in records if each.metadata is not None and each.metadata.state.is_prepared]
    left = MARKERS_LOOKED_FOR
    for offset, txn in reversed(prepared):
        for place in sorted(txn.partitions):
            left -= 1
            if left < 0:
                return found
            row = await _marker(source, place, txn)
            if row is not None:
                found.append((offset, row))
    return found


async def _marker(source: Source, place: TopicPartition, txn: TransactionMetadata) -> dict[str, Any] | None:
    """One of the same epoch may stand before it: a place by time is not the first that fits."""
    wanted = "commit" if txn.state.is_commit else "abort"
    offset = await source.offset_at(place, txn.last_update_timestamp_ms)
    searched = 0
    while offset is not None and searched < _MARKER_SEARCH_BYTES:
        data = await source.read(place, offset, READ_BYTES)
        rows = batches_in(data)
        if not rows:
            return None
        for row in rows:
            mine = row["producer_id"] == txn.producer_id and row["producer_epoch"] == txn.producer_epoch
            if mine and row["control"] == wanted and row["time_ms"] >= txn.last_update_timestamp_ms:
                return _marker_event(place, row)
        searched += len(data)
        offset = rows[-1]["last_offset"] + 1
        await asyncio.sleep(0)
    return None


def _marker_event(place: TopicPartition, row: Mapping[str, Any]) -> dict[str, Any]:
    return event(
        row["time_ms"],
        f"marker_{row['control']}",
        "marker",
        f"{row['control'].upper()} marker at offset {row['base_offset']} of {place}.",
        producer_id=row["producer_id"],
        producer_epoch=row["producer_epoch"],
        partitions=[_told(place)],
        offset=row["base_offset"],
    )


async def life(source: Source, transactional_id: str, most: int) -> tuple[list[dict[str, Any]], bool]:
    """The newest `most` events, oldest first; and whether nothing older is missing."""
    records, whole = await stored(source, transactional_id)
    ranked = [((-1, 0), dict(each)) for each in await source.requests_of(transactional_id)]
    ranked += [((each["offset"], 0), each) for each in record_events(records)]
    ranked += [((offset, 1), each) for offset, each in await _markers(source, records)]
    ordered = [each for _, each in sorted(ranked, key=lambda one: (one[1]["time_ms"], one[0]))]  # within a millisecond as in the log
    return ordered[-most:], whole and len(ordered) <= most


def _told(place: TopicPartition) -> dict[str, Any]:
    return {"topic": place.topic, "partition": place.partition}


def _places(places: Any) -> str:
    names = [str(place) for place in sorted(places)]
    return ", ".join(names) if len(names) <= 5 else f"{', '.join(names[:5])} and {len(names) - 5} more"
