"""How a data directory is taken into use and given back."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.names import TopicPartition
from oncelog.storage.directory.opening import close_logs, lock, read_checkpoints, sync_all, take_clean_marker, tell_checkpoints
from oncelog.storage.env import Env
from oncelog.storage.files.checkpoints import CLEAN_MARKER, HIGH_WATERMARKS, LOG_STARTS, RECOVERY_POINTS, write_offsets
from oncelog.storage.journal.journal import Journal
from oncelog.storage.journal.replay import FoundJournal
from support.inline import InlineFlusher, SeededRandom
from support.simfs import SimFileSystem
from support.storage_kit import SetClock

DATA = Path("/data")
TP = TopicPartition("t", 0)
NAMES = (RECOVERY_POINTS, LOG_STARTS, HIGH_WATERMARKS)


@pytest.fixture
def fs() -> SimFileSystem:
    made = SimFileSystem(1)
    made.mkdir(DATA)
    return made


def test_one_process_at_a_time(fs: SimFileSystem) -> None:
    held = lock(fs, DATA)
    with pytest.raises(BlockingIOError, match=r"/data is in use by another process \(it holds /data/.lock\)") as told:
        lock(fs, DATA)
    assert told.value.errno is not None
    assert held is not None


def test_the_clean_marker_is_good_for_one_start() -> None:
    for seed in range(30):
        fs = SimFileSystem(seed)
        fs.mkdir(DATA)
        assert not take_clean_marker(fs, DATA)
        fs.write_atomic(DATA / CLEAN_MARKER, b"")
        assert take_clean_marker(fs, DATA)
        fs.crash()
        assert not take_clean_marker(fs, DATA)  # also when the power failed right after


def test_what_the_checkpoints_say(fs: SimFileSystem) -> None:
    for number, name in enumerate(NAMES):
        write_offsets(fs, DATA / name, {TP: number})
    fs.write_atomic(DATA / LOG_STARTS, b"garbage")
    found = read_checkpoints(fs, DATA, clean=True)
    assert found.clean
    assert [one and one.offsets for one in (found.points, found.starts, found.watermarks)] == [{TP: 0}, None, {TP: 2}]


class Volume:
    """A file system that counts one call; no journal is there."""

    def __init__(self, able: bool) -> None:
        self.able, self.calls = able, 0

    def sync_volume(self, _path: Path) -> bool:
        self.calls += 1
        return self.able

    def exists(self, _path: Path) -> bool:
        return False


@pytest.mark.parametrize(("logs", "able", "volumes", "singly"), [(0, True, 0, 0), (16, True, 0, 16), (17, True, 1, 0), (17, False, 1, 17)])
def test_many_logs_are_synced_at_once_where_that_can_be(logs: int, able: bool, volumes: int, singly: int) -> None:
    fs, done = Volume(able), list[int]()
    sync_all(fs, DATA, [lambda: done.append(1)] * logs, FoundJournal({}))  # type: ignore[arg-type]
    assert (fs.calls, len(done)) == (volumes, singly)


def no_journal(fs: SimFileSystem) -> Journal:
    return Journal(Env(SetClock(), SeededRandom(1), fs), DATA, InlineFlusher(), 0)


class Closing:
    topic_partition = TP

    def __init__(self, error: Exception | None = None) -> None:
        self.error, self.closed = error, False

    def close(self) -> None:
        self.closed = True
        if self.error is not None:
            raise self.error


def test_a_log_that_fails_to_close_keeps_no_other_open(fs: SimFileSystem, caplog: pytest.LogCaptureFixture) -> None:
    logs: list[Any] = [Closing(), Closing(KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "gone")), Closing()]
    assert not close_logs(fs, DATA, logs, no_journal(fs))
    assert all(log.closed for log in logs)
    assert [record.getMessage() for record in caplog.records] == ["log not closed cleanly partition=t-0 error=gone"]
    assert close_logs(fs, DATA, [Closing(), Closing()], no_journal(fs))  # type: ignore[list-item]


def test_a_failing_sync_is_no_clean_end(fs: SimFileSystem, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_path: Path) -> bool:
        raise OSError(5, "broken")

    monkeypatch.setattr(fs, "sync_volume", fails)
    monkeypatch.setattr(fs, "sync_dir", fails)
    log: Any = Closing(OSError(5, "broken"))
    assert not close_logs(fs, DATA, [log], no_journal(fs))


def complaints(fs: SimFileSystem, caplog: pytest.LogCaptureFixture, *, clean: bool, stood: bool = True, here: bool = True) -> list[str]:
    caplog.clear()
    is_here: Callable[[TopicPartition], bool] = lambda _place: here  # noqa: E731
    with caplog.at_level(logging.WARNING):
        told = tell_checkpoints(fs, DATA, read_checkpoints(fs, DATA, clean=clean), stood=stood, is_here=is_here)
    lines = [record.getMessage() for record in caplog.records if "taken for absent" not in record.getMessage()]
    assert told == bool(lines)
    return [line.rpartition("/")[2] for line in lines]


@pytest.mark.parametrize("clean", [True, False])
def test_a_checkpoint_that_is_missing_beside_others(fs: SimFileSystem, caplog: pytest.LogCaptureFixture, clean: bool) -> None:
    for name in NAMES:
        write_offsets(fs, DATA / name, {TP: 5})
    assert complaints(fs, caplog, clean=clean) == []
    fs.unlink(DATA / LOG_STARTS)
    assert complaints(fs, caplog, clean=clean) == [LOG_STARTS]
    fs.unlink(DATA / RECOVERY_POINTS)
    assert complaints(fs, caplog, clean=clean) == ([RECOVERY_POINTS, LOG_STARTS] if clean else [])  # watermarks are written more often
    fs.unlink(DATA / HIGH_WATERMARKS)
    assert complaints(fs, caplog, clean=clean) == (list(NAMES) if clean else [])


def test_a_directory_that_was_never_ours_misses_nothing(fs: SimFileSystem, caplog: pytest.LogCaptureFixture) -> None:
    assert complaints(fs, caplog, clean=True, stood=False) == []


def test_a_checkpoint_of_other_partitions_is_told_unless_we_vouch_for_it(fs: SimFileSystem, caplog: pytest.LogCaptureFixture) -> None:
    for name in NAMES:
        write_offsets(fs, DATA / name, {TP: 5})
    fs.write_atomic(DATA / RECOVERY_POINTS, b"0\n1\nother 0 5\n")
    assert complaints(fs, caplog, clean=False, here=False) == [RECOVERY_POINTS]
    assert complaints(fs, caplog, clean=False, here=True) == []
    fs.write_atomic(DATA / RECOVERY_POINTS, b"0\n0\n")
    assert complaints(fs, caplog, clean=False, here=False) == []
