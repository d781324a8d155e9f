"""Damage to the files that are ours alone, and to those that tell who we are.

Whatever befalls one of them: the broker starts, nothing that was acknowledged is gone, one line says what was mended, the next start is
quiet, and `verify` sees the damage before it is mended.
"""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from oncelog.protocol.names import CONSUMER_OFFSETS, TopicPartition
from oncelog.protocol.records import build_batch
from oncelog.storage.audit.dump import dump
from oncelog.storage.audit.findings import Kind
from oncelog.storage.audit.verify import verify
from oncelog.storage.directory.topic import TOPIC_FILE, Topic, parse_topic_file
from oncelog.storage.files.damaged_file import DamagedFile
from oncelog.storage.files.metadata_store import MetadataLost
from oncelog.storage.files.twin_file import frame, parse_frame
from oncelog.storage.recovery.missing import tell_missing
from support.damage import PLACES, WAYS, damaged
from support.storage_kit import SMALL, TP, Kit, offsets

pytestmark = pytest.mark.unit
TWINS = ("oncelog.topics", "oncelog.topics.copy", "oncelog.metadata", "oncelog.metadata.copy")
USERS = {"alice": {"SCRAM-SHA-256": "secret"}}


class Directory:
    """Topics written to and not, with configs of their own, users, an identity."""

    def __init__(self, path: Path) -> None:
        self.kit = Kit(path, flush_on_ack=False)
        self.kit.create(retention_ms="-1")
        self.kit.manager.create_topic("compacted", 3, {"cleanup.policy": "compact"})
        self.kit.manager.create_topic("unwritten", 7, {"retention.ms": "123456"})
        self.kit.manager.store.put("users", "alice", USERS["alice"])
        for number in range(40):
            self.kit.append(number, pid=7)
        self.before = self.state()

    def state(self) -> tuple[list[Topic], dict[str, object], list[str], list[int]]:
        manager = self.kit.manager
        text = (self.kit.data_dir / "meta.properties").read_text()
        return manager.topics.all(), manager.store.section("users"), sorted(text.split()), offsets(self.kit.log)

    def spoil(self, name: str, way: str, place: str = "head") -> None:
        path = self.kit.data_dir / name
        if way == "delete":
            path.unlink()
        else:
            path.write_bytes(damaged(path.read_bytes(), way, place))

    def problems(self) -> list[str]:
        return [f"{one.file}: {one.message}" for one in verify(self.kit.data_dir, records=False).errors]


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    found = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    caplog.clear()
    return found


SPOILT = [("delete", "head"), *((way, place) for way in WAYS for place in PLACES)]


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize(("way", "place"), SPOILT)
@pytest.mark.parametrize("name", TWINS)
def test_one_of_two_copies_is_enough(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str, way: str, place: str, clean: bool
) -> None:
    directory = Directory(tmp_path)
    directory.kit.stop() if clean else directory.kit.kill()
    sound = directory.problems()
    directory.spoil(name, way, place)
    (seen,) = [problem for problem in directory.problems() if problem not in sound]
    assert seen.startswith(f"{name}: ")
    warnings(caplog)
    directory.kit.start()
    assert directory.state() == directory.before
    (line,) = warnings(caplog)
    assert line.startswith("restored from its other copy")
    assert f"{name} (" in line
    directory.kit.restart()
    assert warnings(caplog) == []
    assert directory.state() == directory.before
    directory.kit.stop()
    assert directory.problems() == []


@pytest.mark.parametrize(("way", "place"), SPOILT)
def test_the_identity_is_kept_twice(tmp_path: Path, caplog: pytest.LogCaptureFixture, way: str, place: str) -> None:
    directory = Directory(tmp_path)
    directory.kit.stop()
    directory.spoil("meta.properties", way, place)
    directory.kit.start()
    assert directory.state() == directory.before
    assert len([line for line in warnings(caplog) if "restored from oncelog.metadata" in line]) <= 1
    directory.kit.restart()
    assert warnings(caplog) == []
    assert directory.state() == directory.before


@pytest.mark.parametrize("line", ["node.id=-3", "node.id=9999999999999999999999", "node.id=²", "node.id=1\nnode.id=2"])
def test_an_absurd_node_id_is_none(tmp_path: Path, line: str) -> None:
    (tmp_path / "meta.properties").write_text(f"version=1\ncluster.id=abc\n{line}\n")
    kit = Kit(tmp_path)
    assert (kit.manager.node_id, kit.manager.cluster_id) == (1, "abc")


@pytest.mark.parametrize("way", ["delete", *WAYS])
def test_users_and_rules_are_never_given_up_unasked(tmp_path: Path, caplog: pytest.LogCaptureFixture, way: str) -> None:
    directory = Directory(tmp_path)
    directory.kit.stop()
    for name in ("oncelog.metadata", "oncelog.metadata.copy"):
        directory.spoil(name, way, "middle")
    assert directory.problems()
    for _ in range(2):
        with pytest.raises(MetadataLost, match=r"oncelog\.metadata: .*--accept-data-loss"):
            directory.kit.start()
        directory.kit.kill()
    kit = Kit(tmp_path, accept_data_loss=True)
    (line,) = warnings(caplog)
    assert "given up as asked" in line
    assert kit.manager.store.section("users") == {}
    assert kit.manager.topics.all() == directory.before[0]
    assert (way == "delete") == (not (tmp_path / "oncelog.metadata.damaged").exists())
    kit.stop()
    kit = Kit(tmp_path)
    assert warnings(caplog) == []


def test_plain_files_of_before_are_taken_over_quietly(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    directory = Directory(tmp_path)
    directory.kit.stop()
    for name in ("oncelog.topics", "oncelog.metadata"):
        path = tmp_path / name
        path.write_bytes(parse_frame(name, path.read_bytes()).payload)
        (tmp_path / f"{name}.copy").unlink()
    directory.kit.start()
    assert warnings(caplog) == []
    assert directory.state() == directory.before
    for name in TWINS:
        assert parse_frame(name.removesuffix(".copy"), (tmp_path / name).read_bytes()).generation == 1


def test_no_metadata_of_before_is_no_loss(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    directory = Directory(tmp_path)
    directory.kit.stop()
    path = tmp_path / "oncelog.topics"
    path.write_bytes(parse_frame(path.name, path.read_bytes()).payload)
    for name in TWINS[1:]:
        (tmp_path / name).unlink()
    for topic_file in tmp_path.glob("*/oncelog.topic"):
        topic_file.unlink()
    directory.kit.start()
    assert warnings(caplog) == []
    assert directory.kit.manager.topics.all() == directory.before[0]


def test_a_crash_between_the_copies_leaves_the_newer_one(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    directory = Directory(tmp_path)
    directory.kit.stop()
    for name in ("oncelog.topics", "oncelog.metadata"):
        path = tmp_path / name
        held = parse_frame(name, path.read_bytes())
        (tmp_path / f"{name}.copy").write_bytes(frame(name, held.generation - 1, b'{"version":1,"topics":[]}'))
    directory.kit.start()
    assert warnings(caplog) == []
    assert directory.state() == directory.before


def test_a_frame_is_bound_to_its_name_and_version() -> None:
    whole = frame("oncelog.topics", 17, b"{}")
    assert parse_frame("oncelog.topics", whole) == (17, b"{}")
    for bad in (whole.replace(b" 17 ", b" 18 "), whole.replace(b"{}", b"[]"), whole[:-1], b"", b"{"):
        with pytest.raises(DamagedFile):
            parse_frame("oncelog.topics", bad)
    with pytest.raises(DamagedFile, match="does not begin"):
        parse_frame("oncelog.metadata", whole)


# -- the registry gone in both copies

MONTH_MS = 30 * 24 * 3600 * 1000


def written(path: Path) -> Kit:
    """Several segments each of: kept for ever, compacted, groups; one topic that nobody wrote to."""
    kit = Kit(path, flush_on_ack=False)
    kit.create(retention_ms="-1")
    kit.manager.create_topic("compacted", 3, {**SMALL, "cleanup.policy": "compact"})
    kit.manager.create_topic(CONSUMER_OFFSETS, 2, {**SMALL, "cleanup.policy": "compact"})
    kit.manager.create_topic("unwritten", 7)
    for tp in KEPT:
        log = kit.manager.log(tp)
        assert log is not None
        for number in range(60):
            log.append(build_batch([(kit.clock.now_ms, b"key %d" % number, b"v" * 50)]), kit.clock.now_ms)
    kit.manager.maintenance(kit.clock.now_ms)
    return kit


KEPT = [TP, TopicPartition("compacted", 1), TopicPartition(CONSUMER_OFFSETS, 0)]


def counts(kit: Kit) -> list[int]:
    found = [kit.manager.log(tp) for tp in KEPT]
    return [len(offsets(log)) for log in found if log is not None]


def age(kit: Kit) -> None:
    """A month passes, with all the rounds of retention and compaction that it brings."""
    kit.clock.now_ms += MONTH_MS
    for _ in range(200):
        kit.clock.now_ms += 60_000
        kit.manager.maintenance(kit.clock.now_ms)


def lose_registry(path: Path, way: str = "delete") -> None:
    for name in ("oncelog.topics", "oncelog.topics.copy"):
        (path / name).unlink() if way == "delete" else (path / name).write_bytes(damaged((path / name).read_bytes(), way, "middle"))


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("way", ["delete", *WAYS])
def test_the_folders_tell_what_the_registry_knew(tmp_path: Path, caplog: pytest.LogCaptureFixture, way: str, clean: bool) -> None:
    kit = written(tmp_path)
    before = {topic.name: topic for topic in kit.manager.topics.all()}
    kit.stop() if clean else kit.kill()
    lose_registry(tmp_path, way)
    assert any(one.kind is Kind.OWN_FILE and one.file.startswith("oncelog.topics") for one in verify(tmp_path, records=False).errors)
    warnings(caplog)
    kit.start()
    (line,) = warnings(caplog)
    assert line.startswith("topic registry lost")
    del before["unwritten"]  # no folder tells of it
    assert {topic.name: topic for topic in kit.manager.topics.all()} == before
    age(kit)
    assert counts(kit) == [60, 60, 60]
    kit.restart()
    assert warnings(caplog) == []


@pytest.mark.parametrize("way", ["delete", *WAYS])
def test_nothing_is_deleted_before_configs_are_known(tmp_path: Path, caplog: pytest.LogCaptureFixture, way: str) -> None:
    kit = written(tmp_path)
    kit.stop()
    lose_registry(tmp_path, way)
    for path in tmp_path.glob("*/oncelog.topic"):
        path.unlink() if way == "delete" else path.write_bytes(damaged(path.read_bytes(), way, "middle"))
    warnings(caplog)
    kit.start()
    lines = warnings(caplog)
    (unknown,) = [line for line in lines if line.startswith("configs of topics unknown")]
    assert unknown.endswith("topics=compacted,t")
    age(kit)
    assert counts(kit) == [60, 60, 60]
    assert kit.manager.config_of(CONSUMER_OFFSETS).cleanup_policy == ("compact",)
    warnings(caplog)
    kit.restart()
    age(kit)
    assert counts(kit) == [60, 60, 60]
    assert warnings(caplog) == []
    found = [one for one in verify(tmp_path, records=False).errors if one.kind is Kind.CONFIGS_UNKNOWN]
    assert len(found) == 2
    kit.manager.alter_topic_configs("t", {**SMALL, "retention.ms": "1000"})
    assert kit.restart().config.retention_ms == 1000
    age(kit)
    assert counts(kit)[0] < 60
    assert counts(kit)[1:] == [60, 60]


def test_what_is_altered_reaches_the_folders(tmp_path: Path) -> None:
    kit = written(tmp_path)
    kit.manager.alter_topic_configs("t", {"retention.ms": "77"})
    kit.manager.create_partitions("compacted", 5)
    kit.manager.maintenance(kit.clock.now_ms)
    for tp in KEPT[:2]:
        _, told = parse_topic_file((tmp_path / str(tp) / TOPIC_FILE).read_bytes())
        assert told == kit.manager.topics.get(tp.topic)


@pytest.mark.parametrize(("way", "place"), SPOILT)
def test_a_spoilt_topic_file_is_written_again(tmp_path: Path, caplog: pytest.LogCaptureFixture, way: str, place: str) -> None:
    kit = written(tmp_path)
    kit.stop()
    path = kit.folder / TOPIC_FILE
    before = path.read_bytes()
    path.unlink() if way == "delete" else path.write_bytes(damaged(before, way, place))
    assert (way == "delete") or any(one.file == TOPIC_FILE for one in verify(tmp_path, records=False).errors)
    warnings(caplog)
    kit.start()
    kit.manager.maintenance(kit.clock.now_ms)
    assert len(warnings(caplog)) == (way != "delete")
    assert parse_topic_file(path.read_bytes())[1] == kit.manager.topics.get("t")
    kit.restart()
    kit.manager.maintenance(kit.clock.now_ms)
    assert warnings(caplog) == []


def test_an_internal_topic_without_configs_gets_them_back(tmp_path: Path) -> None:
    kit = written(tmp_path)
    kit.manager.alter_topic_configs(CONSUMER_OFFSETS, {})
    kit.restart()
    assert kit.manager.config_of(CONSUMER_OFFSETS).cleanup_policy == ("compact",)
    age(kit)
    assert counts(kit)[2] == 60


def test_a_dump_shows_them_without_secrets(tmp_path: Path) -> None:
    directory = Directory(tmp_path)
    directory.kit.stop()
    (tmp_path / "oncelog.topics.copy").write_bytes(b"garbage")
    tell_missing(directory.kit.fs, directory.kit.folder, TP, [], [(3, 5)])
    rows = list(dump(tmp_path))
    topics = [(row["file"], row["name"], row["configs"]) for row in rows if row["kind"] == "topic"]
    assert ("oncelog.topics", "unwritten", {"retention.ms": "123456"}) in topics
    assert ("t-0/oncelog.topic", "t", {**SMALL, "retention.ms": "-1"}) in topics
    assert [row["file"] for row in rows if row["kind"] == "damaged"] == ["oncelog.topics.copy"]
    assert {row["key"] for row in rows if row["kind"] == "metadata"} == {"alice", "cluster.id", "directory.id", "node.id"}
    assert [(row["first_offset"], row["last_offset"]) for row in rows if row["kind"] == "missing"] == [(3, 4)]
    assert "secret" not in str(rows)
