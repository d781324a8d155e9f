"""Batches by their headers: what became of each."""

from __future__ import annotations

import pytest
from oncelog.broker.console.drawing import batches_in, with_outcomes
from oncelog.protocol.control_records import end_transaction_marker
from oncelog.protocol.records import build_batch, patch_offset

pytestmark = pytest.mark.unit


def data(offset: int, producer: int, *, transactional: bool = True, count: int = 1) -> bytes:
    batch = build_batch([(1, b"k", b"v")] * count, producer_id=producer, producer_epoch=0, base_sequence=0, is_transactional=transactional)
    patch_offset(batch, offset, 3)
    return bytes(batch)


def marker(offset: int, producer: int, commit: bool) -> bytes:
    return bytes(end_transaction_marker(producer, 0, commit, 0, 1, base_offset=offset))


def test_outcomes() -> None:
    log = data(0, -1, transactional=False) + data(1, 7, count=2) + data(3, 8) + marker(4, 7, True) + data(5, 7) + marker(6, 8, False)
    rows = batches_in(log)
    aborted = with_outcomes(rows, [(7, 5)])
    assert [(row["base_offset"], row["outcome"], row["control"]) for row in rows] == [
        (0, "plain", None),
        (1, "committed", None),
        (3, "aborted", None),
        (4, None, "commit"),
        (5, "open", None),
        (6, None, "abort"),
    ]
    assert aborted == [{"producer_id": 8, "first_offset": 3, "last_offset": 6}]
    assert (rows[1]["records"], rows[1]["last_offset"], rows[1]["leader_epoch"], rows[0]["producer_id"]) == (2, 2, 3, None)


def test_a_marker_that_is_not_among_them_leaves_it_unknown() -> None:
    rows = batches_in(data(1, 7))
    assert with_outcomes(rows, [(7, 5)]) == []
    assert rows[0]["outcome"] == "unknown"


def test_damage_ends_the_drawing() -> None:
    good = data(0, 7)
    wrong = bytearray(data(1, 7))
    wrong[8:12] = (3).to_bytes(4, "big")
    assert len(batches_in(good + bytes(wrong))) == 1
    assert len(batches_in(good + data(1, 7)[:-1])) == 1
