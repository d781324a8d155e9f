"""The auditor finds every planted damage, says where, and says nothing about healthy directories."""

from __future__ import annotations

import json
import os
import shutil
import struct
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from oncelog.broker.commands.verify import verify as verify_command
from oncelog.protocol.control_records import end_transaction_marker
from oncelog.protocol.internal.records import OffsetCommitKey, OffsetCommitValue
from oncelog.protocol.primitives import crc32c
from oncelog.protocol.records import build_batch
from oncelog.storage.audit.findings import Kind, Severity
from oncelog.storage.audit.verify import verify
from support.damage import Partition
from support.golden_storage import facts, unpack
from support.our_directory import OurDirectory

NOW = 1_795_236_700_000
Expected = tuple[Kind, str, int | None]
Plant = Callable[[Path], Expected]
PLANTS: dict[str, Plant] = {}


def plant(function: Plant) -> Plant:
    PLANTS[function.__name__] = function
    return function


@pytest.fixture(scope="session")
def golden(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("golden")
    return {name: unpack(name, folder) for name in ("clean", "killed")}


@pytest.fixture
def directory(golden: dict[str, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(golden["clean"], tmp_path / "data"))


# --- healthy ---------------------------------------------------------------------------------------------------------


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


def test_open_transactions_are_listed_with_their_owner(golden: dict[str, Path]) -> None:
    opened = [finding for finding in verify(golden["killed"]).notes if finding.kind is Kind.TRANSACTION_OPEN]
    assert {(finding.partition, finding.offset) for finding in opened} == {
        (partition, transaction["first"]) for partition, known in facts("killed")["partitions"].items() for transaction in known["openTxns"]
    }
    assert all("is Ongoing" in finding.message for finding in opened)


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


# --- damage to a log --------------------------------------------------------------------------------------------------


@plant
def a_flipped_bit(data: Path) -> Expected:
    header = Partition(data, "plain-0").change(3, lambda batch: batch.__setitem__(-1, batch[-1] ^ 1), crc=False)
    return Kind.BATCH_CRC, "plain-0", header.base_offset


@plant
def a_torn_last_batch_after_a_clean_stop(data: Path) -> Expected:
    log = Partition(data, "plain-0")
    torn = log.batches(-1)[-1][1].base_offset
    path = log.file("log", -1)
    path.write_bytes(path.read_bytes()[:-20])
    return Kind.TORN_TAIL, "plain-0", torn


@plant
def zeros_behind_the_last_batch(data: Path) -> Expected:
    log = Partition(data, "plain-0")
    end = log.end
    log.append_bytes(bytes(64))
    return Kind.LOG_GARBAGE, "plain-0", end


@plant
def an_impossible_batch_length(data: Path) -> Expected:
    header = Partition(data, "plain-0").set_field(4, ">i", 8, 5)
    return Kind.LOG_GARBAGE, "plain-0", header.base_offset


@plant
def another_magic(data: Path) -> Expected:
    header = Partition(data, "plain-0").set_field(4, ">b", 16, 3)
    return Kind.LOG_GARBAGE, "plain-0", header.base_offset


@plant
def the_last_batch_twice(data: Path) -> Expected:
    log = Partition(data, "plain-0")
    header = log.batches(-1)[-1][1]
    log.append_bytes(log.batch(-1))
    return Kind.OFFSET_ORDER, "plain-0", header.base_offset


@plant
def a_batch_cut_out(data: Path) -> Expected:
    log = Partition(data, "plain-0")
    position, header = log.batches(-1)[5]
    path = log.file("log", -1)
    content = path.read_bytes()
    path.write_bytes(content[:position] + content[position + header.size_bytes :])
    return Kind.OFFSET_GAP, "plain-0", header.base_offset


@plant
def a_base_offset_far_away(data: Path) -> Expected:
    Partition(data, "plain-0").set_field(-1, ">q", 0, 2**40)
    return Kind.OFFSET_BASE, "plain-0", 2**40


@plant
def a_leader_epoch_too_high(data: Path) -> Expected:
    log = Partition(data, "plain-0")
    log.set_field(2, ">i", 12, 9)
    return Kind.EPOCH_ORDER, "plain-0", log.batches(-1)[3][1].base_offset


@plant
def a_wrong_record_count(data: Path) -> Expected:
    header = Partition(data, "idem-0").set_field(4, ">i", 57, 2, number=0)
    return Kind.BATCH_RECORDS, "idem-0", header.base_offset


@plant
def a_wrong_max_timestamp(data: Path) -> Expected:
    header = Partition(data, "plain-0").set_field(-1, ">q", 35, NOW + 99_000)
    return Kind.BATCH_TIMESTAMP, "plain-0", header.base_offset


@plant
def a_middle_segment_removed(data: Path) -> Expected:
    log = Partition(data, "tx-0")
    offset = log.base(1)
    log.remove_segment(1)
    return Kind.SEGMENT_MISSING, "tx-0", offset


@plant
def the_active_segment_removed(data: Path) -> Expected:
    log = Partition(data, "plain-0")
    offset = log.base(-1)
    log.remove_segment(-1)
    return Kind.LOG_END_BELOW_HIGH_WATERMARK, "plain-0", offset


@plant
def a_log_without_its_index_files(data: Path) -> Expected:
    log = Partition(data, "tx-0")
    offset = log.base(1)
    log.remove("log", 1)
    return Kind.INDEX_ORPHAN, "tx-0", offset


@plant
def an_overlapping_segment(data: Path) -> Expected:
    log = Partition(data, "plain-0")
    base = log.base(-1)
    log.file("log", -1).rename(log.path / f"{base - 10:020d}.log")
    return Kind.SEGMENT_OVERLAP, "plain-0", base - 10


# --- indexes ----------------------------------------------------------------------------------------------------------


@plant
def no_offset_index(data: Path) -> Expected:
    log = Partition(data, "tx-0")
    log.remove("index", 0)
    return Kind.INDEX_MISSING, "tx-0", 0


@plant
def an_offset_index_that_points_too_far(data: Path) -> Expected:
    log = Partition(data, "tx-0")
    log.edit("index", -1, ">i", -4, 15_000)
    offset = int.from_bytes(log.file("index", -1).read_bytes()[-8:-4])
    return Kind.INDEX_MISMATCH, "tx-0", log.base(-1) + offset


@plant
def an_offset_index_out_of_order(data: Path) -> Expected:
    log = Partition(data, "tx-0")
    path = log.file("index", 0)
    content = path.read_bytes()
    path.write_bytes(content[8:16] + content[:8] + content[16:])
    return Kind.INDEX_ORDER, "tx-0", int.from_bytes(content[:4])


@plant
def an_offset_index_of_odd_length(data: Path) -> Expected:
    log = Partition(data, "tx-0")
    path = log.file("index", 1)
    path.write_bytes(path.read_bytes() + b"abc")
    return Kind.INDEX_SIZE, "tx-0", log.base(1)


@plant
def a_padded_offset_index(data: Path) -> Expected:
    log = Partition(data, "tx-0")
    path = log.file("index", 1)
    path.write_bytes(path.read_bytes() + bytes(80))
    return Kind.INDEX_PADDING, "tx-0", log.base(1)


@plant
def a_wrong_time_in_the_time_index(data: Path) -> Expected:
    log = Partition(data, "tx-0")
    path = log.file("timeindex", 0)
    content = path.read_bytes()
    log.edit("timeindex", 0, ">q", 0, int.from_bytes(content[:8]) - 1)
    return Kind.TIME_INDEX_MISMATCH, "tx-0", int.from_bytes(content[8:12])


@plant
def a_time_index_out_of_order(data: Path) -> Expected:
    log = Partition(data, "tx-0")
    path = log.file("timeindex", 0)
    content = path.read_bytes()
    path.write_bytes(content[12:24] + content[:12] + content[24:])
    return Kind.TIME_INDEX_ORDER, "tx-0", int.from_bytes(content[8:12])


@plant
def a_time_index_cut_short(data: Path) -> Expected:
    log = Partition(data, "tx-0")
    path = log.file("timeindex", 0)
    path.write_bytes(path.read_bytes()[:-12])
    return Kind.TIME_INDEX_SHORT, "tx-0", 0


@plant
def no_time_index(data: Path) -> Expected:
    Partition(data, "tx-0").remove("timeindex", 0)
    return Kind.TIME_INDEX_MISSING, "tx-0", 0


@plant
def no_transaction_index(data: Path) -> Expected:
    log = Partition(data, "tx-0")
    first_marker = int.from_bytes(log.file("txnindex", 1).read_bytes()[18:26])
    log.remove("txnindex", 1)
    return Kind.TXN_INDEX_MISSING, "tx-0", first_marker


@plant
def a_torn_transaction_index(data: Path) -> Expected:
    log = Partition(data, "tx-0")
    path = log.file("txnindex", 1)
    path.write_bytes(path.read_bytes()[:-3])
    return Kind.TXN_INDEX_DAMAGED, "tx-0", log.base(1)


@plant
def a_transaction_index_of_another_version(data: Path) -> Expected:
    log = Partition(data, "tx-0")
    log.edit("txnindex", 1, ">h", 34, 7)
    return Kind.TXN_INDEX_DAMAGED, "tx-0", log.base(1)


@plant
def a_transaction_index_that_hides_too_little(data: Path) -> Expected:
    log = Partition(data, "tx-0")
    content = log.file("txnindex", 1).read_bytes()
    log.edit("txnindex", 1, ">q", 10, int.from_bytes(content[10:18]) + 1)
    return Kind.TXN_INDEX_MISSING, "tx-0", int.from_bytes(content[18:26])


@plant
def a_transaction_index_that_hides_too_much(data: Path) -> Expected:
    log = Partition(data, "tx-0")
    content = log.file("txnindex", 1).read_bytes()
    log.edit("txnindex", 1, ">q", 10, int.from_bytes(content[10:18]) - 1)
    return Kind.TXN_INDEX_EXTRA, "tx-0", int.from_bytes(content[18:26])


@plant
def a_transaction_index_entry_that_nobody_wrote(data: Path) -> Expected:
    log = Partition(data, "plain-0")
    entry = b"\0\0" + b"".join(number.to_bytes(8) for number in (5, 3, 7, 8))
    log.file("log").with_suffix(".txnindex").write_bytes(entry)
    return Kind.TXN_INDEX_EXTRA, "plain-0", 7


@plant
def a_wrong_last_stable_offset_in_the_transaction_index(data: Path) -> Expected:
    log = Partition(data, "tx-0")
    content = log.file("txnindex", 1).read_bytes()
    log.edit("txnindex", 1, ">q", 26, int.from_bytes(content[26:34]) + 1)
    return Kind.TXN_INDEX_LSO, "tx-0", int.from_bytes(content[18:26])


# --- producers --------------------------------------------------------------------------------------------------------


@plant
def a_flipped_bit_in_a_snapshot(data: Path) -> Expected:
    log = Partition(data, "idem-0")
    log.edit("snapshot", -1, ">b", -1, 3)
    return Kind.SNAPSHOT_DAMAGED, "idem-0", log.end


@plant
def a_snapshot_with_another_sequence(data: Path) -> Expected:
    log = Partition(data, "idem-0")
    log.edit("snapshot", -1, ">i", 10 + 10, 5)
    log.edit("snapshot", -1, ">I", 2, crc32c(log.file("snapshot", -1).read_bytes()[6:]))
    return Kind.SNAPSHOT_MISMATCH, "idem-0", log.end


@plant
def no_snapshot_after_a_clean_stop(data: Path) -> Expected:
    log = Partition(data, "idem-0")
    log.remove("snapshot", -1)
    return Kind.SNAPSHOT_MISSING, "idem-0", log.end


@pytest.mark.parametrize("days", [0, 2])
def test_a_producer_may_be_forgotten_that_was_silent_when_the_snapshot_was_written(directory: Path, days: int) -> None:
    log = Partition(directory, "idem-0")
    path = log.file("snapshot", -1)
    none = struct.pack(">i", 0)
    path.write_bytes(struct.pack(">hI", 1, crc32c(none)) + none)
    written = log.batches(-1)[-1][1].max_timestamp / 1000 + days * 86_400
    os.utime(path, (written, written))
    assert {finding.kind for finding in verify(directory).errors} == ({Kind.SNAPSHOT_MISMATCH} if days == 0 else set())


@plant
def a_snapshot_of_more_than_there_is(data: Path) -> Expected:
    log = Partition(data, "idem-0")
    log.file("snapshot", -1).rename(log.path / f"{log.end + 7:020d}.snapshot")
    return Kind.SNAPSHOT_BEYOND_END, "idem-0", log.end + 7


@plant
def a_sequence_left_out(data: Path) -> Expected:
    log = Partition(data, "idem-0")
    last = log.batches(-1)[-1][1]
    fields = {"producer_id": last.producer_id, "producer_epoch": last.producer_epoch, "base_sequence": last.last_sequence + 5}
    return Kind.SEQUENCE_GAP, "idem-0", log.append(build_batch([(last.max_timestamp, None, b"x")], **fields))


@plant
def an_acknowledged_batch_stored_twice(data: Path) -> Expected:
    log = Partition(data, "idem-0")
    return Kind.DUPLICATE_BATCH, "idem-0", log.append(log.batch(-3))


@plant
def a_fenced_epoch_that_wrote(data: Path) -> Expected:
    log = Partition(data, "txj-0")
    zombie = build_batch([(NOW, None, b"x")], producer_id=1000, producer_epoch=5, base_sequence=56, is_transactional=True)
    return Kind.PRODUCER_EPOCH, "txj-0", log.append(zombie)


# --- transactions -----------------------------------------------------------------------------------------------------


@plant
def a_marker_cut_off(data: Path) -> Expected:
    log = Partition(data, "txj-0")
    first = log.batches(-1)[-3][1].base_offset
    path = log.file("log", -1)
    path.write_bytes(path.read_bytes()[:-78])
    return Kind.MARKER_MISSING, "txj-0", first


@plant
def a_marker_that_never_came_where_data_is_gone_too(data: Path) -> Expected:
    """Version 2, so the number of Prepares per epoch is one: the last transaction left neither data nor marker."""
    log = Partition(data, "txj-0")
    position, _ = log.batches(-1)[-3]
    path = log.file("log", -1)
    path.write_bytes(path.read_bytes()[:position])
    return Kind.MARKER_MISSING, "txj-0", 0


@plant
def a_marker_twice(data: Path) -> Expected:
    log = Partition(data, "txj-0")
    return Kind.MARKER_DOUBLED, "txj-0", log.append(log.batch(-1))


@plant
def a_marker_twice_before_version_2(data: Path) -> Expected:
    log = Partition(data, "aborts-0")
    return Kind.MARKER_DOUBLED, "aborts-0", log.append(log.batch(-1))


@plant
def a_marker_that_says_the_opposite(data: Path) -> Expected:
    log = Partition(data, "tx-1")
    marker = log.batches(-1)[-4][1]
    log.change(-4, lambda batch: batch.__setitem__(-9, 1 - batch[-9]))
    return Kind.TRANSACTION_TORN, "tx-1", marker.base_offset


@plant
def a_transaction_that_nobody_will_end(data: Path) -> Expected:
    log = Partition(data, "tx-0")
    stray = build_batch([(NOW, None, b"x")], producer_id=777, producer_epoch=0, base_sequence=0, is_transactional=True)
    return Kind.TRANSACTION_HANGING, "tx-0", log.append(stray)


@plant
def a_record_outside_of_its_open_transaction(data: Path) -> Expected:
    log = Partition(data, "tx-0")
    fields = {"producer_id": 777, "producer_epoch": 0}
    log.append(build_batch([(NOW, None, b"x")], base_sequence=0, is_transactional=True, **fields))
    return Kind.TRANSACTION_TORN, "tx-0", log.append(build_batch([(NOW, None, b"x")], base_sequence=1, **fields))


@plant
def a_falling_coordinator_epoch(data: Path) -> Expected:
    log = Partition(data, "txj-0")
    return Kind.MARKER_COORDINATOR_EPOCH, "txj-0", log.append(end_transaction_marker(1000, 8, True, -1, NOW))


@plant
def a_control_batch_that_is_no_marker(data: Path) -> Expected:
    log = Partition(data, "txj-0")
    odd = build_batch([(NOW, b"\0\0\0\x09", b"")], producer_id=1000, producer_epoch=7, is_transactional=True, is_control=True)
    return Kind.MARKER_DAMAGED, "txj-0", log.append(odd)


@plant
def a_transaction_record_of_an_unknown_version(data: Path) -> Expected:
    log = Partition(data, "__transaction_state-0")
    return Kind.TRANSACTION_LOG, "__transaction_state-0", log.append(build_batch([(NOW, b"\0\0\0\x01x", b"\0\x09")]))


# --- groups -----------------------------------------------------------------------------------------------------------


@plant
def an_offset_committed_beyond_the_end(data: Path) -> Expected:
    log = Partition(data, "__consumer_offsets-0")
    record = (NOW, OffsetCommitKey("g", "plain", 0).encode(), OffsetCommitValue(5_000).encode())
    return Kind.COMMITTED_BEYOND_END, "__consumer_offsets-0", log.append(build_batch([record]))


@plant
def a_group_record_cut_short(data: Path) -> Expected:
    log = Partition(data, "__consumer_offsets-0")
    record = (NOW, OffsetCommitKey("g", "plain", 0).encode(), OffsetCommitValue(5).encode()[:-9])
    return Kind.GROUP_RECORD, "__consumer_offsets-0", log.append(build_batch([record]))


# --- the directory ----------------------------------------------------------------------------------------------------


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
def a_leader_epoch_beyond_the_end(data: Path) -> Expected:
    path = data / "plain-0" / "leader-epoch-checkpoint"
    lines = path.read_text().splitlines()
    path.write_text("\n".join(["0", str(len(lines) - 1), *lines[2:], "9 9999", ""]))
    return Kind.LEADER_EPOCHS, "plain-0", 9999


@plant
def no_leader_epochs(data: Path) -> Expected:
    (data / "plain-0" / "leader-epoch-checkpoint").unlink()
    return Kind.LEADER_EPOCHS, "plain-0", 0


@plant
def a_file_without_an_offset_in_its_name(data: Path) -> Expected:
    (data / "plain-0" / "x.log").write_bytes(b"")
    return Kind.FOREIGN_FILE, "plain-0", None


@plant
def properties_without_a_cluster(data: Path) -> Expected:
    (data / "meta.properties").write_text("version=1\nnode.id=1\n")
    return Kind.META_PROPERTIES, "", None


@plant
def a_swap_file_after_a_clean_stop(data: Path) -> Expected:
    (data / "comp-0" / f"{0:020d}.log.swap").write_bytes(b"")
    return Kind.LEFTOVER, "comp-0", None


def test_enough_kinds_are_planted() -> None:
    assert len(PLANTS) >= 50


@pytest.mark.parametrize("name", PLANTS)
def test_planted_damage_is_found(name: str, directory: Path) -> None:
    expected = PLANTS[name](directory)
    found = {(finding.kind, finding.partition, finding.offset) for finding in verify(directory).errors}
    assert expected in found, f"{name}: wanted {expected}, found {sorted(found, key=str)}"


# --- the same bytes after a kill --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a_torn_last_batch_after_a_clean_stop", "zeros_behind_the_last_batch", "a_swap_file_after_a_clean_stop"])
def test_what_a_kill_may_leave_is_a_note(name: str, directory: Path) -> None:
    kind, partition, _ = PLANTS[name](directory)
    (directory / ".kafka_cleanshutdown").unlink()
    findings = [finding for finding in verify(directory).findings if (finding.kind, finding.partition) == (kind, partition)]
    assert [finding.severity for finding in findings] == [Severity.NOTE]


def test_damage_is_found_without_looking_into_batches_too(directory: Path) -> None:
    kind, partition, offset = PLANTS["a_flipped_bit"](directory)
    assert (kind, partition, offset) in {finding[0:1] + finding[2:4] for finding in verify(directory, records=False).errors}


# --- the command ------------------------------------------------------------------------------------------------------


def test_exit_status_and_json(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify_command(directory, format="json") == 0
    assert json.loads(capsys.readouterr().out)["sound"] is True
    PLANTS["a_marker_cut_off"](directory)
    assert verify_command(directory, format="json") == 1
    answer = json.loads(capsys.readouterr().out)
    assert Counter(finding["kind"] for finding in answer["findings"])["marker-missing"] == 1
    assert verify_command(directory) == 1
    assert "marker-missing" in capsys.readouterr().out
    assert verify_command(directory / "nowhere") == 2


def test_nothing_is_changed(directory: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in directory.rglob("*")}
    verify(directory)
    assert {path: path.stat().st_mtime_ns for path in directory.rglob("*")} == before
