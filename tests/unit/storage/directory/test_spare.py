"""`oncelog.spare` knows the topics that have no folder, when both copies of the registry are gone."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from oncelog.protocol.topics import Topic
from oncelog.storage.audit.verify import verify
from oncelog.storage.directory.spare import SPARE_FILE, SpareRegistry
from oncelog.storage.env import OsFileSystem
from support.damage import WAYS, damaged
from support.inline import create_partitions, delete_topic
from support.own_files import SPOILT, Directory, warnings
from support.storage_kit import Kit

pytestmark = pytest.mark.unit
both = pytest.mark.parametrize("clean", [True, False], ids=["clean", "killed"])
REGISTRY = ("oncelog.topics", "oncelog.topics.copy")


def topics(kit: Kit) -> dict[str, Topic]:
    return {topic.name: topic for topic in kit.manager.topics.all()}


def maintained(kit: Kit) -> None:
    """As many pieces as there are folders to look at, and the file."""
    for _ in range(3):
        kit.manager.maintenance(kit.clock.now_ms)
    assert kit.manager.topics.spare.due() is None


def made(path: Path, *, clean: bool) -> Directory:
    directory = Directory(path)
    maintained(directory.kit)
    directory.kit.stop() if clean else directory.kit.kill()
    return directory


def lose_registry(directory: Directory, way: str) -> None:
    for name in REGISTRY:
        directory.spoil(name, way, "middle")


@both
@pytest.mark.parametrize("way", ["delete", *WAYS])
def test_topics_that_nobody_wrote_to_outlive_the_registry(tmp_path: Path, caplog: pytest.LogCaptureFixture, way: str, clean: bool) -> None:
    directory = made(tmp_path, clean=clean)
    kit = directory.kit
    lose_registry(directory, way)
    assert any(SPARE_FILE in problem for problem in directory.problems())
    warnings(caplog)
    kit.start()
    (line,) = warnings(caplog)
    assert line.startswith("topic registry lost, topics are taken from their folders and oncelog.spare count=3")
    assert directory.state() == directory.before
    kit.restart()
    assert warnings(caplog) == []
    assert directory.state() == directory.before


@both
@pytest.mark.parametrize("way", ["delete", *WAYS])
def test_without_it_the_start_says_what_is_lost(tmp_path: Path, caplog: pytest.LogCaptureFixture, way: str, clean: bool) -> None:
    directory = made(tmp_path, clean=clean)
    lose_registry(directory, way)
    directory.spoil(SPARE_FILE, way, "middle")
    assert any("those that nobody wrote to are lost" in problem for problem in directory.problems())
    warnings(caplog)
    directory.kit.start()
    (line,) = [line for line in warnings(caplog) if line.startswith("topic registry lost")]
    assert "those that nobody wrote to are lost" in line
    assert sorted(topics(directory.kit)) == ["t"]


@both
@pytest.mark.parametrize(("way", "place"), SPOILT)
def test_damage_to_it_is_seen_and_mended(tmp_path: Path, caplog: pytest.LogCaptureFixture, way: str, place: str, clean: bool) -> None:
    directory = made(tmp_path, clean=clean)
    kit, before = directory.kit, (tmp_path / SPARE_FILE).read_bytes()
    directory.spoil(SPARE_FILE, way, place)
    assert way == "delete" or any(problem.startswith(f"{SPARE_FILE}: ") for problem in directory.problems())
    assert way != "delete" or not clean or any(one.file == SPARE_FILE for one in verify(tmp_path, records=False).findings)
    warnings(caplog)
    kit.start()
    assert len(warnings(caplog)) == (way != "delete")
    assert directory.state() == directory.before
    maintained(kit)
    assert (tmp_path / SPARE_FILE).read_bytes() == before
    kit.restart()
    assert warnings(caplog) == []


def test_it_follows_what_is_created_altered_grown_and_deleted(tmp_path: Path) -> None:
    directory = made(tmp_path, clean=True)
    kit = directory.kit
    kit.start()
    kit.manager.create_topic("new", 2)
    kit.manager.alter_topic_configs("unwritten", {"retention.ms": "5"})
    create_partitions(kit.manager, "unwritten", 9)
    delete_topic(kit.manager, "compacted")
    wanted = topics(kit)
    maintained(kit)
    kit.kill()
    lose_registry(directory, "delete")
    kit.start()
    assert topics(kit) == wanted


def test_configs_that_no_folder_tells_stand_there(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    directory = made(tmp_path, clean=True)
    lose_registry(directory, "delete")
    for path in tmp_path.glob("*/oncelog.topic"):
        path.unlink()
    warnings(caplog)
    directory.kit.start()
    assert len(warnings(caplog)) == 1
    assert directory.state() == directory.before


def test_creating_topics_does_not_wait_for_it(tmp_path: Path) -> None:
    """Ten thousand partitions cost no file, and the one write behind them is a worker's."""
    kit = Kit(tmp_path, flush_on_ack=False)
    before = set(tmp_path.rglob("*"))
    began = time.process_time()
    kit.manager.create_topic("large", 10_000)
    assert time.process_time() - began < 1
    assert {path.name for path in set(tmp_path.rglob("*")) - before} <= {"oncelog.topics.copy"}
    due = kit.manager.topics.spare.due()
    assert due is not None
    worker = threading.Thread(target=due)
    worker.start()
    worker.join()
    assert kit.manager.topics.spare.due() is None
    kit.kill()
    assert SpareRegistry(OsFileSystem(), tmp_path / SPARE_FILE, lambda: None).read() is not None


def test_what_is_damaged_in_any_byte_is_not_believed(tmp_path: Path) -> None:
    made(tmp_path, clean=True)
    path = tmp_path / SPARE_FILE
    data = path.read_bytes()
    spare = SpareRegistry(OsFileSystem(), path, lambda: None)
    assert spare.read() is not None
    for place in ("head", "middle", "tail"):
        path.write_bytes(damaged(data, "flip", place))
        assert spare.read() is None
