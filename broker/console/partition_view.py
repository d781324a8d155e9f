"""One partition: its batches, what is open, its producers; and one batch with its records."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from oncelog.broker.console.drawing import batch_row, batches_in, with_outcomes
from oncelog.broker.console.model import HANGING, Pieces, Producer, Refused, Source, Transaction
from oncelog.broker.console.shards import by_producer
from oncelog.broker.console.stuck import owner_of
from oncelog.protocol.internal.fields import CorruptRecord
from oncelog.protocol.internal.records import decode_key, decode_value
from oncelog.protocol.names import INTERNAL_TOPICS, TopicPartition
from oncelog.protocol.records import CorruptBatch, iter_headers, iter_records

READ_BYTES = 128 << 10  # a turn's work
MOST_BATCHES = 2000
RECORDS_TOLD = 200
TEXT_BYTES = 4096
_MOST_UNPACKED = 8 << 20  # of one batch, that is shown
_BATCH_OFFSETS = 4  # how many offsets a batch is guessed to have, where the newest are shown


async def partition(source: Source, place: TopicPartition, begin: int | None, most: int) -> dict[str, Any]:
    """As API.md has it. Raises Refused(404)."""
    edges = (await source.edges([place])).get(place)
    if edges is None:
        raise Refused(404, f"there is no partition {place}")
    opened = await source.open_on(place)
    owners = by_producer(await source.transactions())
    first = max(edges.high_watermark - most * _BATCH_OFFSETS, edges.log_start_offset) if begin is None else begin
    rows, after = await batches(source, place, max(first, edges.log_start_offset), most)
    aborted = with_outcomes(rows, [(each.producer_id, each.first_offset) for each in opened])
    pieces = await source.pieces(place)
    producers = await source.producers(place)
    refusals = _by_producer([each for each in await source.fencings() if (each["topic"], each["partition"]) == place])
    known = (await source.facts()).can["fencings"]
    return {
        "topic": place.topic,
        "partition": place.partition,
        "log_start_offset": edges.log_start_offset,
        "last_stable_offset": edges.last_stable_offset,
        "high_watermark": edges.high_watermark,
        "log_end_offset": edges.log_end_offset,
        "bytes": edges.bytes,
        "from_offset": rows[0]["base_offset"] if rows else first,
        "next_offset": after if after is not None and after < (edges.log_end_offset or edges.high_watermark) else None,
        "batches": rows,
        "aborted": aborted,
        "open_transactions": [
            {
                "producer_id": each.producer_id,
                "producer_epoch": each.producer_epoch,
                "first_offset": each.first_offset,
                "transactional_id": None if owner is None else owner.transactional_id,
                "state": HANGING if owner is None else owner.state,
            }
            for each in opened
            for owner in (owner_of(place, each, owners),)
        ],
        **_pieces(pieces),
        "producers": [
            _producer(each, owners.get(each.producer_id), refusals.get(each.producer_id, []) if known else None) for each in producers
        ],
    }


async def batches(source: Source, place: TopicPartition, begin: int, most: int) -> tuple[list[dict[str, Any]], int | None]:
    """Rows of at most `most` batches from `begin` on, and the offset behind them."""
    rows: list[dict[str, Any]] = []
    offset = begin
    while len(rows) < most:
        new = batches_in(await source.read(place, offset, READ_BYTES))
        if not new or new[-1]["last_offset"] < offset:
            break
        rows += new
        offset = new[-1]["last_offset"] + 1
        await asyncio.sleep(0)
    rows = rows[:most]
    return rows, rows[-1]["last_offset"] + 1 if rows else None


def _pieces(pieces: Pieces | None) -> dict[str, Any]:
    if pieces is None:
        return {"segments": None, "snapshots": None}
    segments = [{"base_offset": each.base_offset, "bytes": each.bytes, "active": each.active} for each in pieces.segments]
    return {"segments": segments, "snapshots": list(pieces.snapshots)}


def _producer(each: Producer, owner: Transaction | None, refusals: list[dict[str, Any]] | None) -> dict[str, Any]:
    return {
        "producer_id": each.producer_id,
        "producer_epoch": each.producer_epoch,
        "transactional_id": None if owner is None else owner.transactional_id,
        "next_sequence": each.next_sequence,
        "last_ms": each.last_ms,
        "coordinator_epoch": each.coordinator_epoch,
        "first_offset": each.first_offset,
        "batches": None if each.batches is None else [batch._asdict() for batch in each.batches],
        "refusals": refusals,
    }


def _by_producer(fencings: Sequence[Mapping[str, Any]]) -> dict[int, list[dict[str, Any]]]:
    found: dict[int, list[dict[str, Any]]] = {}
    for each in fencings:
        row = {"time_ms": each["time_ms"], "error": each["error"], "sentence": each["cause"]}
        found.setdefault(each["producer_id"], []).append(row)
    return found


async def records(source: Source, place: TopicPartition, offset: int, *, values: bool) -> dict[str, Any]:
    """The batch that holds `offset`, with its first records. Raises Refused(404, 409)."""
    data = memoryview(await source.read(place, offset, 1))
    for position, header in iter_headers(data):
        if header.last_offset < offset:
            continue
        batch = data[position : position + header.size_bytes]
        if header.codec and header.size_bytes > _MOST_UNPACKED:
            raise Refused(409, f"the batch at {header.base_offset} has {header.size_bytes} bytes, too many to be shown")
        try:
            told = _records(batch, place.topic, values=values)
        except CorruptBatch as damage:
            raise Refused(409, f"the batch at {header.base_offset} is damaged: {damage}") from None
        return {"batch": batch_row(header, batch), "records": told}
    raise Refused(404, f"{place} has no batch with offset {offset}")


def _records(batch: memoryview, topic: str, *, values: bool) -> list[dict[str, Any]]:
    rows = []
    for record in iter_records(batch):
        key, key_cut = text(record.key)
        value, value_cut = text(record.value) if values else (None, False)
        rows.append(
            {
                "offset": record.offset,
                "time_ms": record.timestamp,
                "key": key,
                "key_cut": key_cut,
                "value": value,
                "value_bytes": None if record.value is None else len(record.value),
                "value_cut": value_cut,
                "headers": [{"name": name, "value": text(content)[0]} for name, content in record.headers],
                "decoded": decoded(topic, record.key, record.value) if topic in INTERNAL_TOPICS else None,
            }
        )
        if len(rows) == RECORDS_TOLD:
            break
    return rows


def text(data: bytes | memoryview | None) -> tuple[str | dict[str, str] | None, bool]:
    """What JSON can hold of bytes, and whether it was cut."""
    if data is None:
        return None, False
    cut = len(data) > TEXT_BYTES
    shown = bytes(data[:TEXT_BYTES])
    try:
        return shown.decode("utf-8"), cut
    except UnicodeDecodeError as wrong:
        if cut and wrong.start >= TEXT_BYTES - 4:
            return shown[: wrong.start].decode("utf-8"), cut
        return {"hex": shown.hex()}, cut


def decoded(topic: str, key: bytes | None, value: bytes | None) -> str | None:
    """A record of an internal topic in words; None for what is none (a marker, another version)."""
    if key is None:
        return None
    try:
        what = decode_key(topic, key)
        said = decode_value(what, value)
    except (CorruptRecord, ValueError, IndexError):
        return None
    return f"{what!r}: {'deleted' if said is None else repr(said)}"[:TEXT_BYTES]
