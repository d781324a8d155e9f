"""Transactions after a crash: as the log tells them."""

from __future__ import annotations

from pathlib import Path

import pytest
from oncelog.storage.log.segment import Segment
from support.flushed_when_told import sim
from support.storage_kit import Kit, offsets

pytestmark = pytest.mark.unit


def test_voucher_does_not_outlive_the_growth_of_its_index(tmp_path: Path) -> None:
    kit = Kit(tmp_path)
    kit.create()
    kit.append(0, pid=7, txn=True)
    kit.mark(7, False)
    kit.log.take_snapshot()
    kit.log.flush()
    kit.append(0, pid=8, txn=True)
    kit.mark(8, False)
    index = next(kit.folder.glob("*.txnindex"))
    index.write_bytes(index.read_bytes()[: index.stat().st_size // 2])  # a power cut took the second entry
    kit.kill_and_start()
    assert offsets(kit.log, isolation=1) == []


def test_ends_behind_a_lost_tail_are_forgotten() -> None:
    """Else other records that get their offsets later would count as aborted."""
    kit, fs, _ = sim(1)
    kit.append(0, pid=7, txn=True)
    kit.mark(7, False)
    log_path = kit.log.active_segment.log_path
    fs.kill()
    fs.names[log_path].content.clear()  # type: ignore[union-attr]
    kit.start()
    for number in range(3):
        kit.append(number, pid=7, txn=True)
    kit.mark(7, True)
    kit.log.flush()
    assert offsets(kit.log, isolation=1) == [0, 1, 2]


class PowerCut(BaseException):
    """Not an error that anybody may handle."""


def test_case_31_marker_written_but_not_its_index_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kit = Kit(tmp_path / "data")
    kit.create()
    kit.append(n=2)
    kit.append(0, pid=7, txn=True)
    kit.append(n=1)

    def cut(*_: object) -> None:
        raise PowerCut

    with monkeypatch.context() as patch:
        patch.setattr(Segment, "append_aborted", cut)
        with pytest.raises(PowerCut):
            kit.mark(7, commit=False)
    log = kit.kill_and_start()
    assert log.last_stable_offset == log.log_end_offset == 5
    assert offsets(log, 1) == [0, 1, 3]
    assert offsets(log, 0) == [0, 1, 2, 3]
    assert [(entry.producer_id, entry.first_offset) for entry in log.read(0, 999, isolation=1, min_one_message=True).aborted or []] == [
        (7, 2)
    ]


def test_case_61_open_transaction_at_a_crash(tmp_path: Path) -> None:
    kit = Kit(tmp_path / "data")
    kit.create()
    kit.append(n=2)
    kit.append(0, pid=5, txn=True)
    kit.append(n=2)
    for _ in range(2):
        log = kit.kill_and_start()
        assert log.open_transactions() == [(5, 0, 2)]
        assert (log.last_stable_offset, log.log_end_offset) == (2, 5)
    kit.mark(5, commit=False, epoch=1)
    for _ in range(2):
        assert (kit.log.last_stable_offset, kit.log.log_end_offset) == (6, 6)
        assert offsets(kit.log, 1) == [0, 1, 3, 4]
        kit.kill_and_start()
