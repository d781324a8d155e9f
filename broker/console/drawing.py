"""A partition drawn: its batches by header, which transactions they belong to, and how those ended."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from oncelog.protocol.control_records import parse_end_transaction_marker
from oncelog.protocol.records import BatchHeader, CorruptBatch, iter_headers

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
_NO_PRODUCER = -1


def batches_in(data: bytes) -> list[dict[str, Any]]:
    """Rows of API.md, for whole batches; what is no batch ends the list. `outcome` is `unknown` where a marker decides."""
    view = memoryview(data)
    found = []
    try:
        for position, header in iter_headers(view):
            found.append(batch_row(header, view[position : position + header.size_bytes]))
    except CorruptBatch:
        pass  # what stands in front of the damage is shown
    return found


def batch_row(header: BatchHeader, batch: memoryview) -> dict[str, Any]:
    """One batch."""
    producer = header.producer_id > _NO_PRODUCER
    return {
        "base_offset": header.base_offset,
        "last_offset": header.last_offset,
        "records": header.records_count,
        "bytes": header.size_bytes,
        "time_ms": header.max_timestamp,
        "producer_id": header.producer_id if producer else None,
        "producer_epoch": header.producer_epoch if producer else None,
        "base_sequence": header.base_sequence if header.base_sequence >= 0 else None,
        "transactional": header.is_transactional,
        "control": _control(header, batch) if header.is_control else None,
        "outcome": None if header.is_control else "unknown" if header.is_transactional else "plain",
        "compression": CODECS[header.codec] if header.codec < len(CODECS) else str(header.codec),
        "leader_epoch": header.partition_leader_epoch,
    }


def _control(header: BatchHeader, batch: memoryview) -> str:
    if header.records_count == 0:
        return "other"  # emptied by the cleaner
    try:
        marker = parse_end_transaction_marker(batch)
    except CorruptBatch:
        return "other"
    if marker is None:
        return "other"
    return "commit" if marker.commit else "abort"


def with_outcomes(rows: list[dict[str, Any]], still_open: Iterable[tuple[int, int]]) -> list[dict[str, Any]]:
    """Set `outcome` of the rows, which follow each other, and return the aborted ranges among them.

    `still_open`: (producer id, first offset) of what is open at the end of the log.
    """
    first_open = dict(still_open)
    waiting: dict[int, list[dict[str, Any]]] = {}
    aborted = []
    for row in rows:
        producer = row["producer_id"]
        if row["control"] in ("commit", "abort"):
            ended = waiting.pop(producer, [])
            for each in ended:
                each["outcome"] = "committed" if row["control"] == "commit" else "aborted"
            if row["control"] == "abort" and ended:
                aborted.append({"producer_id": producer, "first_offset": ended[0]["base_offset"], "last_offset": row["base_offset"]})
        elif row["transactional"] and row["control"] is None:
            waiting.setdefault(producer, []).append(row)
    for producer, left in waiting.items():
        for each in left:
            if producer in first_open and each["base_offset"] >= first_open[producer]:
                each["outcome"] = "open"
    return aborted
