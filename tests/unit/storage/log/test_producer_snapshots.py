"""Snapshots of producers that are damaged or gone."""

from __future__ import annotations

from pathlib import Path

import pytest
from oncelog.protocol.errors import ErrorCode, KafkaError
from support.damaged_partition import both, filled, spoilt, state, stop
from support.storage_kit import Kit

pytestmark = pytest.mark.unit


@both
@pytest.mark.parametrize("how", ["missing", "garbage", "empty"])
@pytest.mark.parametrize("window", ["kept", "missing", "garbage"])
def test_cases_53_54_snapshots_damaged_or_missing(tmp_path: Path, clean: bool, how: str, window: str) -> None:
    kit = filled(tmp_path)
    before = state(kit.log)
    stop(kit, clean)
    for path in kit.folder.glob("*.snapshot"):
        spoilt(path, how)
    if window != "kept":
        spoilt(kit.folder / "oncelog.window", window)
    kit.start()
    log = kit.log
    after = state(log)
    assert after[:5] == before[:5]  # type: ignore[index]
    newest = {entry.producer_id: (entry.batches, entry.current_txn_first_offset) for entry in log.producers()}
    assert newest[10][0]
    assert newest[12][1] is not None


@both
@pytest.mark.parametrize("how", ["missing", "garbage", "odd", "empty", "zeros"])
def test_without_the_window_the_last_five_batches_are_read_from_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, clean: bool, how: str
) -> None:
    kit = Kit(tmp_path / "data", flush_on_ack=False)
    kit.create()
    for number in range(9):  # silent since the oldest segment; another epoch since its fifth batch
        kit.append(number, pid=20)
        kit.append(number if number < 5 else number - 5, pid=21, epoch=number // 5)
    for number in range(30):
        kit.append(number, pid=22, n=1)
        kit.append(number, pid=23, txn=True)
        kit.append()
        kit.mark(23, commit=True)
    kit.append(0, pid=24)
    assert len(kit.log.segments) > 4
    before = {entry.producer_id: entry.batches for entry in kit.log.producers()}
    assert [len(batches) for batches in before.values()] == [5, 4, 5, 5, 1]
    stop(kit, clean)
    spoilt(kit.folder / "oncelog.window", how)
    kit.start()
    assert {entry.producer_id: entry.batches for entry in kit.log.producers()} == before
    for entry in kit.log.producers():
        for batch in entry.batches:
            again = kit.append(batch.first_sequence, pid=entry.producer_id, epoch=entry.epoch, txn=entry.producer_id == 23)
            assert (again.duplicate, again.base_offset) == (True, batch.first_offset)
    with pytest.raises(KafkaError) as refused:
        kit.append(3, pid=20)
    assert refused.value.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    kit.restart()
    caplog.clear()
    kit.restart()
    assert caplog.records == []
    assert {entry.producer_id: entry.batches for entry in kit.log.producers()} == before
