"""The move into Apache Kafka, as far as no Kafka is needed: what is written, what is refused, what is printed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from oncelog.broker.commands.graduate import graduate
from oncelog.protocol.control_records import end_transaction_marker, parse_end_transaction_marker
from oncelog.protocol.records import check_crc, parse_header
from oncelog.storage.audit.raw_directory import BatchAt, map_file, open_data_directory, scan_log
from oncelog.storage.audit.raw_formats import parse_offset_checkpoint
from oncelog.storage.moving.graduate import MAX_LOG_BYTES, check_target, plan, portable, segment_groups
from oncelog.storage.moving.kafka_topics import KafkaTopic
from support.damage import Partition
from support.golden_storage import emptied, facts


@pytest.fixture
def target(golden: Path, tmp_path: Path) -> Path:
    """A stopped Kafka with the same topics and no records: the recorded one, emptied."""
    return emptied(golden, tmp_path / "target")


def batches(directory: Path, name: str) -> list[BatchAt]:
    folder = open_data_directory(directory).partitions[name]
    return [item for base in folder.bases for item in scan_log(map_file(folder.file(base, "log"))) if isinstance(item, BatchAt)]


def test_bare_logs_with_everything_in_them(source: Path, target: Path) -> None:
    ids = {path.parent.name: path.read_bytes() for path in target.glob("*/partition.metadata")}
    assert graduate(source, to=target) == 0
    for name, known in facts("killed")["partitions"].items():
        files = sorted(path.name for path in (target / name).iterdir())
        assert files == sorted([f"{known['segments'][0]['base']:020d}.log", "partition.metadata"])
        moved = batches(target, name)
        assert len(moved) == known["batches"]
        for before, after in zip(batches(source, name), moved, strict=True):
            assert after.header.partition_leader_epoch == 0
            assert check_crc(after.view)
            assert after.header.base_offset == before.header.base_offset
            if after.header.is_control:
                marker = parse_end_transaction_marker(after.view)
                original = parse_end_transaction_marker(before.view)
                assert marker is not None
                assert original is not None
                assert (marker.commit, marker.coordinator_epoch) == (original.commit, 0)
            else:
                assert after.view[16:] == before.view[16:]
    assert {path.parent.name: path.read_bytes() for path in target.glob("*/partition.metadata")} == ids


def test_checkpoints_make_kafka_recover_and_keep_the_log_start(source: Path, target: Path) -> None:
    assert graduate(source, to=target) == 0
    assert not (target / ".kafka_cleanshutdown").exists()
    for name in ("recovery-point", "replication", "cleaner"):
        assert (target / f"{name}-offset-checkpoint").read_bytes() == b"0\n0\n"
    moved, ours = ((path / "log-start-offset-checkpoint").read_bytes() for path in (target, source))
    assert parse_offset_checkpoint(moved) == parse_offset_checkpoint(ours)
    assert b"crc32c" not in moved


def test_the_source_is_only_read(source: Path, target: Path) -> None:
    before = {path: path.read_bytes() for path in source.rglob("*") if path.is_file()}
    graduate(source, to=target)
    assert {path: path.read_bytes() for path in source.rglob("*") if path.is_file() and path.name != ".lock"} == before


def test_a_marker_becomes_portable_and_a_foreign_one_is_left_alone() -> None:
    marker = end_transaction_marker(77, 3, False, 9, 1_700_000_099_999, base_offset=120, leader_epoch=4)
    moved = portable(BatchAt(0, parse_header(marker), memoryview(marker)))
    assert moved == end_transaction_marker(77, 3, False, 0, 1_700_000_099_999, base_offset=120, leader_epoch=0)


def test_a_running_broker_is_refused(source: Path, target: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hold = "import fcntl, sys; f = open(sys.argv[1], 'a'); fcntl.lockf(f, fcntl.LOCK_EX); print('held', flush=True); sys.stdin.read()"
    for directory in (source, target):
        command = [sys.executable, "-c", hold, str(directory / ".lock")]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"held\n"
            assert graduate(source, to=target) == 1
            assert f"running on {directory}" in capsys.readouterr().out.replace("\n", "")
            holder.communicate()


def test_a_target_that_is_not_ready_is_refused(source: Path, target: Path, tmp_path: Path) -> None:
    moving = plan(source)
    assert check_target(moving, target) == []
    assert "no meta.properties" in check_target(moving, tmp_path)[0]
    shutil.rmtree(target / "plain-1")
    assert any("plain-1" in problem for problem in check_target(moving, target))
    shutil.rmtree(target / "__cluster_metadata-0")
    assert "knows no topics" in check_target(moving, target)[0]


def test_other_partition_counts_are_refused(source: Path, target: Path) -> None:
    moving = plan(source)
    topics = tuple(topic._replace(partitions=50) if topic.name == "__consumer_offsets" else topic for topic in moving.topics)
    missing = KafkaTopic("orders", topics[0].topic_id, 1, {})
    changed = type(moving)(moving.source, (*topics, missing), moving.size_bytes, moving.highest_foreign_id, moving.log_ends)
    assert set(check_target(changed, target)) == {
        "topic __consumer_offsets has 4 partitions in the target, 50 here",
        "topic orders does not exist in the target",
    }


def test_a_full_disk_is_noticed_before_anything_is_copied(source: Path, target: Path) -> None:
    moving = plan(source)
    huge = type(moving)(moving.source, moving.topics, 2**60, moving.highest_foreign_id, moving.log_ends)
    assert "bytes free" in check_target(huge, target)[0]


def test_damage_is_refused_and_a_torn_tail_is_left_behind(source: Path, target: Path) -> None:
    Partition(source, "plain-0").append_bytes(b"torn" * 10)
    assert graduate(source, to=target) == 0
    assert len(batches(target, "plain-0")) == facts("killed")["partitions"]["plain-0"]["batches"]
    Partition(source, "tx-0").change(3, lambda batch: batch.__setitem__(-1, batch[-1] ^ 1), number=0, crc=False)
    assert graduate(source, to=target, force=True) == 1


def test_logs_that_kafka_could_not_open_in_one_piece_are_split() -> None:
    gigabyte = 1 << 30
    assert segment_groups([(0, gigabyte, 99), (100, gigabyte, 199), (200, 10, 299)]) == [[0], [100, 200]]
    assert segment_groups([(0, MAX_LOG_BYTES - 10, 99), (100, 10, 199)]) == [[0, 100]]
    assert segment_groups([(0, 10, 99), (2**31, 10, 2**31 + 5)]) == [[0], [2**31]]
