"""The aborted transactions beside a read: all that overlap it, and as many more as Apache Kafka lists."""

from __future__ import annotations

from pathlib import Path

import pytest
from oncelog.protocol.records import iter_headers
from support.storage_kit import Kit

pytestmark = pytest.mark.unit


def test_case_28_aborted_transaction_over_segments_is_listed_once(kit: Kit) -> None:
    for sequence in range(40):
        kit.append(sequence, pid=5, txn=True)
    kit.mark(5, False)
    assert len(kit.log.segments) >= 3
    data = kit.log.read(20, 500, isolation=1, min_one_message=True)
    assert [(entry.producer_id, entry.first_offset) for entry in data.aborted or []] == [(5, 0)]


TRANSACTIONS = 30
BATCHES = 3


def written(kit: Kit, **configs: str) -> None:
    """Aborted transactions one after the other, each with a producer id of its own, over several segments."""
    log = kit.create(**configs)
    for number in range(TRANSACTIONS):
        for sequence in range(BATCHES):
            kit.append(sequence, pid=number, txn=True)
        kit.mark(number, commit=False)
    assert len(log.segments) > 3


def listed(kit: Kit, offset: int, max_bytes: int) -> tuple[list[int], set[int]]:
    """Producer ids as they are listed, and those of the batches that came with them."""
    data = kit.log.read(offset, max_bytes, isolation=1, min_one_message=True)
    return [entry.producer_id for entry in data.aborted or []], {header.producer_id for _, header in iter_headers(bytes(data.records))}


@pytest.mark.parametrize("max_bytes", [1, 300, 700, 5_000])
def test_without_an_index_to_the_end_of_the_segment(tmp_path: Path, max_bytes: int) -> None:
    kit = Kit(tmp_path / "data")
    written(kit, index_interval_bytes="1000000")
    bases = [segment.base_offset for segment in kit.log.segments] + [kit.log.log_end_offset]
    step = BATCHES + 1
    for offset in range(kit.log.log_end_offset):
        end = next(base for base in bases if base > offset)
        assert listed(kit, offset, max_bytes)[0] == list(range(offset // step, (end - 1) // step + 1))


def test_to_the_next_indexed_batch(tmp_path: Path) -> None:
    totals = []
    for interval in (1, 700, 1_000_000):
        kit = Kit(tmp_path / str(interval))
        written(kit, index_interval_bytes=str(interval))
        totals.append(0)
        for offset in range(kit.log.log_end_offset):
            pids, present = listed(kit, offset, 1)
            assert pids[: len(present)] == sorted(present)
            assert interval > 1 or set(pids) == present
            totals[-1] += len(pids)
    assert totals[0] < totals[1] < totals[2]


def test_an_index_that_is_wrong_hides_none(tmp_path: Path) -> None:
    kit = Kit(tmp_path / "data")
    written(kit, index_interval_bytes="1")
    for segment in kit.log.segments:
        segment.index.offsets[:] = type(segment.index.offsets)("i", range(len(segment.index)))
    for offset in range(kit.log.log_end_offset):
        pids, present = listed(kit, offset, 700)
        assert present <= set(pids)
