"""Which producers are remembered."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.damaged_partition import both, filled, stop
from support.storage_kit import Kit

pytestmark = pytest.mark.unit


def test_case_62_idle_producers_are_forgotten_by_arrival(tmp_path: Path) -> None:
    kit = Kit(tmp_path / "data", producer_id_expiration_ms=1000)
    kit.create()
    kit.append(5, pid=5)
    kit.append(5, pid=6, txn=True)
    kit.clock.now_ms += 1000
    log = kit.restart()
    assert [entry.producer_id for entry in log.producers()] == [6]
    assert kit.append(99, pid=5).base_offset == 2


@both
def test_case_59_five_batches_deduplicate_after_restart(tmp_path: Path, clean: bool) -> None:
    kit = filled(tmp_path)
    first = [kit.log.state.get(10).batches[n].last_offset for n in range(5)]  # type: ignore[union-attr]
    stop(kit, clean)
    kit.start()
    retried = [kit.append(number, pid=10) for number in range(20, 25)]
    assert [info.base_offset for info in retried] == first
    assert all(info.duplicate for info in retried)
