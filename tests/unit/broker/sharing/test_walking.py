"""What stands in a read: batches, aborted ones, the part that was acquired; from memory and from a file."""

from __future__ import annotations

from pathlib import Path

import pytest
from oncelog.broker.sharing.acquiring import Acquired, Span
from oncelog.broker.sharing.walking import cut, walk
from oncelog.protocol.records import build_batch, iter_headers
from oncelog.storage.files.txn_index import AbortedTxn
from oncelog.storage.log.stored_records import StoredRecords


class File:
    """Descriptors with one file, as `StoredRecords` needs them."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.pins = 0

    def pin(self, _path: str) -> File:
        self.pins += 1
        return self

    def unpin(self, _path: str) -> None:
        self.pins -= 1

    def pread(self, size: int, position: int) -> bytes:
        return self.data[position : position + size]


def batch(base: int, count: int, value: bytes = b"v", **more: object) -> bytes:
    return bytes(build_batch([(0, None, value)] * count, base_offset=base, **more))  # type: ignore[arg-type]


BATCHES = [batch(10, 5), batch(15, 1, b"x" * 70_000), batch(20, 3), batch(23, 2)]
DATA = b"".join(BATCHES)


@pytest.fixture(params=["memory", "file"])
def records(request: pytest.FixtureRequest) -> bytes | StoredRecords:
    if request.param == "memory":
        return DATA
    return StoredRecords(File(b"before" + DATA), str(Path("any")), 6, len(DATA))  # type: ignore[arg-type]


def content(piece: object) -> bytes:
    return piece.read(0, len(piece)) if isinstance(piece, StoredRecords) else bytes(piece)  # type: ignore[call-overload,no-any-return]


def test_batches(records: bytes | StoredRecords) -> None:
    walked = walk(records, 1_000, None)
    assert walked.spans == [Span(10, 14), Span(15, 15), Span(20, 22), Span(23, 24)]
    assert walked.end == len(DATA)
    assert walk(records, 14, None).spans == [Span(10, 14)]
    assert walk(records, 15, None).end == len(BATCHES[0]) + len(BATCHES[1])
    assert walk(b"", 5, None).spans == []


def test_the_part_that_was_acquired(records: bytes | StoredRecords) -> None:
    walked = walk(records, 1_000, None)
    assert cut(records, walked, [Acquired(10, 24, 1)]) is records
    assert content(cut(records, walked, [Acquired(12, 12, 1)])) == BATCHES[0]
    assert content(cut(records, walked, [Acquired(15, 15, 1), Acquired(20, 20, 1)])) == BATCHES[1] + BATCHES[2]
    assert content(cut(records, walked, [Acquired(16, 21, 1)])) == BATCHES[2]  # its beginning has no records
    some = walk(records, 15, None)
    assert content(cut(records, some, [Acquired(10, 15, 1)])) == BATCHES[0] + BATCHES[1]


def test_a_batch_that_is_cut_short_is_none() -> None:
    assert walk(DATA[:-1], 1_000, None).spans[-1] == Span(20, 22)


def test_aborted_batches() -> None:
    mine = {"producer_id": 7, "producer_epoch": 0, "is_transactional": True}
    data = b"".join(
        (
            batch(0, 2, base_sequence=0, **mine),
            batch(2, 1, base_sequence=2, **mine),
            batch(3, 1, producer_id=8, producer_epoch=0, base_sequence=0, is_transactional=True),
            batch(4, 1),
            batch(6, 1, base_sequence=3, **mine),
        )
    )
    aborted = [AbortedTxn(7, 2, 5, 6), AbortedTxn(9, 0, 9, 9)]
    assert walk(data, 1_000, aborted).aborted == [Span(2, 2)]
    assert walk(data, 1_000, None).aborted == []
    assert len(list(iter_headers(data))) == 5
