"""Damage to one partition, after an orderly stop and after a kill.

Nothing acknowledged is lost where it can be saved, nothing aborted is shown.

Names follow the cases of the storage specification and the rows of its table of damages.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from oncelog.protocol.records import iter_headers
from oncelog.storage.log.log import Log
from oncelog.storage.upkeep.retention import delete_records
from support.storage_kit import Kit, offset_for_timestamp, offsets

pytestmark = pytest.mark.unit


def filled(tmp_path: Path) -> Kit:
    """Three segments or more: plain batches, five of an idempotent producer, committed, aborted and one open transaction."""
    kit = Kit(tmp_path / "data", flush_on_ack=False)
    kit.create()
    for number in range(20):
        kit.append(n=2)
        kit.append(number, pid=10)
        kit.append(number, pid=11, txn=True)
        kit.append(n=1)
        kit.mark(11, commit=number % 3 != 0)
    kit.append(0, pid=12, txn=True)
    for number in range(20, 25):
        kit.append(number, pid=10)
    assert len(kit.log.segments) >= 3
    return kit


def state(log: Log) -> object:
    return (
        log.log_start_offset,
        log.log_end_offset,
        log.last_stable_offset,
        offsets(log, 0),
        offsets(log, 1),
        {entry._replace(arrival_ms=0) for entry in log.producers()},
    )


def stop(kit: Kit, clean: bool) -> None:
    kit.manager._upkeep.write_checkpoints(everything=True)
    if clean:
        kit.stop()
    else:
        kit.kill()


def logs(kit: Kit) -> list[Path]:
    return sorted(kit.folder.glob("*.log"))


def batches(path: Path) -> list[tuple[int, int, int]]:
    """(position, size, base offset)"""
    return [(position, header.size_bytes, header.base_offset) for position, header in iter_headers(path.read_bytes())]


def damage(path: Path, change: Callable[[bytearray], None]) -> None:
    data = bytearray(path.read_bytes())
    change(data)
    path.write_bytes(bytes(data))


both = pytest.mark.parametrize("clean", [True, False], ids=["clean", "unclean"])
which = pytest.mark.parametrize("slot", [0, 1, -1], ids=["oldest", "middle", "active"])
spoil = pytest.mark.parametrize("how", ["missing", "garbage", "odd", "empty", "zeros"])


def spoilt(path: Path, how: str) -> None:
    if not path.exists():
        return
    if how == "missing":
        path.unlink()
        return
    content = {"garbage": bytes(range(7, 127)) * 2, "odd": path.read_bytes() + b"abc", "empty": b"", "zeros": bytes(240)}
    path.write_bytes(content[how])


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


@pytest.mark.parametrize("tail", [b"\x01" * 10, bytes(64), bytes(range(200))], ids=["10 B", "64 zeros", "200 random"])
@both
def test_case_45_bytes_behind_the_end_are_cut(tmp_path: Path, clean: bool, tail: bytes) -> None:
    kit = filled(tmp_path)
    before = state(kit.log)
    stop(kit, clean)
    damage(logs(kit)[-1], lambda data: data.extend(tail))
    kit.start()
    assert state(kit.log) == before
    info = kit.append()
    assert info.base_offset in offsets(kit.log)


@both
def test_case_30_torn_at_each_byte(tmp_path: Path, clean: bool) -> None:
    kit = Kit(tmp_path / "data")
    kit.create()
    for _ in range(3):
        kit.append(n=2)
    stop(kit, clean)
    path = logs(kit)[-1]
    content = path.read_bytes()
    position, size, base = batches(path)[-1]
    marker = tmp_path / "data" / ".kafka_cleanshutdown"
    for kept in range(7, size, 7):
        path.write_bytes(content[: position + kept])
        path.with_suffix(".index").unlink(missing_ok=True)
        if clean:
            marker.write_bytes(b"")
        kit.start()
        assert kit.append().base_offset == 6, kept  # the checkpoints tell that 4 and 5 were acknowledged
        assert offsets(kit.log) == [*range(base), 6]
        kit.kill()
        for added in logs(kit)[1:]:
            added.unlink()


@both
@which
def test_case_46_bit_flip_is_quarantined_and_what_is_above_is_served(
    tmp_path: Path, clean: bool, slot: int, caplog: pytest.LogCaptureFixture
) -> None:
    kit = filled(tmp_path)
    before = offsets(kit.log)
    end = kit.log.log_end_offset
    stop(kit, clean)
    if not clean:
        (kit.data_dir / "recovery-point-offset-checkpoint").write_text("0\n0\n")
    path = logs(kit)[slot]
    position, size, base = batches(path)[0]
    damage(path, lambda data: data.__setitem__(position + 80, data[position + 80] ^ 4))
    with caplog.at_level(logging.ERROR):
        kit.start()
        seen = offsets(kit.log)  # after an orderly stop only tails are checked: then the first reader finds it
    lost = set(before) - set(seen)
    assert kit.log.log_end_offset == end
    assert lost
    assert min(lost) == base
    assert len(lost) <= 2
    kept = list(kit.folder.glob("quarantine-*"))
    assert len(kept) == 1
    assert kept[0].stat().st_size == size
    assert sum("damaged batches taken out" in line.getMessage() for line in caplog.records) == 1
    assert kit.append().base_offset == end
    kit.restart()
    assert offsets(kit.log) == [*seen, end]


@pytest.mark.parametrize(
    ("at", "form", "value"),
    [(0, ">q", 1 << 40), (0, ">q", 3), (12, ">i", 9), (16, ">b", 3), (16, ">b", 1), (8, ">i", -5), (8, ">i", 2**31 - 1)],
    ids=["offset far", "offset low", "leader epoch", "magic 3", "magic 1", "length -5", "length max"],
)
@which
@both
def test_case_48_fields_outside_the_crc_are_mended(tmp_path: Path, clean: bool, slot: int, at: int, form: str, value: int) -> None:
    kit = filled(tmp_path)
    before = state(kit.log)
    stop(kit, clean)
    if not clean:
        (kit.data_dir / "recovery-point-offset-checkpoint").write_text("0\n0\n")
    path = logs(kit)[slot]
    position = batches(path)[2][0]
    damage(path, lambda data: data.__setitem__(slice(position + at, position + at + struct.calcsize(form)), struct.pack(form, value)))
    kit.start()
    assert state(kit.log) == before


@pytest.mark.parametrize("times", [1, 12])
@both
def test_case_49_last_batch_duplicated(tmp_path: Path, times: int, clean: bool) -> None:
    kit = filled(tmp_path)
    before = state(kit.log)
    stop(kit, clean)
    path = logs(kit)[-1]
    position, size, _ = batches(path)[-1]
    damage(path, lambda data: data.extend(data[position : position + size] * times))
    kit.start()
    assert state(kit.log) == before


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
    import shutil

    kit = filled(tmp_path)
    end = kit.log.log_end_offset
    stop(kit, clean=True)
    shutil.rmtree(kit.folder)
    kit.start()
    assert "partition folder is missing" in caplog.text
    assert f"data is missing partition=t-0 offsets=0..{end - 1}" in caplog.text
    assert kit.append().base_offset == end


@both
def test_case_59_five_batches_deduplicate_after_restart(tmp_path: Path, clean: bool) -> None:
    kit = filled(tmp_path)
    first = [kit.log.state.get(10).batches[n].last_offset for n in range(5)]  # type: ignore[union-attr]
    stop(kit, clean)
    kit.start()
    retried = [kit.append(number, pid=10) for number in range(20, 25)]
    assert [info.base_offset for info in retried] == first
    assert all(info.duplicate for info in retried)


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
