"""What is wrong with a segment of an open log is put right beside the loop: who needs it waits, nobody else does, and nothing is lost."""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.records import iter_headers
from oncelog.storage.env import File
from oncelog.storage.log.log import Log
from oncelog.storage.log.mending import RETRY_MS
from oncelog.storage.log.reader import FetchData
from oncelog.storage.log.segment import Segment
from oncelog.storage.log.segment_draft import DRAFT, MOST_FIXES
from oncelog.storage.upkeep.retention import pass_old_segments, remove_passed_segments
from support.flushed_when_told import LaterFlusher, sim
from support.inline import delete_topic
from support.simfs import Died, SimFileSystem
from support.storage_kit import T0, Kit, offset_for_timestamp, offsets

pytestmark = pytest.mark.unit
SEALED, ACTIVE = 1, -1


def filled(seed: int = 1) -> tuple[Kit, SimFileSystem, LaterFlusher]:
    """Four segments with aborted and committed transactions, read by nobody since they were opened again."""
    kit, fs, flusher = sim(seed)
    number = 0
    while len(kit.log.segments) < 4 or kit.log.active_segment.size < 1500:
        kit.clock.now_ms += 1
        kit.append(n=2)
        kit.append(number, pid=7, txn=True)
        kit.append(number, pid=8)
        kit.mark(7, commit=number % 2 == 0)
        number += 1
        flusher.flush()
    kit.restart()
    return kit, fs, flusher


def hit(kit: Kit, slot: int, suffix: str, change: Callable[[File], None]) -> None:
    kit.manager.descriptors.close()
    file = kit.fs.open(kit.log.segments[slot].path(suffix), create=True)
    change(file)
    file.datasync()
    file.close()


def flip_batch(file: File) -> None:
    """The last byte of one without producer."""
    size = file.size()
    batches = [(position, header) for position, header in iter_headers(file.pread(size, 0)) if header.producer_id < 0]
    position, header = batches[len(batches) // 2]
    at = position + header.size_bytes - 1
    file.pwrite([bytes([file.pread(1, at)[0] ^ 1])], at)


def flip_marker(file: File) -> None:
    """Of the middle one of the commits or aborts."""
    size = file.size()
    markers = [position for position, header in iter_headers(file.pread(size, 0)) if header.is_control]
    at = markers[len(markers) // 2] + 70
    file.pwrite([bytes([file.pread(1, at)[0] ^ 1])], at)


def flip_middle(file: File) -> None:
    at = file.size() // 2
    file.pwrite([bytes([file.pread(1, at)[0] ^ 1])], at)


def zero(file: File) -> None:
    file.pwrite([bytes(file.size())], 0)


def halve(file: File) -> None:
    file.truncate(file.size() // 24 * 12)


def cut_log(file: File) -> None:
    file.truncate(file.size() // 2)


DAMAGES = {
    "flipped byte": (".log", flip_batch),
    "cut log": (".log", cut_log),
    "empty index": (".index", lambda file: file.truncate(0)),
    "zeroed index": (".index", zero),
    "flipped txn index": (".txnindex", flip_middle),
    "empty txn index": (".txnindex", lambda file: file.truncate(0)),
}
damages = pytest.mark.parametrize("damage", DAMAGES)
slots = pytest.mark.parametrize("slot", [SEALED, ACTIVE], ids=["sealed", "active"])


def strike(kit: Kit, damage: str, slot: int) -> Segment:
    suffix, change = DAMAGES[damage]
    hit(kit, slot, suffix, change)
    if suffix == ".txnindex":
        kit.fs.unlink(kit.folder / "oncelog.txnindexes")
    return kit.log.segments[slot]


def patient(log: Log, offset: int) -> FetchData:
    return log.reader.read(offset, 300, 1, True, 1 << 30, patient=True)


def blocked(log: Log, segment: Segment) -> int:
    """The first offset of `segment` that cannot be read yet."""
    return next(offset for offset in range(segment.base_offset, log.high_watermark) if not patient(log, offset).records)


def wait(log: Log, offset: int, flusher: LaterFlusher) -> None:
    """Until a patient reader, who looks again when he is told to, is given something."""
    changes: list[int] = []
    log.add_change_listener(lambda: changes.append(1))
    while not patient(log, offset).records:
        before = len(changes)
        flusher.flush()
        flusher.work_aside()
        assert before < len(changes) < 20, "nobody is told"
    flusher.close()


def drafts(fs: SimFileSystem) -> list[str]:
    return [name for name in fs.names if name.endswith(DRAFT)]


@damages
@slots
def test_who_needs_it_waits_and_nobody_else(damage: str, slot: int) -> None:
    kit, fs, flusher = filled()
    known = offsets(kit.log)
    kit.restart()
    log, segment = kit.log, strike(kit, damage, slot)
    if slot == ACTIVE and DAMAGES[damage][0] == ".index":  # it is in memory
        assert all(patient(log, offset).records for offset in range(segment.base_offset, log.high_watermark))
        return
    offset, end = blocked(log, segment), log.log_end_offset
    data = patient(log, offset)
    assert (data.high_watermark, data.last_stable_offset, data.aborted) == (end, end, [])
    kit.append(n=3)
    flusher.flush()
    assert log.high_watermark == end + 3, "appends go on"
    assert not patient(log, offset).records
    assert log.reader.read(end, 300, 0, True, 1 << 30, patient=True).records
    assert log.reader.read(0, 300, 0, True, 1 << 30, patient=True).records, "other segments are read"
    wait(log, offset, flusher)
    assert not drafts(fs)
    following = next((one.base_offset for one in log.segments if one.base_offset > segment.base_offset), end)
    lost = set(known) - set(offsets(log))
    assert all(segment.base_offset <= one < following for one in lost)
    assert bool(lost) == (DAMAGES[damage][0] == ".log")
    assert log.log_end_offset == end + 3
    seen = offsets(log), offsets(log, 1)
    kit.restart()
    assert (offsets(kit.log), offsets(kit.log, 1)) == seen


@pytest.mark.parametrize("damage", ["flipped marker", *(name for name in DAMAGES if name != "cut log")])
def test_it_is_said_in_one_line(caplog: pytest.LogCaptureFixture, damage: str) -> None:
    kit, _, flusher = filled()
    segment = kit.log.segments[SEALED]
    strike(kit, damage, SEALED) if damage in DAMAGES else hit(kit, SEALED, ".log", flip_marker)
    caplog.clear()
    for offset in range(segment.base_offset, kit.log.high_watermark):
        wait(kit.log, offset, flusher)
    assert len([record for record in caplog.records if record.levelname in ("WARNING", "ERROR")]) == 1


@pytest.mark.parametrize("kept", [0, 200])
def test_behind_a_lost_end_a_reader_comes_on(caplog: pytest.LogCaptureFixture, kept: int) -> None:
    """Nothing was written since, and no marker stood there; what is gone is told."""
    kit, _, flusher = filled()
    for _ in range(2):
        kit.append(n=2)
    flusher.flush()
    kit.restart()
    log, segment = kit.log, kit.log.active_segment
    hit(kit, ACTIVE, ".log", lambda file: file.truncate(kept))
    end, offset = log.log_end_offset, segment.base_offset
    while offset < end:
        wait(log, offset, flusher)
        offset = [header.next_offset for _, header in iter_headers(bytes(patient(log, offset).records))][-1]
    assert offset == end
    flusher.flush()
    assert len([record for record in caplog.records if "acknowledged data is missing" in record.getMessage()]) == 1
    kit.append(n=3)
    flusher.flush()
    seen = offsets(log)
    kit.restart()
    assert offsets(kit.log) == seen


@slots
def test_a_lookup_by_a_cut_time_index_is_told_to_come_again(slot: int) -> None:
    kit, _, flusher = filled()
    newest = max(header.max_timestamp for _, header in kit.log.segments[slot].headers())
    right = offset_for_timestamp(kit.log, newest)
    kit.restart()
    log = kit.log
    hit(kit, slot, ".timeindex", halve)
    if slot == ACTIVE:  # those are in memory
        assert offset_for_timestamp(log, newest) == right
        return
    with pytest.raises(KafkaError) as refused:
        offset_for_timestamp(log, newest)
    assert refused.value.code == ErrorCode.KAFKA_STORAGE_ERROR
    flusher.close()
    assert offset_for_timestamp(log, newest) == right


@pytest.mark.parametrize("meanwhile", ["retention", "deletion"])
def test_what_is_gone_meanwhile_does_not_come_back(meanwhile: str) -> None:
    kit, fs, flusher = filled()
    log, segment = kit.log, strike(kit, "flipped byte", 0)
    blocked(log, segment)
    assert flusher.set_aside
    if meanwhile == "retention":
        log.advance_log_start(log.segments[2].base_offset)
        pass_old_segments(log, T0)
        assert remove_passed_segments(log, T0) == 2
    else:
        delete_topic(kit.manager, "t")
        kit.create()
        kit.append(n=2)
    flusher.flush()
    files = {name for name in fs.names if name.startswith(str(kit.folder))}
    contents = [bytes(fs.names[name].content) for name in sorted(files) if name.endswith(".log")]  # type: ignore[union-attr]
    flusher.work_aside()
    assert {name for name in fs.names if name.startswith(str(kit.folder)) and "quarantine" not in name} == files
    assert [bytes(fs.names[name].content) for name in sorted(files) if name.endswith(".log")] == contents  # type: ignore[union-attr]


def test_a_segment_of_another_log_of_that_name_is_left_alone() -> None:
    """As above, and the other log has grown to have the same files."""
    kit, _, flusher = filled()
    blocked(kit.log, strike(kit, "flipped byte", 0))
    work, done = flusher.set_aside.pop()
    delete_topic(kit.manager, "t")
    kit.create()
    kit.append(n=30)
    flusher.flush()
    work()
    done()
    assert offsets(kit.log) == list(range(30))
    kit.restart()
    assert offsets(kit.log) == list(range(30))


@pytest.mark.parametrize("begun", [False, True])
def test_a_stop_gives_it_up(begun: bool) -> None:
    kit, fs, flusher = filled()
    log, segment = kit.log, strike(kit, "flipped byte", SEALED)
    offset = blocked(log, segment)
    if begun:
        flusher.set_aside[0][0]()
    kit.stop()
    assert not drafts(fs)
    kit.start()
    flusher.set_aside.clear()
    assert not patient(kit.log, offset).records, "it is found again"
    wait(kit.log, offset, flusher)


def test_death_in_the_middle() -> None:
    """At every change to the disk, with and without power."""
    finished, call = False, 0
    while not finished:
        call += 1
        kit, fs, flusher = filled(call)
        known = offsets(kit.log)
        segment = strike(kit, "flipped byte", SEALED)
        kit.restart()
        segment = kit.log.segments[SEALED]
        offset = blocked(kit.log, segment)
        fs.die(call)
        try:
            flusher.work_aside()
            flusher.flush()
            finished = True
        except Died:
            pass
        fs.crash() if call % 2 else fs.kill()
        flusher.set_aside.clear()
        flusher.wanted.clear()
        kit.manager.descriptors._open.clear()
        kit.manager._lock = None
        kit.start()
        assert not drafts(fs)
        found = offsets(kit.log)
        lost = set(known) - set(found)
        assert len(lost) == 2
        assert offset <= max(lost)
        assert call < 60
    assert call > 5


def test_what_could_not_be_mended_is_tried_again_later() -> None:
    kit, fs, flusher = filled()
    log, segment = kit.log, strike(kit, "flipped byte", SEALED)
    offset = blocked(log, segment)
    fs.fail(1, errno.ENOSPC, only=["pwrite"])
    flusher.work_aside()
    fs.fail(None)
    assert not drafts(fs)
    for _ in range(2):
        with pytest.raises(KafkaError) as refused:
            patient(log, offset)
        assert refused.value.code == ErrorCode.KAFKA_STORAGE_ERROR
    assert not flusher.set_aside
    kit.clock.now_ms += RETRY_MS
    wait(log, offset, flusher)


def test_retention_has_an_index_mended() -> None:
    kit, _, flusher = filled()
    hit(kit, 0, ".timeindex", halve)
    log = kit.log
    log.update_config(replace(log.config, retention_ms=1))
    kit.manager.chores.started()
    for _ in range(4):
        kit.clock.now_ms += 400_000
        kit.manager.maintenance(kit.clock.now_ms)
        flusher.close()
    assert log.log_start_offset == log.log_end_offset


def test_a_chain_of_fixes(tmp_path: Path) -> None:
    """Headers put right in place are read so before they are written; many of them are written as a new file."""
    for count in (2, MOST_FIXES + 2):
        kit = Kit(tmp_path / str(count))
        kit.create(internal_segment_bytes="1000000")
        for _ in range(2 * count + 20):
            kit.clock.now_ms += 1
            kit.append(n=2)
        kit.log.roll(T0)
        kit.append()
        kit.restart()
        segment = kit.log.segments[0]
        right = segment.read_at(0, segment.size)
        positions = [position for position, _ in segment.headers()][3 : 3 + 2 * count : 2]
        with Path(segment.log_path).open("r+b") as file:
            for position in positions:
                file.seek(position)
                file.write(bytes(8))  # the base offset
        assert offsets(kit.log) == list(range(2 * (2 * count + 20) + 1))
        assert Path(segment.log_path).read_bytes() == right


def test_a_segment_that_was_rolled_meanwhile_keeps_what_was_appended() -> None:
    """Its draft was begun while it was active, and is shorter."""
    kit, _, flusher = filled()
    known = offsets(kit.log)
    kit.restart()
    log, segment = kit.log, strike(kit, "empty txn index", ACTIVE)
    offset, end = blocked(log, segment), log.log_end_offset
    kit.manager.alter_topic_configs("t", {"internal.segment.bytes": "20000"})
    kit.append(n=3)
    log.roll(kit.clock.now_ms)
    flusher.flush()
    flusher.work_aside()
    wait(log, offset, flusher)
    assert offsets(log) == [*known, end, end + 1, end + 2]
    kit.kill_and_start()
    assert offsets(kit.log) == [*known, end, end + 1, end + 2]


@slots
def test_short_logs_have_their_aborted_transactions_compared_at_once(slot: int) -> None:
    kit, fs, flusher = filled()
    known = offsets(kit.log, 1)
    kit.restart()
    log, segment = kit.log, kit.log.segments[slot]
    fs.unlink(kit.folder / "oncelog.txnindexes")
    data = log.reader.read(segment.base_offset, 1 << 20, 1, True, 1 << 30, patient=True)
    assert data.records
    assert data.aborted
    assert offsets(log, 1) == known
    assert not flusher.set_aside
