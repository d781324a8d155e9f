"""The topic registry: changes show when they are on disk, all of a write or none, whoever overtakes whom."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pytest
from oncelog.protocol.topics import Topic
from oncelog.storage.directory.topics import FILE_NAME, TopicRegistry
from oncelog.storage.files.twin_file import parse_frame
from oncelog.storage.log.flush import FlushTarget
from support.inline import InlineFlusher, SeededRandom
from support.simfs import SimFileSystem

pytestmark = pytest.mark.unit
DATA = Path("/data")
IDS = SeededRandom(1)


class HeldFlusher:
    """Nothing is written before `run`."""

    def __init__(self) -> None:
        self.wanted: list[FlushTarget] = []

    def request(self, log: FlushTarget) -> None:
        if log not in self.wanted:
            self.wanted.append(log)

    def close(self) -> None: ...


class Registry:
    """A registry on a simulated disk, and what its changes were told."""

    def __init__(self) -> None:
        self.fs = SimFileSystem()
        self.fs.mkdir(DATA)
        self.flusher = HeldFlusher()
        self.topics = TopicRegistry(self.fs, DATA, self.flusher)
        self.topics.load()
        self.told: list[tuple[str, OSError | None]] = []

    def begin(self, name: str, partitions: int | None = 1) -> None:
        def done(error: OSError | None) -> None:
            self.told.append((name, error))

        if partitions is None:
            self.topics.begin_remove(name, done)
        else:
            self.topics.begin_put(topic(name, partitions), done)

    def flush(self) -> None:
        job = self.topics.begin_flush()
        assert job is not None
        job.run()
        self.topics.end_flush(job, None)

    def stored(self) -> dict[str, int]:
        payload = parse_frame(FILE_NAME, self.fs.read(DATA / FILE_NAME)).payload
        return {row["name"]: row["partitions"] for row in json.loads(payload)["topics"]}

    def shown(self) -> dict[str, int]:
        return {one.name: one.partitions for one in self.topics.all()}


def topic(name: str, partitions: int = 1) -> Topic:
    return Topic(name, IDS.uuid(), partitions)


@pytest.fixture
def registry() -> Registry:
    return Registry()


def test_a_change_shows_when_it_is_on_disk(registry: Registry) -> None:
    registry.begin("a", 3)
    assert registry.topics.get("a") is None
    assert registry.topics.wanted("a") is not None
    assert registry.stored() == {}
    generation = registry.topics.generation
    registry.flush()
    assert registry.stored() == registry.shown() == {"a": 3}
    assert registry.told == [("a", None)]
    assert registry.topics.generation > generation


def test_changes_that_wait_together_are_one_write(registry: Registry) -> None:
    for number in range(50):
        registry.begin(f"t{number}")
    registry.begin("t7", None)
    registry.begin("t8", 5)
    registry.fs.calls = 0
    registry.flush()
    one_write = registry.fs.calls
    assert registry.stored() == registry.shown() == {f"t{number}": 5 if number == 8 else 1 for number in range(50) if number != 7}
    registry.begin("alone")
    registry.fs.calls = 0
    registry.flush()
    assert registry.fs.calls == one_write


def test_what_comes_during_a_write_waits_for_the_next(registry: Registry) -> None:
    registry.begin("a")
    job = registry.topics.begin_flush()
    assert job is not None
    registry.begin("b")
    job.run()
    registry.topics.end_flush(job, None)
    assert registry.shown() == registry.stored() == {"a": 1}
    assert registry.told == [("a", None)]
    registry.flush()
    assert registry.shown() == registry.stored() == {"a": 1, "b": 1}


def test_a_change_that_would_not_wait_overtakes_a_write(registry: Registry) -> None:
    registry.begin("a")
    job = registry.topics.begin_flush()
    assert job is not None
    registry.topics.put(topic("b"))
    assert registry.shown() == registry.stored() == {"a": 1, "b": 1}
    job.run()  # it is late: what it would write is older than what stands there
    registry.topics.end_flush(job, None)
    assert registry.stored() == {"a": 1, "b": 1}
    assert registry.told == [("a", None)]


def test_a_failed_write_changes_nothing(registry: Registry) -> None:
    registry.topics.put(topic("kept", 2))
    registry.begin("a")
    registry.begin("kept", None)
    registry.fs.fail(1, errno.ENOSPC, only=["pwrite"])
    registry.flush()
    registry.fs.fail(None)
    assert registry.shown() == registry.stored() == {"kept": 2}
    assert [(name, error.errno if error else None) for name, error in registry.told] == [("a", errno.ENOSPC), ("kept", errno.ENOSPC)]
    assert registry.topics.wanted("a") is None
    registry.topics.put(topic("a"))
    assert registry.stored() == {"kept": 2, "a": 1}


def test_a_failed_write_leaves_later_changes_alone(registry: Registry) -> None:
    registry.begin("a")
    job = registry.topics.begin_flush()
    assert job is not None
    registry.begin("b")
    registry.topics.end_flush(job, OSError(errno.EIO, "gone"))
    registry.flush()
    assert registry.shown() == registry.stored() == {"b": 1}


def test_a_write_that_failed_for_who_overtook_it_is_given_up(registry: Registry) -> None:
    """Both were told that it failed: nothing of it may appear afterwards."""
    registry.begin("a")
    job = registry.topics.begin_flush()
    assert job is not None
    registry.fs.fail(1, errno.ENOSPC, only=["pwrite"])
    with pytest.raises(OSError, match="simulated failure"):
        registry.topics.put(topic("b"))
    registry.fs.fail(None)
    job.run()
    registry.topics.end_flush(job, None)
    assert registry.shown() == registry.stored() == {}
    assert [name for name, error in registry.told if error is not None] == ["a"]


def test_a_write_that_was_done_when_another_failed_counts(registry: Registry) -> None:
    registry.begin("a")
    job = registry.topics.begin_flush()
    assert job is not None
    job.run()
    registry.fs.fail(1, errno.ENOSPC, only=["pwrite"])
    with pytest.raises(OSError, match="simulated failure"):
        registry.topics.put(topic("b"))
    registry.fs.fail(None)
    registry.topics.end_flush(job, None)
    assert registry.shown() == registry.stored() == {"a": 1}
    assert registry.told == [("a", None)]


def test_names_that_differ_in_dots_and_underscores(registry: Registry) -> None:
    registry.begin("a.b_c")
    assert registry.topics.alike("a_b.c") == "a.b_c"  # though it is not there yet
    registry.flush()
    registry.topics.remove("a.b_c")
    assert registry.topics.alike("a_b_c") is None


def test_what_was_written_is_read_again(registry: Registry) -> None:
    registry.topics.put(Topic('é"\\', IDS.uuid(), 7, {"retention.ms": "5"}))
    again = TopicRegistry(registry.fs, DATA, InlineFlusher())
    again.load()
    assert again.all() == registry.topics.all()
    (known,) = again.all()
    assert again.by_id(known.topic_id) == known


@pytest.mark.parametrize("seed", range(60))
def test_a_power_cut_leaves_the_topics_of_a_write_whole_or_absent(seed: int) -> None:
    """Cut at any call of the write, with anything of what was not synced: what was told is there, the rest is all there or not at all."""
    registry = Registry()
    registry.fs.chance.seed(seed)
    registry.topics.put(topic("told", 3))
    for number in range(20):
        registry.begin(f"t{number}", 50)
    job = registry.topics.begin_flush()
    assert job is not None
    registry.fs.fail(1 + seed % 8)
    job.run()
    ended = registry.fs.failed is None
    registry.fs.crash()
    again = TopicRegistry(registry.fs, DATA, InlineFlusher())
    again.load()
    found = {one.name: one.partitions for one in again.all()}
    assert found.pop("told") == 3
    assert found in ({}, {f"t{number}": 50 for number in range(20)})
    assert found or not ended
