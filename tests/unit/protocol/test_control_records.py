"""Marker batches are Kafka's, byte for byte."""

from __future__ import annotations

from oncelog.protocol.control_records import EndTransactionMarker, end_transaction_marker, parse_end_transaction_marker
from oncelog.protocol.records import build_batch, check_crc, parse_header

T = 1_700_000_000_000
COMMIT = (
    "000000000000002a0000004200000000020e5f75350030000000000000018bcfe568000000018bcfe5680000000000000003e80005ffffffff"
    "000000012000000008000000010c00000000000300"
)
ABORT = (
    "000000000000002a000000420000000002fa61a37d0030000000000000018bcfe568000000018bcfe5680000000000000003e80005ffffffff"
    "000000012000000008000000000c00000000000300"
)
ABORT_WITH_LEADER_EPOCH = (
    "00000000000000780000004200000004022ac553590030000000000000018bcfe6ee9f0000018bcfe6ee9f000000000000004d0003ffffffff"
    "000000012000000008000000000c00000000000900"
)


def test_commit_marker_is_kafkas() -> None:
    assert end_transaction_marker(1000, 5, True, 3, T, base_offset=42).hex() == COMMIT


def test_abort_marker_is_kafkas() -> None:
    assert end_transaction_marker(1000, 5, False, 3, T, base_offset=42).hex() == ABORT
    assert end_transaction_marker(77, 3, False, 9, T + 99_999, base_offset=120, leader_epoch=4).hex() == ABORT_WITH_LEADER_EPOCH


def test_marker_is_read_back() -> None:
    assert parse_end_transaction_marker(bytes.fromhex(COMMIT)) == EndTransactionMarker(True, 3)
    assert parse_end_transaction_marker(bytes.fromhex(ABORT_WITH_LEADER_EPOCH)) == EndTransactionMarker(False, 9)


def test_marker_header() -> None:
    batch = bytes.fromhex(COMMIT)
    header = parse_header(batch)
    assert header.is_control
    assert header.is_transactional
    assert not header.is_log_append_time
    assert header.last_sequence == -1
    assert check_crc(batch)


def test_data_and_empty_control_batches_are_no_markers() -> None:
    assert parse_end_transaction_marker(build_batch([(T, b"k", b"v")])) is None
    assert parse_end_transaction_marker(build_batch([], is_control=True)) is None
    leader_change = build_batch([(T, b"\x00\x00\x00\x02", b"\x00\x00")], is_control=True)
    assert parse_end_transaction_marker(leader_change) is None


def test_higher_version_and_longer_value_are_read() -> None:
    batch = build_batch([(T, b"\x00\x07\x00\x01", b"\x00\x07\x00\x00\x00\x09and more")], is_control=True, is_transactional=True)
    assert parse_end_transaction_marker(batch) == EndTransactionMarker(True, 9)
