"""Topics of very many partitions: what is done when, and what is left of it after an end at any moment."""

from __future__ import annotations

import contextlib
import errno
import logging
import random
from pathlib import Path

import pytest
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.names import TopicPartition
from oncelog.protocol.records import build_batch
from oncelog.protocol.topics import Topic
from oncelog.storage.config import LogConfig
from oncelog.storage.directory.folders import PIECE_MS
from oncelog.storage.directory.manager import LogManager
from oncelog.storage.env import Env
from oncelog.storage.log.log import Log
from support.inline import SeededRandom, create_partitions, delete_topic
from support.simfs import Died, SimFileSystem
from support.simloop import StepFlusher
from support.storage_kit import T0, Kit, SetClock

pytestmark = pytest.mark.unit
DATA = Path("/data")
MANY = 1000


class PacedClock(SetClock):
    """Each look at the monotonic clock takes a tenth of a piece of work."""

    monotonic = 0.0

    def monotonic_ms(self) -> float:
        self.monotonic += PIECE_MS / 10
        return self.monotonic


class Directory:
    """A log manager whose flusher works when it is told to."""

    def __init__(self, seed: int = 0) -> None:
        self.clock = PacedClock()
        self.fs = SimFileSystem(seed, now_ms=self.clock.time_ms)
        self.flusher = StepFlusher(random.Random(seed))
        self.told: dict[str, KafkaError | None] = {}
        self.start()

    def start(self) -> LogManager:
        self.flusher.forget()
        self.logs = LogManager(Env(self.clock, SeededRandom(7), self.fs), DATA, LogConfig(), self.flusher)
        self.logs.start()
        return self.logs

    def begin_create(self, name: str, partitions: int = MANY) -> Topic:
        return self.logs.begin_create_topic(name, partitions, {}, lambda error: self.told.__setitem__(name, error))

    def begin_delete(self, name: str) -> None:
        self.logs.begin_delete_topic(name, lambda error: self.told.__setitem__(f"-{name}", error))

    def log(self, name: str, partition: int) -> Log:
        log = self.logs.log(TopicPartition(name, partition))
        assert log is not None
        return log

    def write(self, name: str, partition: int) -> None:
        self.log(name, partition).append(build_batch([(T0, None, b"value")]), T0)

    def folders(self) -> list[str]:
        return [name for name in self.fs.list(DATA) if self.fs.is_dir(DATA / name)]


@pytest.fixture
def directory() -> Directory:
    return Directory()


def code_of(error: pytest.ExceptionInfo[KafkaError]) -> ErrorCode:
    return error.value.code


# -- creation


def test_creation_touches_no_file_in_its_own_turn(directory: Directory) -> None:
    directory.fs.calls = 0
    directory.begin_create("t")
    assert directory.fs.calls == 0
    assert directory.told == {}
    directory.flusher.flush()
    assert directory.told == {"t": None}
    assert directory.folders() == []
    topic = directory.logs.topics.get("t")
    assert topic is not None
    assert topic.partitions == MANY


def test_a_topic_is_made_known_when_it_is_on_disk(directory: Directory) -> None:
    topic = directory.begin_create("t")
    assert directory.logs.topics.get("t") is None
    assert directory.logs.topics.by_id(topic.topic_id) is None
    assert directory.logs.log(TopicPartition("t", 0)) is None
    assert not directory.logs.topics.has_partition(TopicPartition("t", 0))
    directory.flusher.flush()
    assert directory.logs.topics.by_id(topic.topic_id) == topic
    assert directory.log("t", MANY - 1).log_end_offset == 0
    assert directory.logs.log(TopicPartition("t", MANY)) is None
    assert directory.logs.log(TopicPartition("t", -1)) is None


def test_the_name_is_taken_while_the_topic_is_being_made(directory: Directory) -> None:
    directory.begin_create("t")
    with pytest.raises(KafkaError) as refused:
        directory.begin_create("t")
    assert code_of(refused) == ErrorCode.TOPIC_ALREADY_EXISTS
    for change in (lambda: directory.begin_delete("t"), lambda: create_partitions(directory.logs, "t", 2 * MANY)):
        with pytest.raises(KafkaError) as refused:
            change()
        assert code_of(refused) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    directory.flusher.flush()
    assert directory.told == {"t": None}


def test_a_full_disk_is_told_and_leaves_the_name_free(directory: Directory) -> None:
    directory.begin_create("t")
    directory.fs.fail(1, errno.ENOSPC, only=["pwrite"])
    directory.flusher.flush()
    directory.fs.fail(None)
    refused = directory.told["t"]
    assert refused is not None
    assert refused.code == ErrorCode.KAFKA_STORAGE_ERROR
    directory.begin_create("t", 3)
    directory.flusher.flush()
    assert directory.told["t"] is None


def test_an_orderly_stop_ends_what_was_begun(directory: Directory) -> None:
    directory.begin_create("made")
    directory.logs.stop()
    assert directory.told == {"made": None}
    directory.fs.kill()
    assert directory.start().topics.get("made") is not None


@pytest.mark.parametrize("seed", range(40))
def test_a_topic_is_whole_or_absent_after_a_power_cut_and_there_when_it_was_told(seed: int) -> None:
    chance = random.Random(seed)
    directory = Directory(seed)
    directory.begin_create("told")
    directory.flusher.flush()
    directory.fs.die(chance.randrange(1, 12))
    directory.begin_create("cut")
    for name in ("told", "cut"):
        try:
            directory.flusher.flush()
            for _ in range(3):
                directory.write(name, chance.randrange(MANY))
        except Died:
            break
    directory.fs.crash()
    logs = directory.start()
    found = {topic.name: topic.partitions for topic in logs.topics.all()}
    assert found.pop("told") == MANY
    assert found in ({}, {"cut": MANY})
    assert found or "cut" not in directory.told
    for name in ("told", *found):
        for partition in (0, MANY - 1):
            directory.write(name, partition)


# -- first use


def test_folders_come_with_the_first_write(tmp_path: Path) -> None:
    """And with that of the last partition, which tells a directory that lost its registry how many there were."""
    kit = Kit(tmp_path)
    kit.manager.create_topic("t", MANY)
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []
    assert kit.log.log_end_offset == 0
    assert kit.log.read(0, 100, isolation=0, min_one_message=True).records == b""
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []
    kit.append()
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["t-0", f"t-{MANY - 1}"]
    kit.kill()
    (tmp_path / "oncelog.topics").unlink()
    kit.start()
    topic = kit.manager.topics.get("t")
    assert topic is not None
    assert topic.partitions == MANY
    assert kit.log.log_end_offset == 1


def test_a_grown_topic_counts_again(tmp_path: Path) -> None:
    kit = Kit(tmp_path)
    kit.manager.create_topic("t", 2)
    kit.append()
    create_partitions(kit.manager, "t", 5)
    kit.append()
    kit.kill()
    (tmp_path / "oncelog.topics").unlink()
    topic = kit.start().topics.get("t")
    assert topic is not None
    assert topic.partitions == 5


def test_a_first_write_without_room_may_be_tried_again(directory: Directory) -> None:
    directory.logs.create_topic("t", MANY)
    for nth in range(1, 20):
        directory.fs.fail(nth, errno.ENOSPC)
        if directory.log("t", 5).log_end_offset == 0:
            with contextlib.suppress(KafkaError):
                directory.write("t", 5)
        directory.fs.fail(None)
    assert directory.log("t", 5).log_end_offset == 1
    assert directory.log("t", 5).offline is None
    directory.flusher.flush()
    directory.fs.crash()
    directory.start()
    assert directory.log("t", 5).log_end_offset == 1


@pytest.mark.parametrize("clean", [True, False])
def test_a_restart_opens_what_was_written_to_only(directory: Directory, clean: bool, caplog: pytest.LogCaptureFixture) -> None:
    directory.logs.create_topic("t", MANY)
    for partition in (3, 500):
        directory.write("t", partition)
    directory.flusher.flush()
    if clean:
        directory.logs.stop()
    directory.fs.kill()
    with caplog.at_level(logging.WARNING):
        logs = directory.start()
    assert {log.topic_partition.partition for log in logs.logs()} == {3, 500, MANY - 1}
    assert not caplog.records
    assert directory.log("t", 500).log_end_offset == 1
    assert directory.log("t", 501).log_end_offset == 0


def test_settings_reach_logs_that_are_not_open_yet(directory: Directory) -> None:
    directory.logs.create_topic("t", 2)
    assert directory.log("t", 0).config.retention_ms != 5
    directory.logs.alter_topic_configs("t", {"retention.ms": "5"})
    assert directory.log("t", 0).config.retention_ms == 5
    assert directory.log("t", 1).config.retention_ms == 5
    directory.logs.update_defaults(LogConfig(retention_bytes=9))
    for partition in (0, 1):
        assert (directory.log("t", partition).config.retention_ms, directory.log("t", partition).config.retention_bytes) == (5, 9)


def test_folders_of_many_first_writes_are_made_by_the_flusher(directory: Directory) -> None:
    directory.logs.create_topic("t", MANY)
    written = range(MANY - 500, MANY)
    logs = [directory.log("t", partition) for partition in written]
    done: list[int] = []
    directory.fs.calls = 0
    directory.logs.begin_first_writes(logs, lambda: done.append(len(directory.folders())))
    assert directory.fs.calls == 0
    directory.flusher.flush()
    assert done == [500]
    directory.fs.fail(1, only=["mkdir", "create"])
    for partition in written:
        directory.write("t", partition)
    assert directory.fs.failed is None


def test_folders_made_for_a_topic_that_went_meanwhile_are_removed(directory: Directory) -> None:
    directory.logs.create_topic("t", MANY)
    directory.logs.begin_first_writes([directory.log("t", partition) for partition in range(20)], lambda: None)
    delete_topic(directory.logs, "t")
    directory.flusher.flush()
    assert all(name.endswith("-delete") for name in directory.folders())
    directory.logs.create_topic("t", MANY)
    assert all(directory.log("t", partition).log_end_offset == 0 for partition in range(20))


# -- deletion


def test_deletion_goes_in_pieces(directory: Directory) -> None:
    directory.logs.create_topic("t", MANY)
    for partition in range(0, MANY, 10):
        directory.write("t", partition)
    directory.flusher.flush()
    held = directory.log("t", 0)
    directory.begin_delete("t")
    assert directory.logs.topics.get("t") is not None  # not gone before that is on disk
    directory.flusher.flush()
    assert directory.logs.topics.get("t") is None
    assert directory.logs.log(TopicPartition("t", 0)) is None
    assert held.offline is not None
    assert directory.told == {}  # the name is not free yet
    pieces = 0
    while directory.logs.folders.busy:
        before = len([name for name in directory.folders() if name.endswith("-delete")])
        directory.logs.folders.rename_some()
        assert len([name for name in directory.folders() if name.endswith("-delete")]) - before <= 12
        pieces += 1
    assert pieces >= 9
    assert directory.told == {"-t": None}
    assert not [name for name in directory.folders() if name.startswith("t-") and not name.endswith("-delete")]
    directory.clock.now_ms += 60_000
    directory.logs.maintenance(directory.clock.now_ms)
    assert directory.folders() == []


def test_a_name_is_not_free_before_its_folders_are_gone(directory: Directory) -> None:
    directory.logs.create_topic("t", MANY)
    for partition in range(20):
        directory.write("t", partition)
    directory.flusher.flush()
    directory.begin_delete("t")
    with pytest.raises(KafkaError) as refused:
        directory.begin_delete("t")
    assert code_of(refused) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    directory.flusher.flush()
    with pytest.raises(KafkaError) as refused:
        directory.begin_create("t")
    assert code_of(refused) == ErrorCode.TOPIC_ALREADY_EXISTS
    while directory.logs.folders.busy:
        directory.logs.folders.rename_some()
    directory.begin_create("t")
    directory.flusher.flush()
    assert directory.told == {"-t": None, "t": None}
    assert directory.log("t", 3).log_end_offset == 0


@pytest.mark.parametrize("seed", range(25))
def test_nothing_of_a_deleted_topic_comes_back(seed: int, caplog: pytest.LogCaptureFixture) -> None:
    """Killed anywhere in the deletion; a new topic of the name is empty, also after another restart."""
    chance = random.Random(seed)
    directory = Directory(seed)
    directory.logs.create_topic("t", MANY)
    written = chance.sample(range(MANY), 15)
    for partition in written:
        directory.write("t", partition)
    directory.flusher.flush()
    directory.fs.die(chance.randrange(1, 25))
    try:
        directory.begin_delete("t")
        directory.flusher.flush()
        while directory.logs.folders.busy:
            directory.logs.folders.rename_some()
    except Died:
        pass
    directory.fs.kill()
    with caplog.at_level(logging.ERROR):
        logs = directory.start()
    if logs.topics.get("t") is not None:
        assert "-t" not in directory.told
        assert all(directory.log("t", partition).log_end_offset == 1 for partition in written)
        return
    logs.create_topic("t", MANY)
    for _ in range(2):
        assert all(directory.log("t", partition).log_end_offset == 0 for partition in range(MANY))
        directory.logs.stop()
        directory.fs.kill()
        directory.start()
