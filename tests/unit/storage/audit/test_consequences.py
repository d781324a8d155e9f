"""`verify` names each damage once and calls what a start mends by that name."""

from __future__ import annotations

from pathlib import Path

import pytest
from oncelog.storage.audit.findings import Finding, Kind, Severity
from oncelog.storage.audit.verify import verify
from support.damage import Partition
from support.storage_kit import TP, Kit

pytestmark = pytest.mark.unit


def filled(tmp_path: Path) -> Kit:
    """Transactions and idempotent batches in several segments."""
    kit = Kit(tmp_path / "data", flush_on_ack=False)
    kit.create()
    for number in range(80):
        kit.clock.now_ms += 1
        kit.append(number, pid=10)
        kit.append(number, pid=11, txn=True)
        kit.mark(11, commit=number % 3 != 0)
    kit.append(80, pid=11, txn=True)
    return kit


def test_one_damaged_batch_is_one_finding(tmp_path: Path) -> None:
    kit = filled(tmp_path)
    kit.stop()
    before = {finding.kind for finding in verify(kit.data_dir).errors}
    place = Partition(kit.data_dir, str(TP))
    place.change(1, lambda batch: batch.__setitem__(slice(0, 40), bytes(40)), number=0, crc=False)
    errors = [finding for finding in verify(kit.data_dir).errors if finding.kind not in before]
    assert [(finding.kind, finding.partition) for finding in errors] == [(Kind.LOG_GARBAGE, str(TP))]
    assert "; with it " in errors[0].message


def test_one_damaged_index_is_one_finding(tmp_path: Path) -> None:
    kit = filled(tmp_path)
    kit.stop()
    before = {finding.kind for finding in verify(kit.data_dir).errors}
    path = sorted(kit.folder.glob("*.timeindex"))[0]
    data = path.read_bytes()
    path.write_bytes(b"".join(data[at : at + 4] + bytes([data[at + 4] ^ 1]) + data[at + 5 : at + 12] for at in range(0, len(data), 12)))
    errors = [finding for finding in verify(kit.data_dir).errors if finding.kind not in before]
    assert [finding.kind for finding in errors if finding.kind is Kind.TIME_INDEX_MISMATCH] == [Kind.TIME_INDEX_MISMATCH]
    assert "time-index-mismatch" in next(one.message for one in errors if one.kind is Kind.TIME_INDEX_MISMATCH)


def test_what_a_kill_left_is_called_that(tmp_path: Path) -> None:
    """Above the recovery point neither indexes nor tails are finished: the next start does that."""
    kit = filled(tmp_path)
    kit.manager.chores.write_checkpoints(everything=True)
    before = set(verify(kit.data_dir).errors)
    kit.kill()
    (kit.data_dir / "recovery-point-offset-checkpoint").write_text("0\n0\n")
    for path in kit.folder.glob("*.index"):
        path.write_bytes(path.read_bytes()[:-3])
    for path in kit.folder.glob("*.timeindex"):
        path.write_bytes(path.read_bytes()[:12])
    with sorted(kit.folder.glob("*.log"))[-1].open("ab") as log:
        log.write(b"\0" * 30)
    report = verify(kit.data_dir)
    new = [finding for finding in report.findings if finding not in before and finding.severity is Severity.ERROR]
    assert new == []
    assert [finding for finding in report.notes if finding.message.startswith("will be mended")]


def test_a_finding_is_as_it_was_without_a_cause(tmp_path: Path) -> None:
    kit = filled(tmp_path)
    kit.stop()
    assert all(isinstance(finding, Finding) and "; with it" not in finding.message for finding in verify(kit.data_dir).findings)
