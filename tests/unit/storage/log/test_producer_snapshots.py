"""Snapshots of producers that are damaged or gone."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.damaged_partition import both, filled, spoilt, state, stop

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
