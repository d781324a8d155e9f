"""The sink's batches against the broker's own reading of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oncelog.protocol import primitives, records
from oncelog.spark_jobs.sink import batch_format


@given(st.binary(max_size=40))
def test_murmur2_is_javas(data: bytes) -> None:
    assert batch_format.murmur2(data) & 0x7FFFFFFF == primitives.murmur2(data) & 0x7FFFFFFF


def test_murmur2_vectors() -> None:
    """From UtilsTest of Apache Kafka."""
    known = {b"21": -973932308, b"foobar": -790332482, b"a-little-bit-long-string": -985981536, b"abc": 479470107}
    assert {key: batch_format.murmur2(key) for key in known} == {key: value & 0xFFFFFFFF for key, value in known.items()}


@given(st.binary(max_size=300))
def test_slow_checksum_is_the_fast_one(data: bytes) -> None:
    assert batch_format._table_crc32c(data) == batch_format.crc32c(data)


HEADERS = st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=5)), max_size=2)


ROWS = st.lists(st.tuples(st.none() | st.binary(max_size=9000), st.none() | st.binary(max_size=200), HEADERS), min_size=1, max_size=20)


@given(ROWS, st.sampled_from(["none", "gzip", "zstd"]))
def test_batches_read_back(rows: list[tuple[bytes | None, bytes | None, list[batch_format.Header]]], codec: str) -> None:
    encoded = [
        batch_format.encode_record(number, key, value, batch_format.encode_headers(headers))
        for number, (key, value, headers) in enumerate(rows)
    ]
    batch = batch_format.record_batch(b"".join(encoded), len(rows), 1_700_000_000_000, 1 << 40, 7, 5, batch_format.codec_number(codec))
    header = records.parse_header(batch)
    assert records.check_crc(batch)
    assert (header.producer_id, header.producer_epoch, header.base_sequence, header.records_count) == (1 << 40, 7, 5, len(rows))
    assert header.is_transactional
    assert not header.is_control
    read = list(records.iter_records(batch))
    assert [(record.key, record.value) for record in read] == [(key, value) for key, value, _ in rows]
    assert [record.timestamp for record in read] == [1_700_000_000_000] * len(rows)


def test_unknown_codec_is_refused() -> None:
    with pytest.raises(ValueError, match="choose one of"):
        batch_format.codec_number("lzma")


@given(st.binary(max_size=20), st.integers(1, 50))
def test_keys_go_where_the_java_client_sends_them(key: bytes, partitions: int) -> None:
    assert batch_format.partition_of(key, partitions) == (primitives.murmur2(key) & 0x7FFFFFFF) % partitions


def test_the_best_codec_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert batch_format.codec_number(None) == batch_format.codec_number("zstd")
    monkeypatch.setattr(batch_format, "COMPRESSORS", {0: bytes, batch_format.GZIP: bytes})
    assert batch_format.codec_number(None) == batch_format.GZIP
    with pytest.raises(ValueError, match=r"choose one of none, gzip$"):
        batch_format.codec_number("zstd")


@given(st.integers(0, 2**31 - 1))
def test_signed_varints_are_the_brokers(value: int) -> None:
    assert batch_format.varint(value) == batch_format.zigzag_varint(value) == primitives.varint(value)
    assert batch_format.zigzag_varint(-value) == primitives.varint(-value)
