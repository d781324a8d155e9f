"""Damage to one partition, after an orderly stop and after a kill.

Nothing acknowledged is lost where it can be saved, nothing aborted is shown.

Names follow the cases of the storage specification and the rows of its table of damages.
"""

from __future__ import annotations

import logging
import shutil
import struct
from pathlib import Path

import pytest
from oncelog.protocol.records import build_batch
from oncelog.storage.env import File, OsFileSystem
from oncelog.storage.files.checkpoints import CLEAN_MARKER
from oncelog.storage.upkeep.retention import delete_records
from support.damaged_partition import both, damage, filled, logs, spoilt, state, stop, which
from support.simfs import Died, SimFileSystem
from support.storage_kit import T0, TP, Kit, offset_for_timestamp, offsets

pytestmark = pytest.mark.unit


spoil = pytest.mark.parametrize("how", ["missing", "garbage", "odd", "empty", "zeros"])


@both
@which
@spoil
def test_case_50_index_missing_or_garbage(tmp_path: Path, clean: bool, slot: int, how: str) -> None:
    kit = filled(tmp_path)
    before = state(kit.log)
    stop(kit, clean)
    spoilt(logs(kit)[slot].with_suffix(".index"), how)
    kit.start()
    assert state(kit.log) == before


@both
@which
@spoil
def test_case_51_timeindex_missing_or_garbage(tmp_path: Path, clean: bool, slot: int, how: str) -> None:
    kit = filled(tmp_path)
    before, newest = state(kit.log), offset_for_timestamp(kit.log, -3, 0)
    stop(kit, clean)
    spoilt(logs(kit)[slot].with_suffix(".timeindex"), how)
    kit.start()
    assert state(kit.log) == before
    assert offset_for_timestamp(kit.log, -3, 0) == newest
    assert offset_for_timestamp(kit.log, kit.clock.now_ms, 0)[0] == 0


@both
@which
@pytest.mark.parametrize("how", ["missing", "garbage", "odd", "empty", "first offset"])
def test_case_52_txnindex_damaged_never_shows_aborted_records(tmp_path: Path, clean: bool, slot: int, how: str) -> None:
    kit = filled(tmp_path)
    before = state(kit.log)
    stop(kit, clean)
    paths = sorted(kit.folder.glob("*.txnindex"))
    if how == "first offset":
        damage(paths[slot], lambda data: data.__setitem__(slice(10, 18), struct.pack(">q", struct.unpack(">q", data[10:18])[0] + 1)))
    else:
        spoilt(paths[slot], how)
    kit.start()
    assert state(kit.log) == before


@both
@pytest.mark.parametrize(
    "name",
    ["recovery-point-offset-checkpoint", "replication-offset-checkpoint", "log-start-offset-checkpoint", "cleaner-offset-checkpoint"],
)
@pytest.mark.parametrize("content", [b"garbage", b"7\n0\n", b"0\n9\nt 0 1\n", b"0\n1\nt 0 x\n", b""])
def test_case_56_checkpoint_damaged_counts_as_absent(tmp_path: Path, clean: bool, name: str, content: bytes) -> None:
    kit = filled(tmp_path)
    before = state(kit.log)
    stop(kit, clean)
    (kit.data_dir / name).write_bytes(content)
    kit.start()
    assert state(kit.log) == before


@both
@pytest.mark.parametrize("content", [b"garbage", b"", None, b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ"])
def test_partition_metadata_damaged_never_hides_data(tmp_path: Path, clean: bool, content: bytes | None) -> None:
    kit = filled(tmp_path)
    before, topic_id = state(kit.log), kit.log.topic_id
    stop(kit, clean)
    path = kit.folder / "partition.metadata"
    path.unlink() if content is None else path.write_bytes(content)
    kit.start()
    assert state(kit.log) == before
    assert kit.log.topic_id == topic_id


@both
def test_case_57_log_start_beyond_the_end_is_refused(tmp_path: Path, clean: bool) -> None:
    kit = filled(tmp_path)
    before = state(kit.log)
    stop(kit, clean)
    (kit.data_dir / "log-start-offset-checkpoint").write_text("0\n1\nt 0 5000\n")
    kit.start()
    assert state(kit.log) == before


@both
def test_case_57_log_start_mid_segment(tmp_path: Path, clean: bool) -> None:
    kit = filled(tmp_path)
    delete_records(kit.log, 9)
    stop(kit, clean)
    kit.start()
    assert kit.log.log_start_offset == 9
    assert offsets(kit.log)[0] == 9


@both
def test_case_58_middle_segment_missing_is_reported(tmp_path: Path, clean: bool, caplog: pytest.LogCaptureFixture) -> None:
    kit = filled(tmp_path)
    before = offsets(kit.log)
    stop(kit, clean)
    logs(kit)[1].unlink()
    with caplog.at_level(logging.WARNING):
        kit.start()
    assert "data is missing" in caplog.text
    assert offsets(kit.log)[-1] == before[-1]


@both
def test_active_segment_missing_is_reported_and_offsets_are_not_reused(
    tmp_path: Path, clean: bool, caplog: pytest.LogCaptureFixture
) -> None:
    kit = filled(tmp_path)
    end = kit.log.log_end_offset
    stop(kit, clean)
    logs(kit)[-1].unlink()
    with caplog.at_level(logging.ERROR):
        kit.start()
    assert "data is missing" in caplog.text
    assert kit.append().base_offset == end


def test_partition_folder_missing_is_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:

    kit = filled(tmp_path)
    end = kit.log.log_end_offset
    stop(kit, clean=True)
    shutil.rmtree(kit.folder)
    kit.start()
    assert "partition folder is missing" in caplog.text
    assert f"data is missing partition=t-0 offsets=0..{end - 1}" in caplog.text
    assert kit.append().base_offset == end


def test_case_73_foreign_folders_and_files_are_skipped(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    kit = filled(tmp_path)
    before = state(kit.log)
    stop(kit, clean=True)
    for name in ("x", "lost+found", "my-dir-7"):
        (kit.data_dir / name).mkdir()
    (kit.folder / "x.log").write_bytes(b"?")
    (kit.folder / "x.snapshot").write_bytes(b"?")
    kit.start()
    assert state(kit.log) == before
    assert (kit.data_dir / "my-dir-7").is_dir()


def test_case_39_kill_in_the_middle_of_loading(tmp_path: Path) -> None:
    """At every change that a start makes to the disk; the clean marker is the first thing to go, so the next start trusts nothing."""
    finished, call = False, 0
    while not finished:
        call += 1
        fs = SimFileSystem(call, now_ms=lambda: T0)
        kit = Kit(Path("/data"), fs)
        kit.create()
        for sequence in range(40):
            kit.append(sequence, pid=7)
        kit.append(0, pid=8, txn=True)
        kit.stop()
        fs.die(call)
        try:
            kit.start()
            finished = True
        except Died:
            pass
        if call > 1 and not finished:
            assert not fs.exists(Path("/data") / CLEAN_MARKER) or call <= 2
        fs.kill()
        kit.manager.descriptors._open.clear()
        kit.manager._lock = None
        kit.start()
        assert offsets(kit.log) == list(range(41))
        assert kit.log.last_stable_offset == 40
        assert kit.log.state.get(7).last_sequence == 39  # type: ignore[union-attr]
        assert call < 60


# --- 74


class ReadCounting(OsFileSystem):
    """Counts the bytes that are read from `.log` files."""

    def __init__(self) -> None:
        self.read_bytes: dict[str, int] = {}

    def open(self, path: Path, *, create: bool = False, writable: bool = True) -> File:  # type: ignore[override]
        return _Counted(super().open(path, create=create, writable=writable), self.read_bytes, str(path))  # type: ignore[return-value]


class _Counted:
    def __init__(self, file: File, counts: dict[str, int], path: str) -> None:
        self._file, self._counts, self._path = file, counts, path

    def __getattr__(self, name: str) -> object:
        return getattr(self._file, name)

    def pread(self, size: int, offset: int) -> bytes:
        data = self._file.pread(size, offset)
        if self._path.endswith(".log"):
            self._counts[self._path] = self._counts.get(self._path, 0) + len(data)
        return data


@both
def test_case_74_a_start_reads_the_ends_of_logs_only(tmp_path: Path, clean: bool) -> None:
    kit = Kit(tmp_path / "data", flush_on_ack=False)
    kit.manager.create_topic("t", 1, {"internal.segment.bytes": "1000000", "index.interval.bytes": "4096"})
    log = kit.manager.log(TP)
    assert log is not None
    value = b"v" * 1000
    while len(log.segments) < 3:
        log.append(build_batch([(T0, None, value)] * 4), T0)
    for _ in range(200):
        log.append(build_batch([(T0, None, value)] * 4), T0)
    log.flush()
    kit.manager.chores.write_checkpoints(everything=True)
    kit.stop() if clean else kit.kill()
    fs = ReadCounting()
    reader = Kit(tmp_path / "data", fs)
    sizes = {segment.log_path: segment.size for segment in reader.log.segments}
    active = reader.log.active_segment.log_path
    for path, size in sizes.items():
        if path != active or clean:
            assert fs.read_bytes.get(path, 0) < 80_000 < size, path


@both
def test_what_was_lost_is_known_as_acknowledged_or_as_a_torn_write(tmp_path: Path, clean: bool) -> None:
    kit = filled(tmp_path)
    stop(kit, clean)
    kit.start()
    assert not kit.log.segments.damaged
    kit.manager.chores.write_checkpoints(everything=True)
    kit.append()  # behind the checkpoints of a killed process
    kit.stop() if clean else kit.kill()
    damage(logs(kit)[-1], lambda data: data.__delitem__(slice(len(data) - 10, None)))
    kit.start()
    assert (kit.log.segments.damaged, kit.log.segments.lost_acknowledged) == (True, clean)
    stop(kit, clean)
    logs(kit)[1].unlink()
    kit.start()
    assert kit.log.segments.lost_acknowledged
