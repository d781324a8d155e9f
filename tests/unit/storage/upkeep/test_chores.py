"""Retention and cleaning, driven by the log manager's maintenance as the broker drives it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

import pytest
from oncelog.protocol.records import iter_headers, iter_records
from oncelog.storage.files.checkpoints import read_offsets
from support.flushed_when_told import DATA, sim
from support.simfs import SimFileSystem
from support.storage_kit import T0, TP, Kit, offsets

pytestmark = pytest.mark.unit


HOUR_MS = 3_600_000


def maintain(kit: Kit, turns: int = 200) -> None:
    for _ in range(turns):
        kit.clock.now_ms += 31_000
        kit.manager.maintenance(kit.clock.now_ms)


def test_case_63_retention_bytes(tmp_path: Path) -> None:
    kit = Kit(tmp_path / "data", flush_on_ack=False)
    kit.create(retention_bytes="5000")
    for _ in range(100):
        kit.append()
    maintain(kit)
    log = kit.log
    assert log.log_start_offset > 0
    assert 5000 <= log.size_bytes() < 7000
    assert offsets(log) == list(range(log.log_start_offset, 100))
    assert kit.restart().log_start_offset == log.log_start_offset


def test_old_records_go_and_the_active_segment_is_rolled_first(tmp_path: Path) -> None:
    kit = Kit(tmp_path / "data", flush_on_ack=False)
    kit.create(retention_ms=str(HOUR_MS))
    kit.append(5, pid=7)
    kit.clock.now_ms += 2 * HOUR_MS
    maintain(kit)
    assert (kit.log.log_start_offset, kit.log.log_end_offset) == (1, 1)
    log = kit.restart()
    assert (log.log_start_offset, log.log_end_offset) == (1, 1)
    assert kit.append(5, pid=7).duplicate  # the state outlives the records
    assert not list(kit.folder.glob("*.deleted"))


@pytest.mark.parametrize(("interval_ms", "waited_s"), [(2_000, 4), (600_000, 630)])
def test_segments_are_looked_for_at_the_interval_asked_for(tmp_path: Path, interval_ms: int, waited_s: int) -> None:
    """`log.retention.check.interval.ms`: the first look comes no later than that, nor than half a minute after the start."""
    kit = Kit(tmp_path / "data", flush_on_ack=False, retention_check_interval_ms=interval_ms)
    kit.create(retention_ms="1000")
    for _ in range(31):
        kit.clock.now_ms += 1_000
        kit.manager.maintenance(kit.clock.now_ms)
    kit.append(5)
    start_ms = kit.clock.now_ms
    while kit.log.log_start_offset == 0 and kit.clock.now_ms < start_ms + 1_000_000:
        kit.clock.now_ms += 1_000
        kit.manager.maintenance(kit.clock.now_ms)
    assert waited_s - 40 <= (kit.clock.now_ms - start_ms) // 1_000 <= waited_s


def test_cases_65_66_compaction_keeps_the_newest_and_hides_the_aborted(tmp_path: Path) -> None:
    kit = Kit(tmp_path / "data", flush_on_ack=False)
    kit.create(cleanup_policy="compact", min_cleanable_dirty_ratio="0.01")
    for number in range(40):
        kit.append(n=3)
        kit.append(number, pid=7, txn=True)
    kit.mark(7, False)
    for _ in range(20):
        kit.append(n=3)
    end, size = kit.log.log_end_offset, kit.log.size_bytes()
    maintain(kit)
    assert kit.log.size_bytes() < size / 2
    assert kit.log.log_end_offset == end
    for opened in (lambda: kit.log, kit.restart, kit.kill_and_start):
        log = opened()
        seen = offsets(log, 1)
        assert seen[-1] == end - 1
        assert log.state.get(7).last_sequence == 39  # type: ignore[union-attr]
        data = bytes(log.read(log.log_start_offset, 1 << 20, isolation=0, min_one_message=True).records)
        for position, header in iter_headers(data):
            assert len(list(iter_records(data[position : position + header.size_bytes]))) == header.records_count


def test_checkpoints_are_written_when_something_changed() -> None:
    """By a worker, whose failure has them written again; an idle broker writes nothing."""
    fs = SimFileSystem()
    kit = Kit(Path("/data"), fs)
    kit.create()
    written: list[BaseException | None] = []

    def offload(job: Callable[[], None]) -> Future[None]:
        ended: Future[None] = Future()
        try:
            job()
        except OSError as error:
            ended.set_exception(error)
        else:
            ended.set_result(None)
        written.append(ended.exception())
        return ended

    kit.manager.chores._offload = offload

    def after(seconds: int) -> list[BaseException | None]:
        written.clear()
        for _ in range(seconds):
            kit.clock.now_ms += 1_000
            kit.manager.maintenance(kit.clock.now_ms)
        return written

    kit.append()
    assert after(70)
    assert after(600) == []
    kit.append()
    assert len(after(10)) == 1
    kit.append()
    fs.fail(1, only=["rename"])
    failed, *again = after(90)
    assert isinstance(failed, OSError)
    assert again
    assert set(again) == {None}
    assert after(600) == []
    assert read_offsets(fs, Path("/data/replication-offset-checkpoint")) == {TP: 3}


def test_a_sealed_segment_is_not_read_again_after_a_kill() -> None:
    """The recovery point reaches the disk with the next piece of upkeep, not a minute later."""
    kit, _, flusher = sim(1)
    while len(kit.log.segments) < 4:
        kit.append(n=5)
    flusher.flush()
    kit.manager.maintenance(T0)
    assert read_offsets(kit.fs, DATA / "recovery-point-offset-checkpoint") == {TP: kit.log.log_end_offset}
