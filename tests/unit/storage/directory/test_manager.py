"""The data directory as a whole: one process at a time, deleted topics, an orderly stop."""

from __future__ import annotations

from pathlib import Path

import pytest
from oncelog.storage.files.checkpoints import CLEAN_MARKER
from support.flushed_when_told import sim
from support.inline import delete_topic
from support.simfs import Died, SimFileSystem
from support.storage_kit import T0, Kit, offsets

pytestmark = pytest.mark.unit


def test_case_72_second_process_is_refused() -> None:
    kit, _, _ = sim(5)
    with pytest.raises(BlockingIOError, match="in use by another process"):
        kit.start()


def test_case_42_deleted_topic_stays_deleted(tmp_path: Path) -> None:
    kit = Kit(tmp_path / "data")
    kit.create()
    kit.append()
    gone: list[str] = []
    kit.manager.on_topic_deleted.append(gone.append)
    delete_topic(kit.manager, "t")
    assert gone == ["t"]
    assert next(path.name for path in kit.data_dir.glob("t-*")).endswith("-delete")
    kit.kill()
    kit.start()
    assert kit.manager.topics.get("t") is None
    kit.manager.maintenance(kit.clock.now_ms)
    assert not list(kit.data_dir.glob("t-*"))
    kit.create()
    assert offsets(kit.log) == []


def test_case_40_the_clean_marker_is_written_last() -> None:
    """The power fails at every change that a stop makes: where the marker is, everything that it vouches for is."""
    vouched, finished, call = 0, False, 0
    while not finished:
        call += 1
        fs = SimFileSystem(call, now_ms=lambda: T0)
        kit = Kit(Path("/data"), fs, flush_on_ack=False)
        kit.create()
        for sequence in range(40):
            kit.append(sequence, pid=7)
        fs.die(call)
        try:
            kit.stop()
            finished = True
        except Died:
            pass
        fs.crash()
        kit.manager.descriptors._open.clear()
        kit.manager._lock = None
        vouched += marked if (marked := fs.exists(Path("/data") / CLEAN_MARKER)) else 0
        kit.start()
        if marked:
            assert offsets(kit.log) == list(range(40)), call
            assert kit.log.state.get(7).last_sequence == 39  # type: ignore[union-attr]
        assert call < 80
    assert vouched
