"""Appending: validation in Kafka's order, producers and transactions, what the broker rewrites."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.records import build_batch, check_crc, iter_records, parse_header, rewrite_crc
from oncelog.storage.log.validation import InvalidRecordError
from oncelog.storage.upkeep.retention import delete_records
from support.storage_kit import T0, Kit, offset_for_timestamp, offsets

pytestmark = pytest.mark.unit


@pytest.fixture
def kit(tmp_path: Path) -> Kit:
    made = Kit(tmp_path / "data")
    made.create()
    return made


def batch(n: int = 1, **options: Any) -> bytearray:
    return build_batch([(T0, b"k", b"v") for _ in range(n)], **options)


def refused(kit: Kit, data: bytearray, **options: Any) -> KafkaError:
    end, size = kit.log.log_end_offset, kit.log.size_bytes()
    with pytest.raises(KafkaError) as caught:
        kit.log.append(data, kit.clock.now_ms, **options)
    assert (kit.log.log_end_offset, kit.log.size_bytes()) == (end, size)
    return caught.value


def test_case_9_max_message_bytes(kit: Kit) -> None:
    size = len(batch(3))
    kit.manager.alter_topic_configs("t", {"max.message.bytes": str(size)})
    kit.log.append(batch(3), T0)
    assert refused(kit, build_batch([(T0, b"k", b"v")] * 2 + [(T0, b"k", b"vv")])).code == ErrorCode.MESSAGE_TOO_LARGE


def test_case_10_flipped_bit(kit: Kit) -> None:
    data = batch(3)
    data[70] ^= 1
    assert refused(kit, data).code == ErrorCode.CORRUPT_MESSAGE


def test_case_11_two_batches(kit: Kit) -> None:
    assert refused(kit, batch() + batch()).code == ErrorCode.INVALID_RECORD


def test_bytes_of_a_cut_batch_behind_are_ignored(kit: Kit) -> None:
    assert kit.log.append(batch() + batch()[:40], T0).base_offset == 0
    assert kit.log.size_bytes() == len(batch())


def test_case_12_base_offset(kit: Kit) -> None:
    assert refused(kit, batch(base_offset=5)).code == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize(
    ("at", "form", "value"), [(57, ">i", 4), (57, ">i", 2), (57, ">i", 0), (23, ">i", 7), (21, ">h", 0x20), (43, ">q", 5)]
)
def test_cases_13_14_contradicting_header(kit: Kit, at: int, form: str, value: int) -> None:
    data = batch(3)
    struct.pack_into(form, data, at, value)
    rewrite_crc(data)
    assert refused(kit, data).code == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("count", [2, 4])
def test_case_13_count_and_content(kit: Kit, count: int) -> None:
    data = batch(3)
    struct.pack_into(">i", data, 57, count)
    struct.pack_into(">i", data, 23, count - 1)
    rewrite_crc(data)
    assert refused(kit, data).code == ErrorCode.INVALID_RECORD


def test_case_15_compacted_topic_needs_keys(kit: Kit) -> None:
    kit.manager.alter_topic_configs("t", {"cleanup.policy": "compact"})
    error = refused(kit, build_batch([(T0, b"k", b"v"), (T0, b"k", b"v"), (T0, None, b"v")]))
    assert isinstance(error, InvalidRecordError)
    assert (error.code, [e.batch_index for e in error.record_errors]) == (ErrorCode.INVALID_RECORD, [2])


def test_case_16_timestamps(kit: Kit) -> None:
    error = refused(kit, build_batch([(T0, b"k", b"v"), (T0 + 3_600_001, b"k", b"v")]))
    assert isinstance(error, InvalidRecordError)
    assert (error.code, [e.batch_index for e in error.record_errors]) == (ErrorCode.INVALID_TIMESTAMP, [1])
    assert kit.log.append(build_batch([(-1, b"k", b"v")]), T0).base_offset == 0


def test_case_17_log_append_time(kit: Kit) -> None:
    kit.manager.alter_topic_configs("t", {"message.timestamp.type": "LogAppendTime"})
    assert kit.log.append(batch(3, codec=3), T0 + 5).log_append_time_ms == T0 + 5
    stored = bytes(kit.log.read(0, 10_000, isolation=0, min_one_message=True).records)
    header = parse_header(stored)
    assert header.is_log_append_time
    assert header.max_timestamp == T0 + 5
    assert check_crc(stored)


def test_case_18_wrong_max_timestamp_is_corrected(kit: Kit) -> None:
    data = batch(3)
    struct.pack_into(">q", data, 35, T0 - 1000)
    rewrite_crc(data)
    kit.log.append(data, T0)
    assert offset_for_timestamp(kit.log, T0, 0) == (0, T0, 0)
    assert offset_for_timestamp(kit.log, T0 + 1, 0) == (-1, -1, -1)


def test_case_19_recompression(kit: Kit) -> None:
    kit.manager.alter_topic_configs("t", {"compression.type": "zstd"})
    kit.log.append(batch(3, codec=1, producer_id=9, producer_epoch=0, base_sequence=4), T0)
    stored = bytes(kit.log.read(0, 10_000, isolation=0, min_one_message=True).records)
    header = parse_header(stored)
    assert (header.codec, header.base_sequence, header.records_count) == (4, 4, 3)
    assert [record.offset for record in iter_records(stored)] == [0, 1, 2]
    assert check_crc(stored)


def test_case_20_batch_larger_than_a_segment(kit: Kit) -> None:
    data = build_batch([(T0, b"k", b"v" * 3000)])
    assert refused(kit, data).code == ErrorCode.RECORD_LIST_TOO_LARGE


def test_case_21_unused_attribute_bits_are_kept(kit: Kit) -> None:
    data = batch()
    struct.pack_into(">h", data, 21, 0x7F80)
    rewrite_crc(data)
    kit.log.append(data, T0)
    assert parse_header(bytes(kit.log.read(0, 999, isolation=0, min_one_message=True).records)).attributes == 0x7F80


def test_duplicates_gaps_and_epochs(kit: Kit) -> None:
    for sequence in range(6):
        kit.append(sequence, pid=5)
    again = kit.append(3, pid=5)
    assert (again.duplicate, again.base_offset, again.log_append_time_ms) == (True, 3, T0)
    codes = []
    for sequence, epoch in ((0, 0), (8, 0), (3, 1), (6, -1)):
        with pytest.raises(KafkaError) as caught:
            kit.append(sequence, pid=5, epoch=epoch)
        codes.append(caught.value.code)
    assert codes == [45, 45, 45, 47]
    assert kit.append(0, pid=5, epoch=1).base_offset == 6
    assert kit.append(77, pid=6).base_offset == 7  # nothing is known of it


def test_sequence_wraps(kit: Kit) -> None:
    kit.append(2**31 - 2, pid=5, n=3)
    assert kit.log.producers()[0].last_sequence == 0
    assert kit.append(2**31 - 2, pid=5, n=3).duplicate
    assert kit.append(1, pid=5).base_offset == 3


def test_transaction_rules(kit: Kit) -> None:
    def code(*args: Any, **options: Any) -> int:
        with pytest.raises(KafkaError) as caught:
            kit.append(*args, **options)
        return caught.value.code

    assert code(0, pid=5, txn=True, verified=False) == ErrorCode.INVALID_TXN_STATE
    assert code(4, pid=5, txn=True, tv2=True) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    kit.append(0, pid=5, txn=True)
    kit.append(1, pid=5, txn=True, verified=False)
    assert code(2, pid=5) == ErrorCode.INVALID_TXN_STATE
    kit.append()
    assert (kit.log.last_stable_offset, kit.log.high_watermark) == (0, 3)
    with pytest.raises(KafkaError) as caught:
        kit.log.append_marker(5, 0, 0, True, T0, transaction_version=2)
    assert caught.value.code == 47
    kit.log.append_marker(5, 1, 0, False, T0, transaction_version=2)
    assert kit.log.append_marker(5, 1, 0, False, T0, transaction_version=2).base_offset == 4  # nothing open: appended
    with pytest.raises(KafkaError) as caught:
        kit.mark(5, True)
    assert caught.value.code == 47
    with pytest.raises(KafkaError) as caught:
        kit.log.append_marker(5, 1, -1, True, T0)
    assert caught.value.code == ErrorCode.TRANSACTION_COORDINATOR_FENCED
    assert offsets(kit.log, 1) == [2]


def test_case_28_aborted_transaction_over_segments_is_listed_once(kit: Kit) -> None:
    for sequence in range(40):
        kit.append(sequence, pid=5, txn=True)
    kit.mark(5, False)
    assert len(kit.log.segments) >= 3
    data = kit.log.read(20, 500, isolation=1, min_one_message=True)
    assert [(entry.producer_id, entry.first_offset) for entry in data.aborted or []] == [(5, 0)]


def test_cases_22_and_25_index_rules(tmp_path: Path) -> None:
    kit = Kit(tmp_path / "data", flush_on_ack=False)
    log = kit.create(segment_index_bytes="48")
    for number in range(200):
        kit.clock.now_ms += 1
        kit.append(n=number % 5 + 1)
    kit.stop()
    for path in sorted(kit.folder.glob("*.index")):
        assert path.stat().st_size <= 48
    written = {path: path.read_bytes() for path in kit.folder.iterdir() if path.suffix in (".index", ".timeindex")}
    for path in written:
        path.unlink()
    kit.start()
    for segment in kit.log.segments:
        segment.rebuild_indexes("test")
    assert {path: path.read_bytes() for path in written} == written
    assert log.log_end_offset == kit.log.log_end_offset


def test_case_62_idle_producers_are_forgotten_by_arrival(tmp_path: Path) -> None:
    kit = Kit(tmp_path / "data", producer_id_expiration_ms=1000)
    kit.create()
    kit.append(5, pid=5)
    kit.append(5, pid=6, txn=True)
    kit.clock.now_ms += 1000
    log = kit.restart()
    assert [entry.producer_id for entry in log.producers()] == [6]
    assert kit.append(99, pid=5).base_offset == 2


def test_delete_records(kit: Kit) -> None:
    for _ in range(10):
        kit.append()
    assert delete_records(kit.log, 4) == 4
    assert offsets(kit.log) == list(range(4, 10))
    for offset in (3, 11):
        with pytest.raises(KafkaError) as caught:
            kit.log.read(offset, 100, isolation=0, min_one_message=True)
        assert caught.value.code == 1 or offset == 4
    with pytest.raises(KafkaError):
        delete_records(kit.log, 11)
    assert delete_records(kit.log, -1) == 10
    assert kit.restart().log_start_offset == 10
