"""The journal of a running broker: one sync for many logs, order over all of them, and what happens when it is full or fails."""

from __future__ import annotations

import errno
import logging
from pathlib import Path

import pytest
from oncelog.protocol.errors import KafkaError
from oncelog.protocol.names import TopicPartition
from oncelog.protocol.records import build_batch
from oncelog.storage.config import LogConfig
from oncelog.storage.directory.manager import LogManager
from oncelog.storage.env import Env
from oncelog.storage.journal.journal import JOURNAL_FILES, LARGEST_BATCH, LEAST_BYTES
from oncelog.storage.log.log import Log
from oncelog.storage.memory_fs import MemoryFile
from support.flushed_when_told import LaterFlusher
from support.inline import SeededRandom, delete_topic
from support.simfs import SimFileSystem
from support.storage_kit import SetClock, offsets

pytestmark = pytest.mark.unit
DATA = Path("/data")
PARTITIONS = 5
MARKER = 78  # bytes


class Bench:
    """A directory on a simulated disk, with a journal that is ready and logs that were written to before."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, size: int = 1 << 20, partitions: int = PARTITIONS) -> None:
        self.clock = SetClock()
        self.fs = SimFileSystem(1, now_ms=self.clock.time_ms)
        self.flusher = LaterFlusher()
        self.size = size
        self.syncs: list[str] = []
        sync = MemoryFile.datasync

        def counted(file: MemoryFile) -> None:
            self.syncs.append(next((name for name, inode in self.fs.names.items() if inode is file.inode), "?"))
            sync(file)

        monkeypatch.setattr(MemoryFile, "datasync", counted)
        self.start()
        self.manager.create_topic("t", partitions)
        for partition in range(partitions):
            self.append(partition)
        self.ready()

    def start(self) -> None:
        env = Env(self.clock, SeededRandom(1), self.fs)
        self.flusher = LaterFlusher()
        self.manager = LogManager(env, DATA, LogConfig(journal_bytes=self.size), self.flusher)
        self.manager.start()

    def ready(self) -> None:
        for _ in range(2):
            self.flush()
            self.manager.journal.want()
            self.manager.maintenance(self.clock.now_ms)
        self.flush()
        assert self.manager.journal.room > 0

    def flush(self) -> None:
        while self.flusher.wanted:
            self.flusher.flush()

    def log(self, partition: int = 0) -> Log:
        log = self.manager.log(TopicPartition("t", partition))
        assert log is not None
        return log

    def append(self, partition: int = 0, size: int = 10, **options: object) -> int:
        batch = build_batch([(self.clock.now_ms, None, b"v" * size)], **options)  # type: ignore[arg-type]
        return self.log(partition).append(batch, self.clock.now_ms, verified=True).base_offset

    def file_size(self, partition: int = 0) -> int:
        inode = self.fs.names[f"{DATA}/t-{partition}/{0:020d}.log"]
        assert inode is not None
        return len(inode.content)

    def power_cut(self) -> None:
        self.fs.crash()
        self.start()


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(monkeypatch)


def test_one_sync_for_what_many_logs_appended(bench: Bench) -> None:
    bench.syncs.clear()
    for partition in range(PARTITIONS):
        assert bench.append(partition) == 1
        assert bench.log(partition).high_watermark == 1
    bench.flush()
    assert bench.syncs == [f"{DATA}/{JOURNAL_FILES[0]}"]
    assert [bench.log(partition).high_watermark for partition in range(PARTITIONS)] == [2] * PARTITIONS


def test_a_batch_is_not_in_its_file_before_the_journal_has_it(bench: Bench) -> None:
    """Else a power cut could keep it and lose what was appended before it elsewhere."""
    before = bench.file_size()
    bench.append()
    log = bench.log()
    assert (bench.file_size(), log.size_bytes()) == (before, 2 * before)
    assert len(log.active_segment.read_at(0, 9999)) == 2 * before
    assert len(list(log.active_segment.headers())) == 2
    bench.flush()
    assert bench.file_size() == 2 * before
    assert offsets(log) == [0, 1]


def test_a_power_cut_costs_nothing_that_was_told(bench: Bench) -> None:
    for partition in range(PARTITIONS):
        bench.append(partition)
    bench.flush()
    bench.append(0)
    bench.power_cut()
    assert [offsets(bench.log(partition)) for partition in range(PARTITIONS)] == [[0, 1]] * PARTITIONS
    assert not any(name.startswith(f"{DATA}/oncelog.journal") for name in bench.fs.names)


def test_a_kill_keeps_what_a_frame_on_its_way_holds(bench: Bench) -> None:
    bench.append(0)
    bench.append(1)
    job = bench.manager.journal.begin_flush()
    assert job is not None
    job.run()
    bench.fs.kill()
    bench.start()
    assert (offsets(bench.log(0)), offsets(bench.log(1))) == ([0, 1], [0, 1])


@pytest.mark.parametrize("lost", [(1, 1), (1, 4), (3, 5), (4, 4), (1, 9), (9, 9)])
def test_what_a_log_lost_anywhere_is_put_back(bench: Bench, lost: tuple[int, int]) -> None:
    """A power cut lost pages in the middle, or at the end with the length of the file, or without it."""
    for _ in range(9):
        bench.append()
    bench.flush()
    log = bench.log()
    whole = log.active_segment.read_at(0, log.size_bytes())
    size = len(whole) // 10
    bench.fs.kill()
    inode = bench.fs.names[f"{DATA}/t-0/{0:020d}.log"]
    assert inode is not None
    begin, end = lost[0] * size, (lost[1] + 1) * size
    inode.content[begin:end] = bytes(end - begin)
    if lost == (9, 9):
        del inode.content[begin + 20 :]
    bench.start()
    assert offsets(bench.log()) == list(range(10))
    assert bytes(inode.content) == whole
    bench.power_cut()
    assert offsets(bench.log()) == list(range(10))


def test_batches_of_the_journal_do_not_run_into_the_next_segment(bench: Bench) -> None:
    """Those that it has for that stand there already."""
    bench.append()
    bench.flush()
    log = bench.log()
    log.roll(bench.clock.now_ms)
    bench.append()
    bench.flush()
    bench.append()
    bench.flush()
    bench.fs.kill()
    inode = bench.fs.names[f"{DATA}/t-0/{0:020d}.log"]
    assert inode is not None
    del inode.content[len(inode.content) // 2 :]
    bench.start()
    assert [segment.base_offset for segment in bench.log().segments] == [0, 2]
    assert offsets(bench.log()) == [0, 1, 2, 3]


def test_apache_kafka_has_written_since(bench: Bench) -> None:
    """Its checkpoints have no CRC of ours: the journal is of another time, and what it has at the end of a log is not put there."""
    bench.append()
    bench.flush()
    bench.fs.kill()
    inode = bench.fs.names[f"{DATA}/t-0/{0:020d}.log"]
    assert inode is not None
    del inode.content[len(inode.content) // 2 :]
    bench.fs.write_atomic(DATA / "recovery-point-offset-checkpoint", b"0\n1\nt 0 1\n")
    bench.start()
    assert offsets(bench.log()) == [0]
    assert f"{DATA}/quarantine-oncelog.journal.0" in bench.fs.names


def test_large_batches_go_straight_to_their_log(bench: Bench) -> None:
    bench.syncs.clear()
    bench.append(0, LARGEST_BATCH)
    bench.append(1)
    bench.flush()
    assert sorted(bench.syncs) == [f"{DATA}/oncelog.journal.0", f"{DATA}/t-0/{0:020d}.log"]
    bench.syncs.clear()
    bench.append(0)
    bench.flush()
    assert bench.syncs == [f"{DATA}/oncelog.journal.0"]


def test_small_ones_behind_a_large_one_go_the_same_way_until_that_is_on_disk(bench: Bench) -> None:
    bench.append(0, LARGEST_BATCH)
    bench.append(0)
    assert not bench.log(0).durability.in_order
    assert not bench.log(0).durability.holds_back
    bench.flush()
    assert bench.log(0).durability.in_order


def test_a_large_one_waits_in_front_of_the_file_for_small_ones_of_the_journal(bench: Bench) -> None:
    before = bench.file_size()
    bench.append(0)
    bench.append(0, LARGEST_BATCH)
    assert bench.file_size() == before
    bench.flush()
    assert (offsets(bench.log(0), max_bytes=1 << 20), bench.log(0).high_watermark) == ([0, 1, 2], 3)
    bench.power_cut()
    assert offsets(bench.log(0), max_bytes=1 << 20) == [0, 1, 2]


def test_a_marker_stays_behind_what_the_journal_has_of_other_logs(bench: Bench) -> None:
    """Partition 0 is synced on its own, its marker waits for the decision, which is in the journal."""
    bench.append(0, LARGEST_BATCH, producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True)
    bench.append(1)
    before = bench.file_size(0)
    bench.log(0).append_marker(7, 0, 0, True, bench.clock.now_ms)
    assert bench.file_size(0) == before
    bench.flush()
    assert bench.file_size(0) == before + MARKER
    assert bench.log(0).high_watermark == 3


def test_when_nothing_is_in_the_journal_a_marker_need_not_wait(bench: Bench) -> None:
    bench.append(0, LARGEST_BATCH, producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True)
    before = bench.file_size(0)
    bench.log(0).append_marker(7, 0, 0, True, bench.clock.now_ms)
    assert bench.file_size(0) == before + MARKER


def test_a_marker_behind_a_newer_frame_than_the_batches_before_it(bench: Bench) -> None:
    """What its log holds is in the frame on its way, the decision in the next one."""
    bench.append(0, producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True)
    journal = bench.manager.journal
    job = journal.begin_flush()
    assert job is not None
    bench.append(0, LARGEST_BATCH)
    bench.append(1)
    bench.log(0).append_marker(7, 0, 0, True, bench.clock.now_ms)
    gates = [held.gate for held in bench.log(0).durability._held]
    assert gates == [1, 1, 2]
    job.run()
    journal.end_flush(job, None)
    assert [held.gate for held in bench.log(0).durability._held] == [2]
    bench.flush()
    assert bench.log(0).high_watermark == 4


def test_a_new_segment_is_synced_with_its_name_before_the_journal_is_used_for_it(bench: Bench) -> None:
    bench.append(0)
    bench.log(0).roll(bench.clock.now_ms)
    bench.append(0)
    assert [held.journaled for held in bench.log(0).durability._held] == [True, False]
    bench.flush()
    bench.append(0)
    assert [held.journaled for held in bench.log(0).durability._held] == [True]
    bench.flush()
    bench.power_cut()
    assert offsets(bench.log(0)) == [0, 1, 2, 3]


def test_without_acknowledgement_from_disk_there_is_no_journal(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(monkeypatch)
    bench.manager.alter_topic_configs("t", {"flush.on.ack": "false"})
    bench.append(0)
    assert bench.log(0).high_watermark == 2
    assert not bench.log(0).durability.holds_back


def test_by_default_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each append is in its file at once, and each log is synced on its own."""
    monkeypatch.setattr(Bench, "ready", Bench.flush)
    bench = Bench(monkeypatch, size=LogConfig().journal_bytes)
    bench.manager.journal.want()
    bench.manager.maintenance(bench.clock.now_ms)
    bench.flush()
    before = bench.file_size()
    assert not bench.log(0).durability.in_order
    bench.append(0)
    bench.append(1)
    assert not bench.log(0).durability.holds_back
    assert not bench.log(0).durability.in_order, "a marker has to wait for its Prepare"
    assert bench.file_size() == 2 * before
    bench.syncs.clear()
    bench.flush()
    assert bench.syncs == [f"{DATA}/t-{partition}/{0:020d}.log" for partition in (0, 1)]
    assert not any(name.startswith(f"{DATA}/oncelog.journal") for name in bench.fs.names)


def test_a_full_file_gives_way_to_the_other_and_is_used_again_once_its_logs_are_synced(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(monkeypatch, size=LEAST_BYTES)
    used = set()
    for round in range(60):
        for partition in range(PARTITIONS):
            assert bench.append(partition) == 1 + round
        bench.flush()
        used.add((bench.manager.journal._active, bench.manager.journal._sequence > 12))
    assert used >= {(0, False), (1, False), (0, True), (1, True)}
    assert bench.manager.journal._sequence > 30
    bench.power_cut()
    for partition in range(PARTITIONS):
        assert offsets(bench.log(partition)) == list(range(61))


def test_while_both_files_are_full_logs_are_synced_on_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log that is not synced keeps its file from being used again; nobody waits for that."""
    bench = Bench(monkeypatch, size=LEAST_BYTES)
    monkeypatch.setattr(bench.manager.journal, "_drain", lambda *_: None)
    journal, held_up = bench.manager.journal, set()
    for _ in range(40):
        bench.append(0)
        if journal.room > 1000 and journal._active not in held_up:
            held_up.add(journal._active)
            bench.append(1)
        bench.flush()
    assert journal.room < 0
    assert bench.log(0).high_watermark == 41
    monkeypatch.undo()
    bench.manager.maintenance(bench.clock.now_ms)
    bench.flush()
    assert bench.manager.journal.room > 0


def test_a_deleted_topic_keeps_no_file(bench: Bench) -> None:
    bench.append(0)
    bench.flush()
    assert any(file.owing for file in bench.manager.journal._files)
    bench.append(1)
    delete_topic(bench.manager, "t")
    bench.flush()
    assert not any(file.owing for file in bench.manager.journal._files)


def test_a_topic_of_the_same_name_gets_nothing_of_the_deleted_one(bench: Bench) -> None:
    bench.append(0)
    bench.flush()
    delete_topic(bench.manager, "t")
    bench.manager.create_topic("t", 1)
    bench.append(0)
    bench.flush()
    bench.power_cut()
    assert offsets(bench.log(0)) == [0]


def test_an_orderly_stop_leaves_no_journal(bench: Bench) -> None:
    bench.append(0)
    bench.manager.stop()
    assert not any(name.startswith(f"{DATA}/oncelog.journal") for name in bench.fs.names)
    bench.power_cut()
    assert offsets(bench.log(0)) == [0, 1]


def test_a_journal_is_not_taken_for_news_after_an_orderly_stop(bench: Bench) -> None:
    """It was put back by somebody."""
    bench.append(0)
    bench.flush()
    kept = {name: bytes(inode.content) for name, inode in bench.fs.names.items() if inode is not None and "oncelog.journal" in name}
    bench.manager.stop()
    bench.fs.kill()
    for name, content in kept.items():
        bench.fs.open(Path(name), create=True).pwrite([content], 0)
    bench.start()
    assert offsets(bench.log(0)) == [0, 1]
    assert not any("oncelog.journal" in name for name in bench.fs.names)


def test_a_failed_sync_takes_those_offline_that_wait_for_it(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    outcome: list[KafkaError | None] = []
    bench.append(0)
    bench.flush()
    bench.append(1)
    bench.log(1).when_durable(2, outcome.append)
    bench.fs.fail(1, errno.EIO, only=["datasync"])
    with caplog.at_level(logging.ERROR, "oncelog"):
        bench.flush()
    bench.fs.fail(None)
    assert [bench.log(partition).offline is None for partition in range(PARTITIONS)] == [True, False, True, True, True]
    assert outcome[0] is not None
    assert "journal given up" in caplog.text
    bench.append(2)
    bench.flush()
    assert bench.log(2).high_watermark == 2
    bench.power_cut()
    assert [offsets(bench.log(partition))[:2] for partition in (0, 2)] == [[0, 1], [0, 1]]


def test_a_full_disk_keeps_what_the_journal_has_in_memory_until_there_is_room(bench: Bench) -> None:
    """It is on disk, so it is acknowledged; it can be read, nothing is appended behind it, and a stop leaves the journal."""
    bench.append(0)
    job = bench.manager.journal.begin_flush()
    assert job is not None
    job.run()
    bench.fs.free_bytes = 0
    bench.manager.journal.end_flush(job, None)
    log = bench.log(0)
    assert (log.high_watermark, log.offline, offsets(log)) == (2, None, [0, 1])
    with pytest.raises(KafkaError):
        bench.append(0)
    assert (log.offline, log.log_end_offset) == (None, 2)
    bench.fs.free_bytes = None
    assert bench.append(0) == 2
    bench.flush()
    assert offsets(log) == [0, 1, 2]


def test_a_stop_on_a_full_disk_leaves_the_journal_for_the_next_start(bench: Bench) -> None:
    bench.append(0)
    job = bench.manager.journal.begin_flush()
    assert job is not None
    job.run()
    bench.fs.free_bytes = 0
    bench.manager.journal.end_flush(job, None)
    bench.manager.stop()
    assert f"{DATA}/{JOURNAL_FILES[0]}" in bench.fs.names
    bench.fs.free_bytes = None
    bench.power_cut()
    assert offsets(bench.log(0)) == [0, 1]


def test_a_disk_too_full_for_a_journal_is_told_once(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(Bench, "ready", Bench.flush)
    bench = Bench(monkeypatch)
    bench.fs.free_bytes = 100
    with caplog.at_level(logging.WARNING, "oncelog"):
        for _ in range(3):
            bench.manager.journal.want()
            bench.manager.journal.tend()
            bench.flush()
    assert caplog.text.count("journal not prepared") == 1
    bench.fs.free_bytes = None
    bench.append(0)
    bench.flush()
    bench.manager.journal.tend()
    bench.flush()
    assert bench.manager.journal.room > 0
