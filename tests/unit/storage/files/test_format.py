"""The worked examples of storage/FORMAT.md are what the code writes."""

from __future__ import annotations

import re
import struct
from importlib.resources import files

import pytest
from oncelog.protocol.control_records import end_transaction_marker
from oncelog.protocol.primitives import crc32c
from oncelog.protocol.records import build_batch, parse_header
from oncelog.storage.audit.raw_formats import (
    OFFSET_ENTRY,
    SNAPSHOT_ENTRY,
    TIME_ENTRY,
    TXN_ENTRY,
    OffsetEntry,
    ProducerEntry,
    TimeEntry,
    TxnEntry,
    parse_offset_index,
    parse_snapshot,
    parse_time_index,
    parse_txn_index,
)
from oncelog.storage.upkeep.compaction.batch import empty_batch

T = 1_700_000_000_000


def example(name: str) -> bytes:
    """The bytes of one ```hex NAME block; remarks stand behind them."""
    text = (files("oncelog.storage") / "FORMAT.md").read_text()
    match = re.search(rf"```hex {name}\n(.*?)```", text, re.S)
    assert match is not None, name
    data = bytearray()
    for line in match[1].splitlines():
        for word in line.split():
            if not re.fullmatch(r"[0-9a-f]{2}", word):
                break
            data.append(int(word, 16))
    return bytes(data)


def batch() -> bytearray:
    records = [(T, b"k1", b"hello"), (T + 5, None, b"", [("h", b"v")])]
    return build_batch(records, base_offset=42, producer_id=1000, producer_epoch=5, base_sequence=7)


def snapshot() -> bytes:
    body = struct.pack(">i", 1) + SNAPSHOT_ENTRY.pack(1000, 5, 8, 43, 1, T + 5, 3, -1)
    return struct.pack(">hI", 1, crc32c(body)) + body


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("batch", bytes(batch())),
        ("marker", bytes(end_transaction_marker(1000, 5, False, 3, T, base_offset=44))),
        ("empty", bytes(empty_batch(parse_header(batch())))),
        ("index", OFFSET_ENTRY.pack(8, 4211)),
        ("timeindex", TIME_ENTRY.pack(T + 5, 8)),
        ("txnindex", TXN_ENTRY.pack(0, 1000, 32, 44, 45)),
        ("snapshot", snapshot()),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_example_is_what_is_written(name: str, expected: bytes) -> None:
    assert example(name) == expected


def test_examples_are_read_back() -> None:
    assert parse_offset_index(example("index"), 0) == [OffsetEntry(8, 4211)]
    assert parse_time_index(example("timeindex"), 0) == [TimeEntry(T + 5, 8)]
    assert parse_txn_index(example("txnindex")) == [TxnEntry(1000, 32, 44, 45)]
    assert parse_snapshot(example("snapshot")) == [ProducerEntry(1000, 5, 8, 43, 1, T + 5, 3, -1)]
