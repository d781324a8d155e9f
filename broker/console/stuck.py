"""Why a read_committed consumer stands still: the transaction that pins each partition, and the groups that wait behind it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from oncelog.broker.console.commands import kafka_transactions_abort
from oncelog.broker.console.model import HANGING, Group, OpenTransaction, Partition, Source, Transaction
from oncelog.broker.console.shards import by_producer
from oncelog.broker.console.words import duration, who
from oncelog.protocol.names import INTERNAL_TOPICS, TopicPartition


async def stuck(source: Source) -> list[dict[str, Any]]:
    """Rows as API.md has them, the one that waits longest first, internal topics last."""
    behind = await source.behind()
    if not behind:
        return []
    transactions = await source.transactions(only_open=True)
    groups = await source.groups()
    facts = await source.facts()
    return rows(behind, transactions, groups, source.now_ms(), source.bootstrap, may_abort=facts.can["abort"])


def rows(
    behind: Sequence[tuple[Partition, Sequence[OpenTransaction]]],
    transactions: Iterable[Transaction],
    groups: Iterable[Group],
    now_ms: int,
    bootstrap: str,
    *,
    may_abort: bool,
) -> list[dict[str, Any]]:
    """See `stuck`."""
    owners = by_producer(transactions)
    waiting = _waiting({partition.place: partition for partition, _ in behind}, groups)
    found = [_row(partition, opened, owners, waiting, now_ms, bootstrap, may_abort=may_abort) for partition, opened in behind]
    return sorted(found, key=lambda row: (row["topic"] in INTERNAL_TOPICS, row["since_ms"] or now_ms, row["topic"], row["partition"]))


def pinning(partition: Partition, opened: Sequence[OpenTransaction]) -> OpenTransaction | None:
    """The one that begins first. None: nobody tells, or its marker is above the high watermark."""
    return min(opened, key=lambda each: each.first_offset, default=None)


def owner_of(place: TopicPartition, opened: OpenTransaction, owners: Mapping[int, Transaction]) -> Transaction | None:
    """The id that is going to end it; None when no id will, as it knows nothing of this partition."""
    transaction = owners.get(opened.producer_id)
    if transaction is None or not transaction.is_open:
        return None
    return transaction if place in transaction.partitions else None


def _row(
    partition: Partition,
    opened: Sequence[OpenTransaction],
    owners: Mapping[int, Transaction],
    waiting: Mapping[TopicPartition, list[str]],
    now_ms: int,
    bootstrap: str,
    *,
    may_abort: bool,
) -> dict[str, Any]:
    place = partition.place
    pins = pinning(partition, opened)
    owner = None if pins is None else owner_of(place, pins, owners)
    state = None if pins is None else owner.state if owner is not None else HANGING
    start_ms = owner.start_ms if owner is not None else None if pins is None else pins.last_ms
    since_ms = min((each for each in (partition.since_ms, start_ms) if each is not None), default=None)
    ends_at_ms = owner.aborts_at_ms if owner is not None else None
    row = {
        "topic": place.topic,
        "partition": place.partition,
        "last_stable_offset": partition.last_stable_offset,
        "high_watermark": partition.high_watermark,
        "behind": partition.behind,
        "since_ms": since_ms,
        "transactional_id": None if owner is None else owner.transactional_id,
        "producer_id": None if pins is None else pins.producer_id,
        "producer_epoch": None if pins is None else pins.producer_epoch,
        "state": state,
        "age_ms": None if start_ms is None else max(now_ms - start_ms, 0),
        "timeout_ms": None if owner is None else owner.timeout_ms,
        "aborts_at_ms": ends_at_ms,
        "client_id": None if owner is None else owner.owner.client_id,
        "client_host": None if owner is None else owner.owner.client_host,
        "first_offset": None if pins is None else pins.first_offset,
        "groups": sorted(waiting.get(place, ())),
    }
    row["sentence"] = _sentence(row, now_ms)
    why_not = None if may_abort else "a directory is only read"
    if state in ("PrepareCommit", "PrepareAbort"):
        why_not = f"it is decided already ({state}); its markers are being written"
    elif pins is None:
        why_not = "nobody tells which transaction it is"
    row["abort"] = {
        "possible": why_not is None,
        "why_not": why_not,
        "command": None if pins is None else kafka_transactions_abort(bootstrap, place, pins.first_offset),
    }
    return row


def _sentence(row: Mapping[str, Any], now_ms: int) -> str:
    place = f"{row['topic']}-{row['partition']}"
    head = f"{place} gives read_committed consumers nothing from offset {row['last_stable_offset']} on: "
    if row["state"] is None:
        return head + "a transaction is open there, and nobody tells whose."
    age = "" if row["age_ms"] is None else f" for {duration(row['age_ms'])}"
    if row["state"] == HANGING:
        producer = f"producer {row['producer_id']} epoch {row['producer_epoch']}"
        return (
            head
            + f"a transaction of {producer} has been open{age}, and no transactional id knows of it: nothing will ever end it by itself."
        )
    name = f"{row['transactional_id']}{who(row['client_id'], row['client_host'])}"
    if row["state"] != "Ongoing":
        end = "commit" if row["state"] == "PrepareCommit" else "abort"
        return head + f"{name} decided to {end}, and its marker here is still to be written."
    if row["aborts_at_ms"] is None:
        end = "it prepared for two-phase commit, and only its owner ends it"
    elif row["aborts_at_ms"] > now_ms:
        end = f"it is aborted by itself in {duration(row['aborts_at_ms'] - now_ms)}"
    else:
        end = "its time is over, and its coordinator is about to abort it"
    return head + f"{name} has had a transaction open{age}; {end}."


def _waiting(behind: Mapping[TopicPartition, Partition], groups: Iterable[Group]) -> dict[TopicPartition, list[str]]:
    """Groups by the partition that they wait at: those that have members or offsets there, and are not past the last stable offset."""
    found: dict[TopicPartition, list[str]] = {}
    for group in groups:
        here = behind.keys() & group.committed.keys()
        here |= {place for member in group.members for place in member.partitions if place in behind}
        for place in here:
            committed = group.committed.get(place)
            if committed is None or committed.offset <= behind[place].last_stable_offset:
                found.setdefault(place, []).append(group.group_id)
    return found
