"""Open transactions and markers against `__transaction_state`: what is missing, double or decided otherwise is found."""

from __future__ import annotations

from pathlib import Path

import pytest
from oncelog.protocol.records import build_batch
from oncelog.storage.audit.findings import Findings, Kind
from oncelog.storage.audit.partition import PartitionFacts
from oncelog.storage.audit.producers import MarkerAt
from oncelog.storage.audit.transactions import Prepared, TransactionLog, audit_transactions
from oncelog.storage.audit.verify import verify
from support.damage import Partition
from support.golden_storage import facts
from support.plants import NOW, Expected, Plants

plant = Plants()


@plant
def a_marker_cut_off(data: Path) -> Expected:
    log = Partition(data, "txj-0")
    first = log.batches(-1)[-3][1].base_offset
    path = log.file("log", -1)
    path.write_bytes(path.read_bytes()[:-78])
    return Kind.MARKER_MISSING, "txj-0", first


@plant
def a_marker_that_never_came_where_data_is_gone_too(data: Path) -> Expected:
    """Version 2, so the number of Prepares per epoch is one: the last transaction left neither data nor marker."""
    log = Partition(data, "txj-0")
    position, _ = log.batches(-1)[-3]
    path = log.file("log", -1)
    path.write_bytes(path.read_bytes()[:position])
    return Kind.MARKER_MISSING, "txj-0", 0


@plant
def a_marker_twice_before_version_2(data: Path) -> Expected:
    log = Partition(data, "aborts-0")
    return Kind.MARKER_DOUBLED, "aborts-0", log.append(log.batch(-1))


@plant
def a_marker_that_says_the_opposite(data: Path) -> Expected:
    log = Partition(data, "tx-1")
    marker = log.batches(-1)[-4][1]
    log.change(-4, lambda batch: batch.__setitem__(-9, 1 - batch[-9]))
    return Kind.TRANSACTION_TORN, "tx-1", marker.base_offset


@plant
def a_transaction_that_nobody_will_end(data: Path) -> Expected:
    log = Partition(data, "tx-0")
    stray = build_batch([(NOW, None, b"x")], producer_id=777, producer_epoch=0, base_sequence=0, is_transactional=True)
    return Kind.TRANSACTION_HANGING, "tx-0", log.append(stray)


@plant
def a_transaction_record_of_an_unknown_version(data: Path) -> Expected:
    log = Partition(data, "__transaction_state-0")
    return Kind.TRANSACTION_LOG, "__transaction_state-0", log.append(build_batch([(NOW, b"\0\0\0\x01x", b"\0\x09")]))


@pytest.mark.parametrize("name", plant)
def test_planted_damage_is_found(name: str, directory: Path) -> None:
    assert plant.complaint(name, directory) is None


def test_open_transactions_are_listed_with_their_owner(golden: dict[str, Path]) -> None:
    opened = [finding for finding in verify(golden["killed"]).notes if finding.kind is Kind.TRANSACTION_OPEN]
    assert {(finding.partition, finding.offset) for finding in opened} == {
        (partition, transaction["first"]) for partition, known in facts("killed")["partitions"].items() for transaction in known["openTxns"]
    }
    assert all("is Ongoing" in finding.message for finding in opened)


@pytest.mark.parametrize(
    ("decided", "markers", "whole_decisions", "whole_markers", "torn"),
    [
        ([True], [False], True, True, True),
        ([True], [False], False, True, True),
        ([True], [False], True, False, True),
        ([True], [False], False, False, False),
        ([True], [False, True], False, True, False),  # of the first the decision was compacted away
        ([True, False], [False], True, False, False),
        ([True, False], [True, True], False, True, True),
    ],
)
def test_outcomes_are_told_apart_by_their_number_only_where_none_is_missing(
    decided: list[bool], markers: list[bool], whole_decisions: bool, whole_markers: bool, torn: bool
) -> None:
    log = TransactionLog(complete_history=whole_decisions)
    log.prepared[7, 0] += [Prepared("t", commit, frozenset({"a-0"}), True) for commit in decided]
    at = PartitionFacts(0, 9, complete=whole_markers)
    at.markers += [MarkerAt(7, 0, commit, 0, offset, 0, None, 0) for offset, commit in enumerate(markers)]
    findings = Findings()
    audit_transactions(log, {"a-0": at}, findings)
    assert any(each.kind is Kind.TRANSACTION_TORN for each in findings.items) is torn
