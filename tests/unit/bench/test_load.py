from __future__ import annotations

import pytest
from oncelog.protocol.records import build_batch

from tests.bench.load import end_of

pytestmark = pytest.mark.unit


def batch(base_offset: int, count: int) -> bytes:
    made = bytearray(build_batch([(1, None, b"x")] * count))
    made[:8] = base_offset.to_bytes(8)
    return bytes(made)


def test_the_end_of_whole_batches() -> None:
    assert end_of(batch(7, 3) + batch(10, 5)) == 15


def test_a_batch_that_was_cut_does_not_count() -> None:
    assert end_of(batch(7, 3) + batch(10, 5)[:-1]) == 10
    assert end_of(batch(7, 3)[:-1]) is None
    assert end_of(b"") is None
