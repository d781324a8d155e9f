"""Sequences, epochs and markers that a broker would have refused are found by replaying the log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from oncelog.protocol.control_records import end_transaction_marker
from oncelog.protocol.records import build_batch, parse_header, patch_offset
from oncelog.storage.audit.findings import Findings, Kind, Severity
from oncelog.storage.audit.producers import EXPIRATION_MS, OpenTransaction, PartitionReplay
from oncelog.storage.audit.raw_directory import BatchAt
from oncelog.storage.audit.raw_formats import ProducerEntry, TxnEntry
from support.damage import Partition
from support.plants import NOW, Expected, Plants

plant = Plants()


@plant
def a_sequence_left_out(data: Path) -> Expected:
    log = Partition(data, "idem-0")
    last = log.batches(-1)[-1][1]
    fields = {"producer_id": last.producer_id, "producer_epoch": last.producer_epoch, "base_sequence": last.last_sequence + 5}
    return Kind.SEQUENCE_GAP, "idem-0", log.append(build_batch([(last.max_timestamp, None, b"x")], **fields))


@plant
def an_acknowledged_batch_stored_twice(data: Path) -> Expected:
    log = Partition(data, "idem-0")
    return Kind.DUPLICATE_BATCH, "idem-0", log.append(log.batch(-3))


@plant
def a_fenced_epoch_that_wrote(data: Path) -> Expected:
    log = Partition(data, "txj-0")
    zombie = build_batch([(NOW, None, b"x")], producer_id=1000, producer_epoch=5, base_sequence=56, is_transactional=True)
    return Kind.PRODUCER_EPOCH, "txj-0", log.append(zombie)


@plant
def a_marker_twice(data: Path) -> Expected:
    log = Partition(data, "txj-0")
    return Kind.MARKER_DOUBLED, "txj-0", log.append(log.batch(-1))


@plant
def a_record_outside_of_its_open_transaction(data: Path) -> Expected:
    log = Partition(data, "tx-0")
    fields = {"producer_id": 777, "producer_epoch": 0}
    log.append(build_batch([(NOW, None, b"x")], base_sequence=0, is_transactional=True, **fields))
    return Kind.TRANSACTION_TORN, "tx-0", log.append(build_batch([(NOW, None, b"x")], base_sequence=1, **fields))


@plant
def a_falling_coordinator_epoch(data: Path) -> Expected:
    log = Partition(data, "txj-0")
    return Kind.MARKER_COORDINATOR_EPOCH, "txj-0", log.append(end_transaction_marker(1000, 8, True, -1, NOW))


@plant
def a_control_batch_that_is_no_marker(data: Path) -> Expected:
    log = Partition(data, "txj-0")
    odd = build_batch([(NOW, b"\0\0\0\x09", b"")], producer_id=1000, producer_epoch=7, is_transactional=True, is_control=True)
    return Kind.MARKER_DAMAGED, "txj-0", log.append(odd)


@pytest.mark.parametrize("name", plant)
def test_planted_damage_is_found(name: str, directory: Path) -> None:
    assert plant.complaint(name, directory) is None


class Replay:
    """A log, batch by batch; `told` is (kind, severity, offset) of what a broker would have refused."""

    def __init__(self, **options: Any) -> None:
        self.findings = Findings()
        self.state = PartitionReplay(self.findings, options.pop("gaps_allowed", False), options.pop("sequences", True), **options)
        self.end = 0

    def apply(self, batch: bytearray) -> int:
        patch_offset(batch, self.end, 0)
        header = parse_header(batch)
        self.state.apply(BatchAt(0, header, memoryview(batch)), "0.log")
        self.end = header.next_offset
        return header.base_offset

    def data(self, sequence: int, *, epoch: int = 0, n: int = 1, txn: bool = False, at: int = NOW, pid: int = 7) -> int:
        records = [(at, None, b"x")] * n
        return self.apply(build_batch(records, producer_id=pid, producer_epoch=epoch, base_sequence=sequence, is_transactional=txn))

    def mark(self, *, epoch: int = 0, commit: bool = True, coordinator: int = 0, pid: int = 7) -> int:
        return self.apply(bytearray(end_transaction_marker(pid, epoch, commit, coordinator, NOW)))

    @property
    def told(self) -> list[tuple[Kind, Severity, int | None]]:
        return [(one.kind, one.severity, one.offset) for one in self.findings.items]


def test_sequences_go_on_over_the_highest_one() -> None:
    log = Replay(begin=5)
    for sequence in (2**31 - 2, 0, 2):
        log.data(sequence, n=2)
    assert log.told == []
    assert [(one.first_sequence, one.last_sequence) for one in log.state.producers[7].batches] == [(2**31 - 2, 2**31 - 1), (0, 1), (2, 3)]


def test_a_gap_is_none_where_batches_may_be_gone() -> None:
    for options, expected in (({}, True), ({"gaps_allowed": True}, False), ({"sequences": False}, False)):
        log = Replay(**options)
        log.data(0)
        at = log.data(2)
        assert log.told == ([(Kind.SEQUENCE_GAP, Severity.ERROR, at)] if expected else [])


@pytest.mark.parametrize(("silence_ms", "gap"), [(EXPIRATION_MS - 1, True), (EXPIRATION_MS, False)])
def test_a_forgotten_producer_goes_on_with_any_sequence(silence_ms: int, gap: bool) -> None:
    log = Replay()
    log.data(0)
    at = log.data(9, at=NOW + silence_ms)
    assert log.told == [(Kind.SEQUENCE_GAP, Severity.ERROR, at)] * gap


def test_a_new_epoch_begins_at_sequence_0() -> None:
    log = Replay()
    log.data(0)
    log.data(0, epoch=1)
    at = log.data(1, epoch=2)
    assert log.told == [(Kind.SEQUENCE_GAP, Severity.ERROR, at)]


def test_only_the_last_five_batches_tell_a_duplicate() -> None:
    log = Replay()
    for sequence in range(6):
        log.data(sequence)
    oldest = log.data(1)  # of the last five
    forgotten = log.data(0)
    assert log.told == [(Kind.DUPLICATE_BATCH, Severity.ERROR, oldest), (Kind.SEQUENCE_GAP, Severity.ERROR, forgotten)]


def test_the_open_transaction_and_who_is_open() -> None:
    log = Replay()
    first = log.data(0, txn=True)
    log.data(1, txn=True)
    other = log.data(0, txn=True, pid=8, epoch=3)
    assert log.state.open_transactions() == [OpenTransaction(7, 0, first), OpenTransaction(8, 3, other)]
    marker = log.mark(commit=False, epoch=1)
    assert log.state.open_transactions() == [OpenTransaction(8, 3, other)]
    assert log.state.aborted == [TxnEntry(7, first, marker, other)]
    last = log.mark(pid=8, commit=False, epoch=3)
    assert log.state.aborted[1] == TxnEntry(8, other, last, last + 1)
    assert [(one.first_offset, one.data_epoch) for one in log.state.markers] == [(first, 0), (other, 3)]
    assert log.told == []


@pytest.mark.parametrize(("bump", "kind", "severity"), [(1, Kind.MARKER_DOUBLED, Severity.ERROR), (0, Kind.MARKER_EMPTY, Severity.NOTE)])
def test_a_second_marker_of_an_epoch(bump: int, kind: Kind, severity: Severity) -> None:
    """Of version 2, which gives every transaction its own epoch, it is one too many; before, it may have ended a transaction elsewhere."""
    log = Replay()
    log.data(0, txn=True)
    log.mark(epoch=bump)
    at = log.mark(epoch=bump)
    log.mark(epoch=bump + 1)
    assert log.told == [(kind, severity, at)]


def test_the_first_marker_of_an_epoch_may_close_nothing() -> None:
    log = Replay()
    log.mark(epoch=4)
    assert log.told == []
    cleaned = Replay(gaps_allowed=True)
    cleaned.mark(epoch=4)
    cleaned.mark(epoch=4)
    assert cleaned.told == []


def test_a_marker_of_a_fenced_epoch_or_coordinator() -> None:
    log = Replay()
    log.data(0, epoch=5, txn=True)
    log.mark(epoch=5, coordinator=3)
    fenced = log.mark(epoch=4, coordinator=3)
    deposed = log.mark(epoch=6, coordinator=2)
    assert log.told == [(Kind.PRODUCER_EPOCH, Severity.ERROR, fenced), (Kind.MARKER_COORDINATOR_EPOCH, Severity.ERROR, deposed)]


def test_a_snapshot_goes_on_where_the_log_in_front_is_gone() -> None:
    live = Replay()
    for sequence in range(3):
        live.data(sequence, txn=True)
    entries = [state.entry(pid) for pid, state in live.state.producers.items()]
    assert entries == [ProducerEntry(7, 0, 2, 2, 0, NOW, -1, 0)]
    log = Replay(begin=3)
    log.state.seed(entries)
    log.end = 3
    log.data(3, txn=True)
    assert log.told == []
    assert log.state.open_transactions() == [OpenTransaction(7, 0, 0)]
    assert log.data(5, txn=True) == 4
    assert log.told == [(Kind.SEQUENCE_GAP, Severity.ERROR, 4)]


def test_without_a_snapshot_nobody_knows_what_came_before_the_log_start() -> None:
    log = Replay(begin=100)
    log.mark(epoch=2)
    log.data(17, epoch=2)
    assert log.told == []
