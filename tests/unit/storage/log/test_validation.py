"""Validation in Kafka's order, and what the broker rewrites."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.records import build_batch, check_crc, iter_records, parse_header, rewrite_crc
from oncelog.storage.log.validation import InvalidRecordError
from support.storage_kit import T0, Kit, offset_for_timestamp

pytestmark = pytest.mark.unit


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
