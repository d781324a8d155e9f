"""The auditor's own parsers: they read what the broker's writers write, and refuse every change to what a CRC or a count covers."""

from __future__ import annotations

import random
import struct
import time
import uuid
from pathlib import Path

import pytest
from oncelog.protocol.names import TopicPartition
from oncelog.protocol.primitives import crc32c
from oncelog.storage.audit.raw_formats import (
    OffsetEntry,
    ProducerEntry,
    TimeEntry,
    TxnEntry,
    is_vouched,
    parse_clean_marker,
    parse_leader_epochs,
    parse_offset_checkpoint,
    parse_offset_index,
    parse_partition_metadata,
    parse_properties,
    parse_snapshot,
    parse_time_index,
    parse_txn_index,
    used_slots,
)
from oncelog.storage.env import OsFileSystem
from oncelog.storage.files import checkpoints
from oncelog.storage.files.damaged_file import DamagedFile
from oncelog.storage.files.snapshot import encode_snapshot
from oncelog.storage.log.producer_state import CachedBatch, ProducerStateEntry


@pytest.mark.parametrize("entry_bytes", [8, 12])
def test_the_unused_rest_of_an_index_costs_nothing(entry_bytes: int) -> None:
    data = b"\1" * (3 * entry_bytes - 2) + bytes(2) + bytes(10 << 20)
    begin = time.process_time()
    assert used_slots(data, entry_bytes) == 3
    assert time.process_time() - begin < 0.2
    assert used_slots(bytes(entry_bytes * 5), entry_bytes) == 0
    assert used_slots(b"\1" * (entry_bytes + 3), entry_bytes) == 1


def test_index_entries_are_absolute_and_padding_is_left_out() -> None:
    assert parse_offset_index(struct.pack(">iiii", 3, 100, 9, 4000) + bytes(24), 1000) == [OffsetEntry(1003, 100), OffsetEntry(1009, 4000)]
    assert parse_time_index(struct.pack(">qiqi", 5, 0, 77, 2) + bytes(24), 10) == [TimeEntry(5, 10), TimeEntry(77, 12)]
    assert parse_offset_index(struct.pack(">ii", 3, 100) + b"\1\1\1", 0) == [OffsetEntry(3, 100)]
    assert parse_offset_index(b"", 0) == parse_time_index(bytes(36), 0) == []


def test_a_transaction_index_is_whole_entries_of_version_0() -> None:
    entry = struct.pack(">hqqqq", 0, 7, 1, 5, 6)
    assert parse_txn_index(entry * 2) == [TxnEntry(7, 1, 5, 6)] * 2
    assert parse_txn_index(b"") == []
    for size in range(1, len(entry)):
        with pytest.raises(DamagedFile, match="the last entry is torn"):
            parse_txn_index(entry + entry[:size])
    with pytest.raises(DamagedFile, match="entry 1 has version 1"):
        parse_txn_index(entry + b"\0\1" + entry[2:])


def snapshot(seed: int) -> tuple[bytes, list[ProducerEntry]]:
    """As the broker writes one, and what stands in it."""
    chance = random.Random(seed)
    packed, expected = {}, []
    for producer_id in range(seed % 4):
        epoch, coordinator_epoch, time_ms = chance.randrange(2**15), chance.randrange(-1, 9), chance.randrange(2**40)
        sequence, offset, delta = chance.randrange(2**31), chance.randrange(100, 2**60), chance.randrange(100)
        first = chance.choice([None, chance.randrange(2**60)])
        batch = CachedBatch(sequence, offset, delta, time_ms)
        packed[producer_id] = ProducerStateEntry(producer_id, epoch, coordinator_epoch, time_ms, 0, first, (batch,)).pack()
        opened = -1 if first is None else first
        expected.append(ProducerEntry(producer_id, epoch, sequence, offset, delta, time_ms, coordinator_epoch, opened))
    return encode_snapshot(packed), expected


def test_a_snapshot_of_the_broker_is_read() -> None:
    for seed in range(40):
        data, expected = snapshot(seed)
        assert parse_snapshot(data) == expected


def test_every_flipped_bit_and_every_cut_of_a_snapshot_is_noticed() -> None:
    data, _ = snapshot(3)
    for at in range(len(data)):
        with pytest.raises(DamagedFile):
            parse_snapshot(data[:at])
        with pytest.raises(DamagedFile):
            parse_snapshot(data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1 :])


@pytest.mark.parametrize(("count", "entries"), [(-1, 0), (1, 0), (2**31 - 1, 0), (0, 1), (1, 2)])
def test_a_snapshot_whose_count_is_another_with_a_right_crc(count: int, entries: int) -> None:
    body = struct.pack(">i", count) + bytes(46 * entries)
    with pytest.raises(DamagedFile, match=f"{count} producers do not fill {10 + 46 * entries} bytes"):
        parse_snapshot(struct.pack(">hI", 1, crc32c(body)) + body)


def test_checkpoints_of_the_broker_are_read(tmp_path: Path) -> None:
    fs, path = OsFileSystem(), tmp_path / "recovery-point-offset-checkpoint"
    offsets = {TopicPartition("a", 0): 0, TopicPartition("b.c", 2**31 - 1): 2**63 - 1}
    checkpoints.write_offsets(fs, path, offsets)
    assert parse_offset_checkpoint(path.read_bytes()) == offsets
    assert is_vouched(path.read_bytes())
    checkpoints.write_offsets(fs, path, {})
    assert parse_offset_checkpoint(path.read_bytes()) == {}
    assert is_vouched(path.read_bytes())
    checkpoints.write_epochs(fs, path, [(0, 0), (4, 100)])
    assert parse_leader_epochs(path.read_bytes()) == [(0, 0), (4, 100)]


def test_a_checkpoint_of_kafka_has_no_crc() -> None:
    for data in (b"", b"0\n0\n", b"0\n1\na 0 7\n"):
        assert parse_offset_checkpoint(data) == ({("a", 0): 7} if b"a" in data else {})
        assert not is_vouched(data)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("0", "no version and count"),
        ("x\n0\n", "no version and count"),
        ("1\n0\n", "version 1"),
        ("0\n2\na 0 1\n", "1 lines, 2 announced"),
        ("0\n1\na 0\n", "line 3 has 2 words instead of 3"),
        ("0\n1\na 0 1 2\n", "line 3 has 4 words instead of 3"),
        ("0\n1\na x 1\n", "invalid literal"),
        ("0\n2\na 0 1\na 0 2\n", "stands there twice"),
        ("0\n1\na 0 -1\n", "out of range"),
        (f"0\n1\na 0 {2**63}\n", "out of range"),
        ("0\n1\na -1 0\n", "out of range"),
        (f"0\n1\na {2**31} 0\n", "out of range"),
        ("0\n1\na/b 0 0\n", "out of range"),
        (f"0\n1\n{'a' * 250} 0 0\n", "out of range"),
        ("0\n1\nä 0 0\n", "no ASCII"),
        ("0\n2\na 0 1\noncelog::crc32c 0 7\n", "wrong CRC"),
    ],
)
def test_a_damaged_offset_checkpoint(text: str, why: str) -> None:
    with pytest.raises(DamagedFile, match=why):
        parse_offset_checkpoint(text.encode())


def test_damaged_leader_epochs() -> None:
    for text in ("0\n1\n1\n", "0\n1\n1 x\n", "7\n0\n"):
        with pytest.raises(DamagedFile):
            parse_leader_epochs(text.encode())


def test_partition_metadata_of_the_broker_is_read() -> None:
    topic_id = uuid.UUID(int=2**100 + 7)
    text = checkpoints.topic_id_text(topic_id)
    assert parse_partition_metadata(text) == parse_partition_metadata(text + b"\n") == topic_id
    for damage in (b"", text[:-1], text.replace(b"version: 0", b"version: 1"), text + b"x"):
        with pytest.raises(DamagedFile, match="not `version: 0`"):
            parse_partition_metadata(damage)
    with pytest.raises(DamagedFile, match="the topic id is zero"):
        parse_partition_metadata(checkpoints.topic_id_text(uuid.UUID(int=0)))


def test_properties_without_escapes() -> None:
    assert parse_properties(b"#comment\n\n version = 1\ncluster.id=a=b\nempty=\n") == {"version": "1", "cluster.id": "a=b", "empty": ""}
    with pytest.raises(DamagedFile, match="no `=` in 'version 1'"):
        parse_properties(b"version 1\n")


def test_of_the_clean_marker_only_its_existence_matters(tmp_path: Path) -> None:
    checkpoints.write_clean_marker(OsFileSystem(), tmp_path / "marker")
    assert parse_clean_marker((tmp_path / "marker").read_bytes()) == -1
    assert parse_clean_marker(b'{"version":0,"brokerEpoch":12}') == 12
    for other in (b"", b"{", b"{}", b"[]", b"7", b"\xff\xfe"):
        assert parse_clean_marker(other) is None
