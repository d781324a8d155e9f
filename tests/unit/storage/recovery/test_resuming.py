"""Behind a lost end a reader comes on: an empty batch stands for what is gone."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from oncelog.protocol.records import parse_header
from oncelog.storage.audit.verify import verify
from oncelog.storage.files.checkpoints import HIGH_WATERMARKS, RECOVERY_POINTS, write_offsets
from oncelog.storage.files.leader_epochs import LeaderEpochs
from oncelog.storage.log.segment import MAX_RELATIVE_OFFSET
from support.storage_kit import TP, Kit

pytestmark = pytest.mark.unit
both = pytest.mark.parametrize("clean", [True, False], ids=["clean", "killed"])
END = 80


def filled(path: Path, **configs: str) -> Kit:
    kit = Kit(path, flush_on_ack=False)
    kit.create(internal_segment_bytes="2000", **configs)
    for number in range(END):
        kit.append(number, pid=7)
    kit.manager.chores.write_checkpoints(everything=True)
    return kit


def walked(kit: Kit) -> list[tuple[int, int, int]]:
    """(base offset, next offset, count) of the batches that a reader is given, each asked for by the end of the one before."""
    found, offset = list[tuple[int, int, int]](), 0
    while offset < kit.log.high_watermark:
        header = parse_header(bytes(kit.log.read(offset, 1, isolation=0, min_one_message=True).records))
        found.append((header.base_offset, header.next_offset, header.records_count))
        offset = header.next_offset
    return found


@both
@pytest.mark.parametrize("policy", ["delete", "compact"])
@pytest.mark.parametrize("kept", [0.0, 0.5, -1], ids=["empty", "half", "no file"])
def test_a_reader_comes_to_the_end(tmp_path: Path, caplog: pytest.LogCaptureFixture, kept: float, policy: str, clean: bool) -> None:
    kit = filled(tmp_path, cleanup_policy=policy)
    kit.stop() if clean else kit.kill()
    newest = max(kit.folder.glob("*.log"))
    if kept < 0:
        for path in kit.folder.glob(f"{newest.stem}.*"):
            path.unlink()
    else:
        newest.write_bytes(newest.read_bytes()[: int(newest.stat().st_size * kept)])
    kit.start()
    seen = walked(kit)
    assert seen[-1][1] == kit.log.log_end_offset == END
    assert [one[2] for one in seen] == [1] * (len(seen) - 1) + [0]
    assert all(before[1] == after[0] for before, after in pairwise(seen))
    assert [one.message for one in verify(tmp_path).errors if "an empty batch stands for" in one.message]
    kit.append(0, pid=8)
    for end in (kit.kill, kit.stop):
        end()
        caplog.clear()
        kit.start()
        assert not [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")]
        assert walked(kit) == [*seen, (END, END + 1, 1)]
        assert kit.append(0, pid=8).duplicate


def test_the_leader_epoch_goes_on(tmp_path: Path) -> None:
    kit = filled(tmp_path)
    kit.log.leader_epoch = 5
    kit.append(END, pid=7)
    kit.append(END + 1, pid=7)
    kit.stop()
    newest = max(kit.folder.glob("*.log"))
    newest.write_bytes(newest.read_bytes()[:-20])
    kit.start()
    assert [entry[0] for entry in LeaderEpochs(kit.fs, kit.folder).entries or kit.log.epochs.entries] == [0, 5]
    segment = kit.log.active_segment
    assert parse_header(segment.read_at(0, 61)).partition_leader_epoch == 5
    assert not [one for one in verify(tmp_path).errors if "leader epoch" in one.message]


def test_more_than_a_batch_can_stand_for_stays_a_gap(tmp_path: Path) -> None:
    kit = filled(tmp_path)
    kit.stop()
    end = END + MAX_RELATIVE_OFFSET + 2
    for name in (HIGH_WATERMARKS, RECOVERY_POINTS):
        write_offsets(kit.fs, tmp_path / name, {TP: end})
    kit.start()
    assert kit.log.log_end_offset == end
    assert kit.append().base_offset == end


def test_compaction_leaves_a_log_that_can_be_read(tmp_path: Path) -> None:
    kit = filled(tmp_path, cleanup_policy="compact", min_cleanable_dirty_ratio="0.01")
    kit.stop()
    newest = max(kit.folder.glob("*.log"))
    newest.write_bytes(newest.read_bytes()[:500])
    kit.start()
    kit.append(END, pid=7)
    kit.log.roll(kit.clock.now_ms)
    kit.append(END + 1, pid=7)
    for _ in range(8):
        kit.clock.now_ms += 16_000
        kit.manager.maintenance(kit.clock.now_ms)
    assert walked(kit)[-1][1] == END + 2
    kit.restart()
    assert walked(kit)[-1][1] == END + 2
