"""Batches, segments, snapshots and epoch lines of one folder: each damage to them is found, and what a kill may leave is a note."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest
from oncelog.protocol.primitives import crc32c
from oncelog.storage.audit.findings import Kind, Severity
from oncelog.storage.audit.verify import verify
from support.damage import Partition
from support.plants import NOW, Expected, Plants

plant = Plants()


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


@plant
def a_snapshot_of_more_than_there_is(data: Path) -> Expected:
    log = Partition(data, "idem-0")
    log.file("snapshot", -1).rename(log.path / f"{log.end + 7:020d}.snapshot")
    return Kind.SNAPSHOT_BEYOND_END, "idem-0", log.end + 7


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
def a_swap_file_after_a_clean_stop(data: Path) -> Expected:
    (data / "comp-0" / f"{0:020d}.log.swap").write_bytes(b"")
    return Kind.LEFTOVER, "comp-0", None


@pytest.mark.parametrize("name", plant)
def test_planted_damage_is_found(name: str, directory: Path) -> None:
    assert plant.complaint(name, directory) is None


@pytest.mark.parametrize("days", [0, 2])
def test_a_producer_may_be_forgotten_that_was_silent_when_the_snapshot_was_written(directory: Path, days: int) -> None:
    log = Partition(directory, "idem-0")
    path = log.file("snapshot", -1)
    none = struct.pack(">i", 0)
    path.write_bytes(struct.pack(">hI", 1, crc32c(none)) + none)
    written = log.batches(-1)[-1][1].max_timestamp / 1000 + days * 86_400
    os.utime(path, (written, written))
    assert {finding.kind for finding in verify(directory).errors} == ({Kind.SNAPSHOT_MISMATCH} if days == 0 else set())


@pytest.mark.parametrize("name", ["a_torn_last_batch_after_a_clean_stop", "zeros_behind_the_last_batch", "a_swap_file_after_a_clean_stop"])
def test_what_a_kill_may_leave_is_a_note(name: str, directory: Path) -> None:
    kind, partition, _ = plant[name](directory)
    (directory / ".kafka_cleanshutdown").unlink()
    findings = [finding for finding in verify(directory).findings if (finding.kind, finding.partition) == (kind, partition)]
    assert [finding.severity for finding in findings] == [Severity.NOTE]


def test_damage_is_found_without_looking_into_batches_too(directory: Path) -> None:
    kind, partition, offset = plant["a_flipped_bit"](directory)
    assert (kind, partition, offset) in {finding[0:1] + finding[2:4] for finding in verify(directory, records=False).errors}
