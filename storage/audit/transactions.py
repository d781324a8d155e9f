"""Transactions across partitions: what `__transaction_state` says against the markers and open transactions of every log.

Where a marker must be is known from the Prepare records: each names its partitions, and the markers carry that record's
producer id and epoch (with transaction version 2 the bumped one). The n-th Prepare of a (producer id, epoch) that names a
partition belongs to the n-th marker of that pair there.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

from oncelog.protocol.compression import CompressionError
from oncelog.protocol.internal.records import TransactionLogKey, TransactionLogValue, decode_key, decode_value
from oncelog.protocol.names import TRANSACTION_STATE
from oncelog.protocol.records import CorruptBatch, iter_records
from oncelog.storage.audit.findings import Findings, Kind
from oncelog.storage.audit.partition import PartitionFacts
from oncelog.storage.audit.producers import MarkerAt, OpenTransaction
from oncelog.storage.audit.raw_directory import BatchAt, PartitionFolder, map_file, scan_log

EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT, DEAD, PREPARE_EPOCH_FENCE = range(8)
STATUS_NAMES = (
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
)


class Prepared(NamedTuple):
    """One Prepare record. `completed`: a Complete record followed, so every marker must be there."""

    transactional_id: str
    commit: bool
    partitions: frozenset[str]
    completed: bool


@dataclass(slots=True)
class TransactionLog:
    """`__transaction_state` as replayed: the latest value of each id, and every Prepare by (producer id, epoch)."""

    current: dict[str, TransactionLogValue] = field(default_factory=dict)
    prepared: dict[tuple[int, int], list[Prepared]] = field(default_factory=lambda: defaultdict(list))
    # no record was compacted away: the number of Prepares is the number of transactions
    complete_history: bool = True

    def owner(self, producer_id: int) -> tuple[str, TransactionLogValue] | None:
        """The id whose latest record names this producer id."""
        for transactional_id, value in self.current.items():
            if value.producer_id == producer_id:
                return transactional_id, value
        return None


def partition_names(value: TransactionLogValue) -> frozenset[str]:
    """`topic-N` of every partition of a transaction."""
    return frozenset(f"{topic}-{partition}" for topic, partitions in value.transaction_partitions or () for partition in partitions)


def replay_transaction_log(folders: list[PartitionFolder], findings: Findings) -> TransactionLog:
    """Read every partition of `__transaction_state`; records that make no sense become findings."""
    log = TransactionLog()
    for folder in folders:
        partition = findings.of(folder.name)
        offset = 0
        for base in folder.bases:
            for item in scan_log(map_file(folder.file(base, "log"))):
                if isinstance(item, BatchAt) and not item.header.is_control:
                    log.complete_history &= item.header.base_offset == offset
                    offset = item.header.next_offset
                    _replay_batch(item, log, partition, folder.file(base, "log").name)
    return log


def _replay_batch(batch: BatchAt, log: TransactionLog, findings: Findings, name: str) -> None:
    try:
        records = list(iter_records(batch.view))
    except (CorruptBatch, CompressionError):
        return  # the log audit names it
    for record in records:
        try:
            key = decode_key(TRANSACTION_STATE, record.key or b"")
            if not isinstance(key, TransactionLogKey):
                raise ValueError("the key is no transactional id")
            value = decode_value(key, record.value)
        except ValueError as error:
            findings.error(Kind.TRANSACTION_LOG, str(error), offset=record.offset, file=name)
            continue
        if value is None:
            log.current.pop(key.transactional_id, None)
        elif isinstance(value, TransactionLogValue):
            _replay_value(key.transactional_id, value, record.offset, log, findings, name)


def _replay_value(who: str, value: TransactionLogValue, offset: int, log: TransactionLog, findings: Findings, name: str) -> None:
    before = log.current.get(who)
    status = value.transaction_status
    if not 0 <= status < len(STATUS_NAMES):
        findings.error(Kind.TRANSACTION_LOG, f"{who}: status {status}", offset=offset, file=name)
        return
    if before is not None and before.producer_id == value.producer_id and value.producer_epoch < before.producer_epoch:
        message = f"{who}: epoch falls from {before.producer_epoch} to {value.producer_epoch}"
        findings.error(Kind.TRANSACTION_LOG, message, offset=offset, file=name)
    if status in (PREPARE_COMMIT, PREPARE_ABORT):
        pair = (value.producer_id, value.producer_epoch)
        log.prepared[pair].append(Prepared(who, status == PREPARE_COMMIT, partition_names(value), False))
    elif status in (COMPLETE_COMMIT, COMPLETE_ABORT) and before is not None:
        expected = PREPARE_COMMIT if status == COMPLETE_COMMIT else PREPARE_ABORT
        if before.transaction_status == expected:
            waiting = log.prepared[(before.producer_id, before.producer_epoch)]
            waiting[-1] = waiting[-1]._replace(completed=True)
        elif log.complete_history:
            message = f"{who}: {STATUS_NAMES[status]} follows {STATUS_NAMES[before.transaction_status]}"
            findings.error(Kind.TRANSACTION_LOG, message, offset=offset, file=name)
    log.current[who] = value


def audit_transactions(log: TransactionLog, partitions: dict[str, PartitionFacts], findings: Findings) -> None:
    """Every open transaction has a coordinator that will end it, and every ended one has its markers, all alike."""
    for name, facts in partitions.items():
        for transaction in facts.open_transactions:
            _audit_open(name, facts, transaction, log, findings.of(name))
    for (producer_id, epoch), prepared in log.prepared.items():
        for name in sorted({name for one in prepared for name in one.partitions}):
            at = partitions.get(name)
            # where the log start or the cleaner took markers away they cannot be counted; an open transaction is reported by itself
            if at is None or not at.complete or any(one.producer_id == producer_id for one in at.open_transactions):
                continue
            markers = [mark for mark in at.markers if (mark.producer_id, mark.producer_epoch) == (producer_id, epoch)]
            wanted = [one for one in prepared if name in one.partitions]
            _audit_markers(wanted, markers, at, log.complete_history, findings.of(name))
    _audit_outcomes(log, partitions, findings)


def _audit_open(name: str, facts: PartitionFacts, transaction: OpenTransaction, log: TransactionLog, findings: Findings) -> None:
    producer_id, epoch, first_offset = transaction
    who = f"transaction of producer {producer_id} epoch {epoch}"
    stuck = f"the last stable offset stays at {facts.last_stable_offset}"
    owner = log.owner(producer_id)
    if owner is None:
        findings.error(Kind.TRANSACTION_HANGING, f"{who}: no transactional id has this producer id, {stuck}", offset=first_offset)
        return
    transactional_id, value = owner
    status = value.transaction_status
    named = name in partition_names(value)
    if status in (ONGOING, PREPARE_COMMIT, PREPARE_ABORT) and named:
        message = f"{who} of {transactional_id!r} is {STATUS_NAMES[status]}"
        findings.note(Kind.TRANSACTION_OPEN, message, offset=first_offset)
    elif status in (COMPLETE_COMMIT, COMPLETE_ABORT) and value.producer_epoch >= epoch:
        message = f"{who} of {transactional_id!r} is {STATUS_NAMES[status]}, but its marker is missing: {stuck}"
        findings.error(Kind.MARKER_MISSING, message, offset=first_offset)
    else:
        message = f"{who} of {transactional_id!r}, which is {STATUS_NAMES[status]} without this partition: {stuck}"
        findings.error(Kind.TRANSACTION_HANGING, message, offset=first_offset)


def _audit_markers(
    wanted: list[Prepared], markers: list[MarkerAt], facts: PartitionFacts, complete_history: bool, findings: Findings
) -> None:
    """Prepares and markers of one (producer id, epoch) on one partition, both in order."""
    due = sum(one.completed for one in wanted)
    if len(markers) < due:
        message = f"{wanted[0].transactional_id!r} completed {due} transactions of this epoch here, {len(markers)} markers are in the log"
        findings.error(Kind.MARKER_MISSING, message, offset=markers[-1].offset if markers else facts.log_start)
    elif len(markers) > len(wanted) and complete_history:
        spare = next((mark for mark in reversed(markers) if mark.first_offset is None), markers[-1])
        message = f"{len(markers)} markers for {len(wanted)} transactions of {wanted[0].transactional_id!r} in this epoch"
        if not any(item.kind is Kind.MARKER_DOUBLED and item.offset == spare.offset for item in findings.items):
            findings.error(Kind.MARKER_DOUBLED, message, offset=spare.offset)


def _audit_outcomes(log: TransactionLog, partitions: dict[str, PartitionFacts], findings: Findings) -> None:
    """The outcome of each marker is the one the coordinator decided, on every partition."""
    for name, facts in partitions.items():
        count = Counter((mark.producer_id, mark.producer_epoch) for mark in facts.markers)
        seen: dict[tuple[int, int], int] = defaultdict(int)
        for mark in facts.markers:
            pair = (mark.producer_id, mark.producer_epoch)
            wanted = [one for one in log.prepared.get(pair, ()) if name in one.partitions]
            number, seen[pair] = seen[pair], seen[pair] + 1
            # where the cleaner took some away, of the decisions or the markers, they cannot be told apart by their number
            if not facts.complete and (len(wanted) != 1 or not log.complete_history):
                continue
            if not log.complete_history and len(wanted) != count[pair]:
                continue
            if number < len(wanted) and wanted[number].commit != mark.commit:
                decided, found = ("commit", "abort") if wanted[number].commit else ("abort", "commit")
                who = f"transaction {number + 1} of {wanted[number].transactional_id!r} in epoch {pair[1]}"
                message = f"{who}: the coordinator decided to {decided}, the marker says {found}"
                findings.of(name).error(Kind.TRANSACTION_TORN, message, offset=mark.offset)
