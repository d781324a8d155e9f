"""A leader epoch checkpoint that is damaged or gone."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.damaged_partition import both, filled, stop

pytestmark = pytest.mark.unit


@both
@pytest.mark.parametrize("content", [b"garbage", b"0\n5\n0 0\n", b"", None], ids=["garbage", "count", "empty", "missing"])
def test_case_55_leader_epochs_rebuilt(tmp_path: Path, clean: bool, content: bytes | None) -> None:
    kit = filled(tmp_path)
    before = kit.log.epochs.entries
    stop(kit, clean)
    path = kit.folder / "leader-epoch-checkpoint"
    path.unlink() if content is None else path.write_bytes(content)
    kit.start()
    assert kit.log.epochs.entries == before == [(0, 0)]
