"""Each folder knows the configs of its topic; a registry that is lost gets them back."""

from __future__ import annotations

from pathlib import Path

import pytest
from oncelog.protocol.names import CONSUMER_OFFSETS, TopicPartition
from oncelog.protocol.records import build_batch
from oncelog.storage.audit.findings import Kind
from oncelog.storage.audit.verify import verify
from oncelog.storage.directory.spare import SPARE_FILE
from oncelog.storage.directory.topic import TOPIC_FILE, parse_topic_file
from support.damage import WAYS, damaged
from support.inline import create_partitions
from support.own_files import SPOILT, warnings
from support.storage_kit import SMALL, TP, Kit, offsets

pytestmark = pytest.mark.unit


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
    for path in (*tmp_path.glob("*/oncelog.topic"), tmp_path / SPARE_FILE):
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
    create_partitions(kit.manager, "compacted", 5)
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
