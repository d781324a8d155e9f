"""Cases of the storage specification that need more than one room of it: crash points by name, and what many small files cost."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.records import build_batch
from oncelog.storage.config import LogConfig
from oncelog.storage.directory.manager import LogManager
from oncelog.storage.env import File, OsFileSystem, system_env
from oncelog.storage.files.checkpoints import CLEAN_MARKER
from oncelog.storage.log.flush import InlineFlusher
from oncelog.storage.log.segment import Segment
from oncelog.storage.upkeep.retention import delete_records
from support.golden_storage import unpack
from support.simfs import Died, SimFileSystem
from support.storage_kit import T0, TP, Kit, offsets

pytestmark = pytest.mark.unit
both = pytest.mark.parametrize("clean", [True, False], ids=["clean", "unclean"])


class PowerCut(BaseException):
    """Not an error that anybody may handle."""


@pytest.fixture(autouse=True)
def quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Power fails on the simulated disk only; the real one need not be waited for."""
    for call in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, call, lambda fd: None)


def again(kit: Kit, clean: bool) -> None:
    if clean:
        kit.restart()
    else:
        kit.kill_and_start()


def test_case_22_ten_thousand_batches_rebuild_to_the_same_indexes(tmp_path: Path) -> None:
    kit = Kit(tmp_path / "data", flush_on_ack=False)
    log = kit.create(internal_segment_bytes="400000", index_interval_bytes="4096")
    chance = random.Random(22)
    for _ in range(10_000):
        kit.clock.now_ms += chance.randrange(3)
        late = kit.clock.now_ms - chance.choice((0, 0, 0, 5000))
        log.append(build_batch([(late, None, b"v" * chance.randrange(250))] * chance.randrange(1, 4)), kit.clock.now_ms)
    kit.stop()
    written = {path: path.read_bytes() for path in kit.folder.iterdir() if path.suffix in (".index", ".timeindex")}
    assert len(written) > 8
    for path in written:
        path.unlink()
    kit.start()
    for segment in kit.log.segments:
        segment.rebuild_indexes("test")
    assert {path: path.read_bytes() for path in written} == written


def test_case_31_marker_written_but_not_its_index_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kit = Kit(tmp_path / "data")
    kit.create()
    kit.append(n=2)
    kit.append(0, pid=7, txn=True)
    kit.append(n=1)

    def cut(*_: object) -> None:
        raise PowerCut

    with monkeypatch.context() as patch:
        patch.setattr(Segment, "append_aborted", cut)
        with pytest.raises(PowerCut):
            kit.mark(7, commit=False)
    log = kit.kill_and_start()
    assert log.last_stable_offset == log.log_end_offset == 5
    assert offsets(log, 1) == [0, 1, 3]
    assert offsets(log, 0) == [0, 1, 2, 3]
    assert [(entry.producer_id, entry.first_offset) for entry in log.read(0, 999, isolation=1, min_one_message=True).aborted or []] == [
        (7, 2)
    ]


# --- 34-37: kills among the renames of a swap


@pytest.fixture
def swapped(tmp_path: Path) -> tuple[Kit, list[int], dict[str, bytes], list[Path]]:
    """A compacted log before its cleaning, the offsets after it, the cleaned files, and the files that they replace."""
    kit = Kit(tmp_path / "data", flush_on_ack=False)
    kit.create(cleanup_policy="compact", min_cleanable_dirty_ratio="0.01")
    kit.log.append(build_batch([(T0, b"only here", b"v")]), T0)
    for _ in range(60):
        kit.append(n=3)
    kit.stop()
    twin = Kit(Path(shutil.copytree(tmp_path / "data", tmp_path / "twin")), flush_on_ack=False)
    for _ in range(40):
        twin.clock.now_ms += 31_000
        twin.manager.maintenance(twin.clock.now_ms)
    after = offsets(twin.log)
    assert after[0] == 0
    assert len(after) < 180
    end_of_first = twin.log.segments[1].base_offset
    twin.stop()
    cleaned = {path.name: path.read_bytes() for path in twin.folder.glob(f"{0:020d}.*") if path.suffix in (".log", ".index", ".timeindex")}
    replaced = [
        path for path in sorted(kit.folder.iterdir()) if path.suffix in (".log", ".index", ".timeindex") and int(path.stem) < end_of_first
    ]
    assert len(replaced) == len(cleaned) == 3
    return kit, after, cleaned, replaced


def leftovers(kit: Kit) -> list[str]:
    return [path.name for path in kit.folder.iterdir() if path.name.endswith((".swap", ".cleaned", ".deleted", ".tmp"))]


@both
def test_case_34_kill_between_two_swap_renames_keeps_the_originals(
    swapped: tuple[Kit, list[int], dict[str, bytes], list[Path]], clean: bool
) -> None:
    kit = swapped[0]
    logs = sorted(kit.folder.glob("*.log"))
    logs[0].with_name(logs[0].name + ".cleaned").write_bytes(b"half of something")
    logs[1].with_name(logs[1].name + ".swap").write_bytes(logs[1].read_bytes())
    before = {path: path.read_bytes() for path in logs}
    if not clean:
        (kit.data_dir / CLEAN_MARKER).unlink()
    kit.start()
    assert leftovers(kit) == []
    assert {path: path.read_bytes() for path in logs} == before
    assert offsets(kit.log) == list(range(181))


@both
@pytest.mark.parametrize("case", [35, 36, 37])
def test_cases_35_36_37_kill_after_the_offer_finishes_the_swap(
    swapped: tuple[Kit, list[int], dict[str, bytes], list[Path]], clean: bool, case: int
) -> None:
    """35: no original touched; 36: half of them `.deleted`; 37: the log has its final name, the indexes have not."""
    kit, after, cleaned, replaced = swapped
    going = {35: 0, 36: len(replaced) // 2, 37: len(replaced)}[case]
    for path in replaced[:going]:
        path.rename(path.with_name(path.name + ".deleted"))
    for name, content in cleaned.items():
        final = case == 37 and name.endswith(".log")
        (kit.folder / (name if final else f"{name}.swap")).write_bytes(content)
    if not clean:
        (kit.data_dir / CLEAN_MARKER).unlink()
    kit.start()
    assert leftovers(kit) == []
    seen, following = offsets(kit.log), kit.log.segments[1].base_offset
    assert [offset for offset in seen if offset < following] == [offset for offset in after if offset < following] == [0]
    assert seen[-1] == 180
    assert kit.append().base_offset == 181


# --- the rest of the crash points


@both
def test_case_38_drafts_of_checkpoints_are_not_believed(tmp_path: Path, clean: bool) -> None:
    kit = Kit(tmp_path / "data", flush_on_ack=False)
    kit.create()
    for sequence in range(40):
        kit.append(sequence, pid=7)
    delete_records(kit.log, 5)
    kit.manager._upkeep.write_checkpoints(everything=True)
    kit.stop() if clean else kit.kill()
    drafts = [path.with_name(path.name + ".tmp") for path in kit.data_dir.iterdir() if path.name.endswith("checkpoint")]
    drafts += [kit.data_dir / "oncelog.topics.tmp", kit.data_dir / "meta.properties.tmp", kit.folder / "leader-epoch-checkpoint.tmp"]
    for path in drafts:
        path.write_text("0\n1\nt 0 3\n")
    kit.start()
    assert (kit.log.log_start_offset, kit.log.log_end_offset) == (5, 40)
    assert offsets(kit.log) == list(range(5, 40))


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


@both
def test_case_60_old_epoch_is_refused_after_a_restart(tmp_path: Path, clean: bool) -> None:
    kit = Kit(tmp_path / "data")
    kit.create()
    kit.append(0, pid=5, txn=True)
    kit.mark(5, commit=False, epoch=1)
    again(kit, clean)
    for sequence in (0, 1):
        with pytest.raises(KafkaError) as refused:
            kit.append(sequence, pid=5, epoch=0)
        assert refused.value.code == ErrorCode.INVALID_PRODUCER_EPOCH
    assert kit.append(0, pid=5, epoch=1).base_offset == 2


def test_case_61_open_transaction_at_a_crash(tmp_path: Path) -> None:
    kit = Kit(tmp_path / "data")
    kit.create()
    kit.append(n=2)
    kit.append(0, pid=5, txn=True)
    kit.append(n=2)
    for _ in range(2):
        log = kit.kill_and_start()
        assert log.open_transactions() == [(5, 0, 2)]
        assert (log.last_stable_offset, log.log_end_offset) == (2, 5)
    kit.mark(5, commit=False, epoch=1)
    for _ in range(2):
        assert (kit.log.last_stable_offset, kit.log.log_end_offset) == (6, 6)
        assert offsets(kit.log, 1) == [0, 1, 3, 4]
        kit.kill_and_start()


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
    kit.manager._upkeep.write_checkpoints(everything=True)
    kit.stop() if clean else kit.kill()
    fs = ReadCounting()
    reader = Kit(tmp_path / "data", fs)
    sizes = {segment.log_path: segment.size for segment in reader.log.segments}
    active = reader.log.active_segment.log_path
    for path, size in sizes.items():
        if path != active or clean:
            assert fs.read_bytes.get(path, 0) < 80_000 < size, path


def test_case_1_indexes_made_from_kafkas_logs_are_kafkas(tmp_path: Path) -> None:
    """Of sealed segments; the few that Kafka wrote across a restart, where its counter began again, differ."""
    manager = LogManager(system_env(), unpack("clean", tmp_path), LogConfig(producer_id_expiration_ms=2**31 - 1), InlineFlusher())
    manager.start()
    same = other = 0
    for log in manager.logs():
        for segment in list(log.segments)[:-1]:
            paths = [Path(segment.log_path).with_suffix(suffix) for suffix in (".index", ".timeindex")]
            before = [path.read_bytes() for path in paths]
            segment.rebuild_indexes("test")
            segment.save_indexes(final=True)
            same, other = (same + 1, other) if [path.read_bytes() for path in paths] == before else (same, other + 1)
    manager.stop()
    print(f"same={same} other={other}")
    assert same > 20
    assert other <= 5
