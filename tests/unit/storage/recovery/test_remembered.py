"""What the checkpoints of before say about what must be there."""

from __future__ import annotations

from pathlib import Path

import pytest
from oncelog.storage.upkeep.retention import delete_records
from support.flushed_when_told import DATA, sim
from support.storage_kit import Kit, offsets

pytestmark = pytest.mark.unit


def test_an_empty_watermark_checkpoint_tells_of_no_acknowledgement() -> None:
    """Kept by a power cut: the checkpoint without lines and the second segment, not the first one's data. In a compacted log that gap is
    no work of the cleaner."""
    kit, fs, _ = sim(1)
    kit.manager.alter_topic_configs("t", {"internal.segment.bytes": "2000", "cleanup.policy": "compact"})
    fs.write_atomic(DATA / "replication-offset-checkpoint", b"0\n0\n")
    sequence = 0
    while len(kit.log.segments) < 2:
        kit.append(sequence, pid=7, n=5)
        sequence += 5
    first = kit.log.segments[0].log_path
    fs.kill()
    fs.names[first].content.clear()  # type: ignore[union-attr]
    kit.start()
    assert kit.log.log_end_offset == 0
    assert kit.log.producers() == []


@pytest.mark.parametrize("deleted", [3, 9, 30])
def test_case_41_delete_records_before_its_checkpoint(tmp_path: Path, deleted: int) -> None:
    kit = Kit(tmp_path / "data")
    kit.create()
    for _ in range(60):
        kit.append()
    delete_records(kit.log, deleted)
    base = kit.log.segments[kit.log.segments.floor(deleted)].base_offset
    log = kit.kill_and_start()
    assert log.log_start_offset in (log.segments[0].base_offset, deleted)
    assert log.segments[0].base_offset <= base
    assert offsets(log) == list(range(log.log_start_offset, 60))
