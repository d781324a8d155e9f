"""Rows of transactional ids, partitions and groups, as API.md has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from oncelog.broker.console.model import Group, Member, Partition, Transaction
from oncelog.protocol.names import TopicPartition

PLACES_TOLD = 100
OFFSETS_TOLD = 1000
MEMBERS_TOLD = 1000
Edges = Callable[[TopicPartition], Partition | None]


def transaction_row(each: Transaction, now_ms: int) -> dict[str, Any]:
    """One transactional id."""
    start_ms = each.start_ms if each.is_open else None
    return {
        "transactional_id": each.transactional_id,
        "producer_id": each.producer_id,
        "producer_epoch": each.producer_epoch,
        "state": each.state,
        "start_ms": start_ms,
        "last_update_ms": each.last_update_ms,
        "age_ms": None if start_ms is None else max(now_ms - start_ms, 0),
        "timeout_ms": each.timeout_ms,
        "aborts_at_ms": each.aborts_at_ms,
        "transaction_version": each.transaction_version,
        "client_id": each.owner.client_id,
        "client_host": each.owner.client_host,
        "partitions": [place_row(place) for place in sorted(each.partitions)[:PLACES_TOLD]],
    }


def transactions_sorted(transactions: Iterable[Transaction], states: frozenset[str], part: str) -> list[Transaction]:
    """Open ones first, the oldest first; then by id."""
    found = [each for each in transactions if (not states or each.state in states) and part in each.transactional_id]
    return sorted(found, key=_place_in_list)


def _place_in_list(each: Transaction) -> tuple[bool, int, str]:
    return not each.is_open, (each.start_ms or 0) if each.is_open else 0, each.transactional_id


def partition_row(each: Partition) -> dict[str, Any]:
    """One partition in the list of all."""
    return {
        "topic": each.place.topic,
        "partition": each.place.partition,
        "log_start_offset": each.log_start_offset,
        "last_stable_offset": each.last_stable_offset,
        "high_watermark": each.high_watermark,
        "behind": each.behind,
        "open_transactions": each.open_transactions,
        "producers": each.producers,
        "bytes": each.bytes,
    }


def place_row(place: TopicPartition) -> dict[str, Any]:
    return {"topic": place.topic, "partition": place.partition}


def places_of(group: Group) -> list[TopicPartition]:
    """Partitions that a group has to do with, the first of them."""
    places = {*group.committed, *(group.pending or ()), *(place for member in group.members for place in member.partitions)}
    return sorted(places)[:OFFSETS_TOLD]


def group_row(group: Group, edges: Edges, owners: Mapping[int, Transaction]) -> dict[str, Any]:
    """One group. Lag respects the last stable offset."""
    owner: dict[TopicPartition, Member] = {place: member for member in group.members for place in member.partitions}
    offsets = [_offset_row(group, place, edges(place), owner.get(place), owners) for place in places_of(group)]
    return {
        "group_id": group.group_id,
        "type": group.kind,
        "state": group.state,
        "protocol_type": group.protocol_type,
        "assignor": group.assignor,
        "epoch": group.epoch,
        "lag": _sum(offsets, "lag"),
        "lag_to_end": _sum(offsets, "lag_to_end"),
        "waits_behind": [f"{row['topic']}-{row['partition']}" for row in offsets if _waits(row)],
        "members": [_member_row(member) for member in group.members[:MEMBERS_TOLD]],
        "offsets": offsets,
        "rebalances": None if group.rebalances is None else [dict(each) for each in group.rebalances],
    }


def _offset_row(
    group: Group, place: TopicPartition, edge: Partition | None, member: Member | None, owners: Mapping[int, Transaction]
) -> dict[str, Any]:
    committed = group.committed.get(place)
    offset = None if committed is None else committed.offset
    lag = to_end = None
    if edge is not None and (committed is not None or member is not None):
        begin = edge.log_start_offset if offset is None else max(offset, edge.log_start_offset)
        lag, to_end = max(edge.last_stable_offset - begin, 0), max(edge.high_watermark - begin, 0)
    return {
        **place_row(place),
        "committed_offset": offset,
        "last_stable_offset": None if edge is None else edge.last_stable_offset,
        "high_watermark": None if edge is None else edge.high_watermark,
        "lag": lag,
        "lag_to_end": to_end,
        "member_id": None if member is None else member.member_id,
        "commit_ms": None if committed is None else committed.commit_ms,
        "pending": None if group.pending is None else [_pending_row(each, owners) for each in group.pending.get(place, ())],
    }


def _pending_row(each: Any, owners: Mapping[int, Transaction]) -> dict[str, Any]:
    owner = owners.get(each.producer_id)
    epoch = each.producer_epoch if each.producer_epoch is not None or owner is None else owner.producer_epoch
    return {
        "producer_id": each.producer_id,
        "producer_epoch": epoch,
        "transactional_id": None if owner is None else owner.transactional_id,
        "offset": each.offset,
        "since_ms": each.since_ms,
    }


def _member_row(member: Member) -> dict[str, Any]:
    return {
        "member_id": member.member_id,
        "group_instance_id": member.group_instance_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "partitions": [place_row(place) for place in member.partitions[:PLACES_TOLD]],
    }


def _waits(row: Mapping[str, Any]) -> bool:
    """It has read all it may, and there is more."""
    return row["lag"] == 0 and bool(row["lag_to_end"]) and row["last_stable_offset"] < row["high_watermark"]


def _sum(rows: Iterable[Mapping[str, Any]], field: str) -> int | None:
    known = [row[field] for row in rows if row[field] is not None]
    return sum(known) if known else None
