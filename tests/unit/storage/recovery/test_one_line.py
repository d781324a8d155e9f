"""Damages of files beside the log: `verify` sees each, the start says it in one line, nothing is lost, and the next start is quiet."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from oncelog.storage.audit.verify import verify
from oncelog.storage.env import OsFileSystem
from oncelog.storage.files.checkpoints import HIGH_WATERMARKS, LOG_STARTS, RECOVERY_POINTS, read_checkpoint
from support.damage_sweep import fill_sweep
from support.sweep_log import findings, told
from support.txn_directory import PLACE, TxnDirectory

pytestmark = [pytest.mark.unit, pytest.mark.uncovered]
CLEAN, KILLED = "clean", "killed"
MOST = 2**63 - 1
JOURNAL = "journal not replayed, another broker has written since"  # so it is where a checkpoint has no CRC


class Original(NamedTuple):
    path: Path
    seen: list[bytes]
    end: int
    now_ms: int


def garbage(name: str) -> Callable[[Path], None]:
    return lambda data_dir: [*map(_spoil, (data_dir / name).parent.glob(Path(name).name)), None][-1]


def _spoil(path: Path) -> None:
    path.write_bytes(b"garbage" * 9)


def appears(name: str) -> Callable[[Path], None]:
    return lambda data_dir: _spoil(data_dir / name)


def without_crc(offset: int, *names: str) -> Callable[[Path], None]:
    """As Apache Kafka would write them, with an offset that none of its logs reaches."""

    def change(data_dir: Path) -> None:
        for name in names:
            found = read_checkpoint(OsFileSystem(), data_dir / name)
            assert found is not None
            rows = [f"{topic} {partition} {at}\n" for (topic, partition), at in {**found.offsets, PLACE: offset}.items()]
            (data_dir / name).write_text(f"0\n{len(rows)}\n{''.join(rows)}")

    return change


def folder(name: str, content: str | None = None) -> Callable[[Path], None]:
    def change(data_dir: Path) -> None:
        (data_dir / name).unlink(missing_ok=True)
        (data_dir / name).mkdir()
        if content is not None:
            (data_dir / name / content).touch()

    return change


DAMAGES: dict[str, Callable[[Path], None]] = {
    "window": garbage("r-0/oncelog.window"),
    "all snapshots": garbage("r-0/*.snapshot"),
    "window and snapshots": lambda data_dir: [garbage(f"r-0/{name}")(data_dir) for name in ("oncelog.window", "*.snapshot")][-1],
    "voucher": garbage("r-0/oncelog.txnindexes"),
    "missing appears": appears("r-0/oncelog.missing"),
    "doubts appear": appears("__transaction_state-0/oncelog.doubts"),
    "cleaner checkpoint": appears("cleaner-offset-checkpoint"),
    "recovery point beyond the end": without_crc(5000, RECOVERY_POINTS),
    "high watermark beyond the end": without_crc(5000, HIGH_WATERMARKS),
    "both at the end of all numbers": without_crc(MOST, RECOVERY_POINTS, HIGH_WATERMARKS),
    "log start beyond the end": without_crc(5000, LOG_STARTS),
    "registry a folder": folder("oncelog.topics"),
    "registry's copy a folder": folder("oncelog.topics.copy"),
    "metadata a folder": folder("oncelog.metadata"),
    "window a folder": folder("r-0/oncelog.window"),
}
UNVOUCHED = ("beyond the end", "all numbers")


@pytest.fixture(scope="module", autouse=True)
def quick_disk() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for call in ("fsync", "fdatasync"):
            patch.setattr(os, call, lambda fd: None)
        yield


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Original]:
    made = {}
    for stop in (CLEAN, KILLED):
        filled = fill_sweep(tmp_path_factory.mktemp("original") / "data")
        filled.let_time_out()
        filled.logs.chores.write_checkpoints(everything=True)
        made[stop] = Original(filled.data_dir, filled.values(committed=True), filled.log().log_end_offset, filled.clock.now_ms)
        filled.close() if stop == CLEAN else filled.kill()
    return made


@pytest.mark.parametrize("stop", [CLEAN, KILLED])
@pytest.mark.parametrize("name", DAMAGES)
def test_one_line(originals: dict[str, Original], tmp_path: Path, name: str, stop: str) -> None:
    path, seen, end, now_ms = originals[stop]
    data_dir = Path(shutil.copytree(path, tmp_path / "data"))
    DAMAGES[name](data_dir)
    assert findings(data_dir) != findings(path)
    with told() as said:
        served = TxnDirectory(data_dir, now_ms)
        assert served.values(committed=True) == seen
        assert served.log().log_end_offset == end
        for _ in range(4):
            served.logs.maintenance(served.clock.now_ms)
            served.clock.now_ms += 16_000
        served.close()
    assert len([line for line in said if JOURNAL not in line]) == 1, said
    assert len(said) == 1 or (stop == KILLED and any(one in name for one in UNVOUCHED))
    assert [one for one in verify(data_dir, records=False).errors if "is not in the log" not in one.message] == []
    with told() as said:
        TxnDirectory(data_dir, served.clock.now_ms).close()
    assert said == []


def test_a_folder_with_something_in_it_is_kept(originals: dict[str, Original], tmp_path: Path) -> None:
    data_dir = Path(shutil.copytree(originals[CLEAN].path, tmp_path / "data"))
    folder("oncelog.topics", "notes")(data_dir)
    served = TxnDirectory(data_dir, originals[CLEAN].now_ms)
    assert served.values(committed=True) == originals[CLEAN].seen
    served.close()
    assert (data_dir / "oncelog.topics.damaged" / "notes").exists()


@pytest.mark.parametrize("cut", [200, 1000])
@pytest.mark.parametrize("stop", [CLEAN, KILLED])
def test_a_lost_tail_without_checkpoints_is_known_by_the_window(
    originals: dict[str, Original], tmp_path: Path, stop: str, cut: int
) -> None:
    """After an orderly stop exactly, after a kill as far as the last segment began; `verify` sees it too."""
    path, _, end, now_ms = originals[stop]
    data_dir = Path(shutil.copytree(path, tmp_path / "data"))
    for one in (RECOVERY_POINTS, LOG_STARTS, HIGH_WATERMARKS, *(file.name for file in data_dir.glob("oncelog.journal.*"))):
        (data_dir / one).unlink()
    newest = sorted((data_dir / "r-0").glob("*.log"))[-1]
    base = int(newest.stem)
    newest.write_bytes(b"") if stop == KILLED else newest.write_bytes(newest.read_bytes()[:-cut])
    if stop == KILLED:
        for one in (data_dir / "r-0").glob(f"{newest.stem}.*"):
            if one.suffix != ".snapshot":
                one.unlink()
        before = sorted((data_dir / "r-0").glob("*.log"))[-1]
        before.write_bytes(before.read_bytes()[:-cut])
    assert verify(data_dir, records=False).errors
    with told() as said:
        served = TxnDirectory(data_dir, now_ms)
    assert served.log().log_end_offset == (end if stop == CLEAN else base)
    assert len([line for line in said if "acknowledged data is missing" in line]) == 1
    served.close()
