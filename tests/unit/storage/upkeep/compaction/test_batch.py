"""The batch that stays of a batch without records."""

from __future__ import annotations

from oncelog.protocol.records import build_batch, parse_header
from oncelog.storage.upkeep.compaction.batch import empty_batch
from support.compacted_log import T0


def test_an_empty_batch_is_61_bytes_and_valid() -> None:
    header = parse_header(build_batch([(T0, b"a", b"b")], codec=3, producer_id=1, producer_epoch=0, base_sequence=4, base_offset=9))
    empty = parse_header(empty_batch(header))
    assert (empty.base_offset, empty.last_offset, empty.codec, empty.size_bytes) == (9, 9, 0, 61)
