"""What any Kafka shows of clients' mistakes: transactions and groups as they stand, and the newest records of its logs."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from oncelog.broker.console.lint_rules import AUTO_COMMIT, OLD_VERSION, OUTSIDE, READ_UNCOMMITTED, RETRIES, SHARED_ID, TOO_LONG, Findings
from oncelog.broker.console.model import HANGING, Group, Partition, Source, Transaction
from oncelog.broker.console.stuck import stuck
from oncelog.broker.console.words import duration
from oncelog.protocol.internal.fields import CorruptRecord
from oncelog.protocol.internal.records import (
    OffsetCommitKey,
    OffsetCommitValue,
    TransactionLogKey,
    TransactionLogValue,
    decode_key,
    decode_value,
)
from oncelog.protocol.names import CONSUMER_OFFSETS, INTERNAL_TOPICS, TRANSACTION_STATE
from oncelog.protocol.records import CorruptBatch, Record, iter_headers, iter_records

TAIL_OFFSETS = 2_000  # of each partition: its newest
MOST_BYTES = 16 << 20  # in one look
READ_BYTES = 128 << 10
MOST_PARTITIONS = 500
_EMPTY, _ONGOING = 0, 1
_INITS, _INITS_MS = 3, 300_000  # so many new instances within so long are no restarts
_COMMITS = 3
_EVENLY = 0.2  # of their median: how far the pauses between automatic commits differ
_LATE = 0.8  # of its timeout


class _Commit(NamedTuple):
    time_ms: int
    transactional: bool


async def look(source: Source, findings: Findings) -> None:
    """Note what can be seen now. Raises Unreachable."""
    for transaction in await source.transactions():
        _of_transaction(transaction, findings, source.now_ms())
    await _of_partitions(source, findings)
    budget = MOST_BYTES
    edges = await source.partitions()
    for edge in sorted(edges, key=lambda each: (each.place.topic not in INTERNAL_TOPICS, each.place))[:MOST_PARTITIONS]:
        if edge.high_watermark > edge.log_start_offset and budget > 0:
            budget -= await _of_records(source, edge, findings)


def _of_transaction(each: Transaction, findings: Findings, now_ms: int) -> None:
    client = (each.owner.client_id, each.owner.client_host)
    if each.state == "Ongoing" and each.start_ms is not None and each.aborts_at_ms is not None:
        age = now_ms - each.start_ms
        if age >= _LATE * each.timeout_ms:
            evidence = (
                f"{each.transactional_id} has had a transaction open for {duration(age)}, and its timeout is {duration(each.timeout_ms)}."
            )
            findings.note(TOO_LONG, each.transactional_id, evidence, now_ms, client)
    if each.transaction_version == 0 and each.state not in ("Empty", "Dead") and each.last_update_ms is not None:
        evidence = (
            f"The latest transaction of {each.transactional_id} is of transaction version 0: its epoch stays the same from one to the next."
        )
        findings.note(OLD_VERSION, each.transactional_id, evidence, each.last_update_ms, client)


async def _of_partitions(source: Source, findings: Findings) -> None:
    behind = {partition.place: partition for partition, _ in await source.behind()}
    for row in await stuck(source):
        if row["state"] == HANGING:
            evidence = f"{row['topic']}-{row['partition']}: {row['sentence']}"
            findings.note(TOO_LONG, f"producer {row['producer_id']}", evidence, row["since_ms"] or source.now_ms())
    for group in await source.groups():
        _of_group(group, behind.values(), findings, source.now_ms())


def _of_group(group: Group, behind: Iterable[Partition], findings: Findings, now_ms: int) -> None:
    for edge in behind:
        committed = group.committed.get(edge.place)
        if edge.place.topic not in INTERNAL_TOPICS and committed is not None and committed.offset > edge.last_stable_offset:
            owner = next((member for member in group.members if edge.place in member.partitions), None)
            evidence = (
                f"{group.group_id} has committed offset {committed.offset} of {edge.place}, "
                f"whose last stable offset is {edge.last_stable_offset}: it has read records of a transaction that is still open."
            )
            client = (None, None) if owner is None else (owner.client_id, owner.client_host)
            findings.note(READ_UNCOMMITTED, group.group_id, evidence, now_ms, client)


async def _of_records(source: Source, edge: Partition, findings: Findings) -> int:
    """The newest records of a partition; how many bytes were read."""
    offset, size = max(edge.log_start_offset, edge.high_watermark - TAIL_OFFSETS), 0
    inits: dict[str, list[tuple[int, int]]] = defaultdict(list)
    commits: dict[str, list[_Commit]] = defaultdict(list)
    seen: dict[int, int] = {}
    while offset < edge.high_watermark and (data := memoryview(await source.read(edge.place, offset, READ_BYTES))):
        size += len(data)
        before = offset
        for position, header in iter_headers(data):
            offset = header.next_offset
            batch = data[position : position + header.size_bytes]
            if edge.place.topic in INTERNAL_TOPICS and not header.is_control:
                _internal(edge.place.topic, batch, header.is_transactional, inits, commits)
            elif header.producer_id < 0 and not header.is_control:
                _repeated(edge, header.crc, header.base_offset, header.max_timestamp, seen, findings)
        if offset <= before:
            break
        await asyncio.sleep(0)
    for id, times in inits.items():
        _shared(id, times, findings)
    for group, made in commits.items():
        _mixed(group, made, findings)
    return size


def _internal(
    topic: str, batch: memoryview, transactional: bool, inits: dict[str, list[tuple[int, int]]], commits: dict[str, list[_Commit]]
) -> None:
    try:
        for record in iter_records(batch):
            _one(topic, record, transactional, inits, commits)
    except (CorruptBatch, CorruptRecord, IndexError):
        pass  # `oncelog verify` tells of damage


def _one(
    topic: str, record: Record, transactional: bool, inits: dict[str, list[tuple[int, int]]], commits: dict[str, list[_Commit]]
) -> None:
    if record.key is None or record.value is None:
        return
    key = decode_key(topic, record.key)
    if not isinstance(key, TransactionLogKey | OffsetCommitKey):
        return
    value = decode_value(key, record.value)
    if topic == TRANSACTION_STATE and isinstance(key, TransactionLogKey) and isinstance(value, TransactionLogValue):
        if value.transaction_status == _EMPTY:
            inits[key.transactional_id].append((value.transaction_last_update_timestamp_ms, value.producer_epoch))
    elif topic == CONSUMER_OFFSETS and isinstance(key, OffsetCommitKey) and isinstance(value, OffsetCommitValue):
        made = commits[key.group]
        if not made or made[-1] != (value.commit_timestamp, transactional):  # one for all partitions of a commit
            made.append(_Commit(value.commit_timestamp, transactional))


def _shared(id: str, times: Sequence[tuple[int, int]], findings: Findings) -> None:
    newest = times[-1][0]
    lately = [epoch for at, epoch in times if newest - at <= _INITS_MS]
    if len(lately) >= _INITS:
        evidence = (
            f"{id} was initialised {len(lately)} times within {duration(_INITS_MS)}, up to epoch {lately[-1]}: each fences the one before."
        )
        findings.note(SHARED_ID, id, evidence, newest)


def _mixed(group: str, made: Sequence[_Commit], findings: Findings) -> None:
    """Offsets of one group, some in transactions and some not."""
    plain = [each.time_ms for each in made if not each.transactional]
    within = len(made) - len(plain)
    if not plain or not within:
        return
    pauses = [later - earlier for earlier, later in pairwise(plain)]
    usual = median(pauses) if pauses else 0
    evenly = len(plain) > _COMMITS and usual >= 500 and all(abs(pause - usual) <= _EVENLY * usual for pause in pauses)
    evidence = f"{group} committed offsets {within} times within transactions and {len(plain)} times outside"
    if evenly:
        findings.note(AUTO_COMMIT, group, f"{evidence}, every {duration(int(usual))}: that is a timer.", plain[-1])
    else:
        findings.note(OUTSIDE, group, f"{evidence}.", plain[-1])


def _repeated(edge: Partition, crc: int, offset: int, time_ms: int, seen: dict[int, int], findings: Findings) -> None:
    """The checksum covers timestamps and records: the same again is the same batch."""
    if crc in seen:
        evidence = f"{edge.place} has the same batch at offsets {seen[crc]} and {offset}, from a producer without idempotence."
        findings.note(RETRIES, edge.place.topic, evidence, max(time_ms, 0))
    seen[crc] = offset
