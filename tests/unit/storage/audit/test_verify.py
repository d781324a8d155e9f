"""The auditor finds every planted damage, says where, and says nothing about healthy directories."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from oncelog.storage.audit.findings import Kind, Severity
from oncelog.storage.audit.verify import verify
from support.damage import Partition
from support.golden_storage import facts
from support.our_directory import OurDirectory
from support.plants import Expected, Plants

plant = Plants()


def test_a_clean_kafka_directory_is_sound(golden: dict[str, Path]) -> None:
    report = verify(golden["clean"])
    assert report.errors == ()
    assert {finding.kind for finding in report.notes} == {Kind.PRODUCER_UNKNOWN}
    assert {finding.partition for finding in report.notes} == {"retp-0"}


def test_a_killed_kafka_directory_leaves_notes_only(golden: dict[str, Path]) -> None:
    report = verify(golden["killed"])
    assert report.errors == ()
    allowed = {Kind.UNCLEAN_STOP, Kind.INDEX_PADDING, Kind.TRANSACTION_OPEN, Kind.PRODUCER_UNKNOWN}
    assert {finding.kind for finding in report.notes} == allowed


@pytest.mark.parametrize("name", ["clean", "killed"])
def test_the_summary_agrees_with_an_independent_reader(golden: dict[str, Path], name: str) -> None:
    known = facts(name)["partitions"]
    found = {line.partition: line for line in verify(golden[name]).partitions}
    assert found.keys() == known.keys()
    for partition, line in found.items():
        expected = known[partition]
        assert (line.log_start, line.log_end, line.last_stable_offset, line.batches, line.open_transactions) == (
            expected["logStart"],
            expected["leo"],
            expected["lso"],
            expected["batches"],
            len(expected["openTxns"]),
        )


def test_an_empty_directory_with_its_properties_is_sound(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text("version=1\ncluster.id=x\nnode.id=1\n")
    assert verify(tmp_path).sound


@pytest.fixture(scope="session")
def ours(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A directory of oncelog after an orderly stop, and as a kill leaves it: with an open transaction."""
    folder = tmp_path_factory.mktemp("ours")
    written = OurDirectory(folder / "live")
    written.fill()
    written.transaction("tx-9", commit=True, finish=False)
    shutil.copytree(folder / "live", folder / "killed")
    written.close()
    return {"clean": folder / "live", "killed": folder / "killed"}


def test_our_own_directory_is_sound(ours: dict[str, Path]) -> None:
    report = verify(ours["clean"])
    assert report.clean
    assert {(finding.kind, finding.severity) for finding in report.findings} == {(Kind.TRANSACTION_OPEN, Severity.NOTE)}
    assert sum(line.batches for line in report.partitions) > 700


def test_a_kill_of_ours_leaves_notes_only(ours: dict[str, Path]) -> None:
    report = verify(ours["killed"])
    assert not report.clean
    assert report.errors == ()
    assert {Kind.UNCLEAN_STOP, Kind.TRANSACTION_OPEN} <= {finding.kind for finding in report.notes}


def test_a_directory_taken_over_from_kafka_stays_sound(golden: dict[str, Path], tmp_path: Path) -> None:
    """Open Kafka's directory with our log, stop in order, and audit what we left."""
    copied = Path(shutil.copytree(golden["killed"], tmp_path / "data"))
    OurDirectory(copied).close()
    report = verify(copied)
    assert report.errors == ()
    known = facts("killed")["partitions"]
    assert {line.partition: line.log_end for line in report.partitions} == {name: one["leo"] for name, one in known.items()}


@plant
def the_active_segment_removed(data: Path) -> Expected:
    log = Partition(data, "plain-0")
    offset = log.base(-1)
    log.remove_segment(-1)
    return Kind.LOG_END_BELOW_HIGH_WATERMARK, "plain-0", offset


@plant
def a_checkpoint_with_a_wrong_count(data: Path) -> Expected:
    (data / "recovery-point-offset-checkpoint").write_text("0\n3\nplain 0 1\n")
    return Kind.CHECKPOINT_DAMAGED, "", None


@plant
def a_log_start_beyond_the_end(data: Path) -> Expected:
    (data / "log-start-offset-checkpoint").write_text("0\n1\nplain 0 5000\n")
    return Kind.CHECKPOINT_BEYOND_END, "plain-0", 5000


@plant
def a_partition_folder_deleted(data: Path) -> Expected:
    shutil.rmtree(data / "plain-1")
    return Kind.PARTITION_MISSING, "plain-1", None


@plant
def no_partition_metadata(data: Path) -> Expected:
    (data / "plain-0" / "partition.metadata").unlink()
    return Kind.PARTITION_METADATA, "plain-0", None


@plant
def the_topic_id_of_another_topic(data: Path) -> Expected:
    shutil.copy(data / "tx-0" / "partition.metadata", data / "plain-0" / "partition.metadata")
    return Kind.PARTITION_METADATA, "plain-0", None


@plant
def an_empty_partition_metadata(data: Path) -> Expected:
    (data / "plain-0" / "partition.metadata").write_bytes(b"")
    return Kind.PARTITION_METADATA, "plain-0", None


@plant
def a_folder_of_an_unknown_topic(data: Path) -> Expected:
    shutil.copytree(data / "plain-0", data / "zz-0")
    return Kind.TOPIC_UNKNOWN, "zz-0", None


@plant
def properties_without_a_cluster(data: Path) -> Expected:
    (data / "meta.properties").write_text("version=1\nnode.id=1\n")
    return Kind.META_PROPERTIES, "", None


@pytest.mark.parametrize("name", plant)
def test_planted_damage_is_found(name: str, directory: Path) -> None:
    assert plant.complaint(name, directory) is None


def test_enough_kinds_are_planted() -> None:
    assert sum(path.read_text().count("\n@plant\n") for path in Path(__file__).parent.glob("test_*.py")) >= 50


def test_nothing_is_changed(directory: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in directory.rglob("*")}
    verify(directory)
    assert {path: path.stat().st_mtime_ns for path in directory.rglob("*")} == before
