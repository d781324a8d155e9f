"""Record batches against Kafka's layout, kafka-python's own record writer, and damage."""

from __future__ import annotations

import contextlib
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from oncelog.protocol import records
from oncelog.protocol.compression import Codec
from oncelog.protocol.records import CorruptBatch, Record, build_batch, check_crc, iter_headers, iter_records, parse_header, patch_offset

T = 1_700_000_000_000
ROWS: list[Any] = [
    (T, b"k", b"v"),
    (T + 5, None, b"v" * 300, [("name", b"1"), ("none", None)]),
    (T - 3, b"", None),
]

row = st.tuples(
    st.integers(0, 2**50),
    st.none() | st.binary(max_size=100),
    st.none() | st.binary(max_size=100),
    st.lists(st.tuples(st.text(max_size=10), st.none() | st.binary(max_size=10)), max_size=3),
)


def test_header_fields() -> None:
    batch = build_batch(ROWS, base_offset=40, producer_id=7, producer_epoch=2, base_sequence=9, is_transactional=True, leader_epoch=3)
    header = parse_header(batch)
    assert (header.base_offset, header.partition_leader_epoch, header.magic) == (40, 3, 2)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 2, 9)
    assert (header.last_offset, header.next_offset, header.last_sequence, header.records_count) == (42, 43, 11, 3)
    assert (header.base_timestamp, header.max_timestamp) == (T, T + 5)
    assert header.size_bytes == len(batch) == header.batch_length + 12
    assert header.is_transactional
    assert not header.is_control
    assert not header.is_log_append_time
    assert not header.has_delete_horizon
    assert header.codec == 0


@pytest.mark.parametrize("codec", Codec)
def test_records_are_read_back(codec: Codec) -> None:
    batch = build_batch(ROWS, base_offset=40, codec=codec, producer_id=7, producer_epoch=0, base_sequence=2**31 - 1)
    assert list(iter_records(memoryview(batch))) == [
        Record(40, T, b"k", b"v", [], 2**31 - 1),
        Record(41, T + 5, None, b"v" * 300, [("name", b"1"), ("none", None)], 0),
        Record(42, T - 3, b"", None, [], 1),
    ]
    assert parse_header(batch).last_sequence == 1


@given(st.lists(row, max_size=8), st.sampled_from(Codec))
def test_any_records(rows: list[Any], codec: Codec) -> None:
    batch = build_batch(rows, codec=codec)
    assert check_crc(batch)
    assert [(each.timestamp, each.key, each.value, each.headers) for each in iter_records(batch)] == rows


@given(st.lists(st.tuples(st.binary(max_size=200), st.none() | st.binary(max_size=200)), min_size=1, max_size=4), st.booleans())
def test_a_batch_of_one_time_is_what_build_batch_makes(pairs: list[Any], transactional: bool) -> None:
    attributes = records.TRANSACTIONAL_BIT if transactional else 0
    framed = b"".join(records.record_of(index, *pair) for index, pair in enumerate(pairs))
    batch = records.batch_at(40, 2, T, len(pairs), framed, attributes, 5, 1, 3)
    rows = [(T, *pair) for pair in pairs]
    options: Any = {"base_offset": 40, "leader_epoch": 2, "producer_id": 5, "producer_epoch": 1, "base_sequence": 3}
    assert batch == build_batch(rows, is_transactional=transactional, **options)


@given(st.lists(row, min_size=1, max_size=8))
def test_same_bytes_as_kafka_python(rows: list[Any]) -> None:
    builder = DefaultRecordBatchBuilder(
        magic=2, compression_type=0, is_transactional=1, producer_id=5, producer_epoch=1, base_sequence=3, batch_size=1 << 20
    )
    for index, (timestamp, key, value, headers) in enumerate(rows):
        builder.append(index, timestamp, key, value, headers)
    ours = build_batch(rows, producer_id=5, producer_epoch=1, base_sequence=3, is_transactional=True, leader_epoch=-1)
    theirs = bytes(builder.build())
    patch_offset(ours, 0, struct.unpack_from(">i", theirs, 12)[0])
    assert ours == theirs
    assert DefaultRecordBatch(bytes(ours)).validate_crc()


def test_log_append_time_wins() -> None:
    batch = build_batch(ROWS, log_append_time_ms=T + 1000)
    assert parse_header(batch).is_log_append_time
    assert {each.timestamp for each in iter_records(batch)} == {T + 1000}


def test_patching_offset_and_epoch_keeps_the_crc() -> None:
    batch = build_batch(ROWS)
    patch_offset(memoryview(batch), 1 << 40, 9)
    header = parse_header(batch)
    assert (header.base_offset, header.partition_leader_epoch) == (1 << 40, 9)
    assert check_crc(batch)


def test_every_flipped_bit_under_the_crc_is_noticed() -> None:
    batch = build_batch(ROWS[:1])
    for position in range(records.CRC_START, len(batch)):
        batch[position] ^= 0x10
        assert not check_crc(batch)
        batch[position] ^= 0x10
    assert check_crc(batch)
    assert not check_crc(batch[:20])


def test_headers_of_several_batches() -> None:
    one, two = build_batch(ROWS, base_offset=0), build_batch(ROWS[:1], base_offset=3)
    both = b"junk" + one + two
    found = list(iter_headers(both, 4))
    assert [(pos, header.base_offset) for pos, header in found] == [(4, 0), (4 + len(one), 3)]
    assert [pos for pos, _ in iter_headers(both[:-1], 4)] == [4]  # a torn tail is no error here
    broken = bytearray(one)
    struct.pack_into(">i", broken, 8, 48)
    with pytest.raises(CorruptBatch):
        list(iter_headers(broken))


@pytest.mark.parametrize("count", [2, 4])
def test_a_wrong_count_is_refused(count: int) -> None:
    batch = build_batch(ROWS)
    struct.pack_into(">i", batch, 57, count)
    with pytest.raises(CorruptBatch):
        list(iter_records(batch))


@given(st.integers(61, 60 + 20), st.integers(0, 255))
def test_damaged_records_raise_only_corrupt_batch(position: int, value: int) -> None:
    batch = build_batch(ROWS)
    batch[position] = value
    with contextlib.suppress(CorruptBatch):
        list(iter_records(batch))


def test_a_batch_cut_short_is_refused() -> None:
    batch = build_batch(ROWS)
    for length in range(61, len(batch)):
        with pytest.raises(CorruptBatch):
            list(iter_records(batch[:length]))
