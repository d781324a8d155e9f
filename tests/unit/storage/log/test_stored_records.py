"""Long answers that stay in their file: the same bytes as read at once, whatever becomes of the segment meanwhile."""

from __future__ import annotations

import gc
import random
from pathlib import Path

import pytest
from oncelog.storage.log.stored_records import StoredRecords
from support.inline import delete_topic
from support.storage_kit import T0 as T0
from support.storage_kit import Kit

pytestmark = pytest.mark.unit


def whole(records: object) -> bytes:
    """All bytes, read in odd pieces."""
    if not isinstance(records, StoredRecords):
        assert isinstance(records, bytes)
        return records
    parts, at = [], 0
    while at < len(records):
        parts.append(records.read(at, 777))
        at += len(parts[-1])
    return b"".join(parts)


@pytest.mark.parametrize("seed", range(30))
def test_the_same_batches_as_read_at_once(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    kit = Kit(tmp_path)
    log = kit.create(index_interval_bytes=chance.choice(["100", "4096"]), internal_segment_bytes=chance.choice(["5000", "50000"]))
    for _ in range(150):
        kit.append(n=chance.choice([1, 1, 3, 40]))
    if seed % 3 == 0:
        log = kit.restart()  # nothing has been looked at yet
    for _ in range(60):
        offset, size = chance.randrange(log.log_end_offset), chance.choice([1, 100, 1000, 10_000, 1 << 20])
        one = chance.random() < 0.7
        stored = log.read(offset, size, isolation=0, min_one_message=one, in_memory=chance.choice([0, 500]))
        at_once = log.read(offset, size, isolation=0, min_one_message=one)
        assert whole(stored.records) == at_once.records


def test_no_more_is_read_than_headers(tmp_path: Path) -> None:
    kit = Kit(tmp_path)
    log = kit.create(internal_segment_bytes="10000000")
    for _ in range(400):
        kit.append(n=20)
    read: list[int] = []
    file = log.descriptors.get(log.active_segment.log_path)
    pread = file.pread

    class Counting:
        def __getattr__(self, name: str) -> object:
            return getattr(file, name)

        def pread(self, size: int, offset: int) -> bytes:
            read.append(size)
            return pread(size, offset)

    log.descriptors._open[log.active_segment.log_path] = Counting()  # type: ignore[assignment]
    found = log.read(0, 1 << 30, isolation=0, min_one_message=True, in_memory=100)
    assert isinstance(found.records, StoredRecords)
    assert len(found.records) == log.active_segment.size > 100_000
    assert sum(read) < 50_000


@pytest.mark.parametrize("fate", ["deleted", "compacted", "topic deleted"])
def test_what_is_taken_out_of_the_log_can_still_be_sent(tmp_path: Path, fate: str) -> None:
    kit = Kit(tmp_path)
    log = kit.create(file_delete_delay_ms="0")
    for _ in range(100):
        kit.append(n=3)
    segment = log.segments[0]
    expected = log.read(0, 1 << 20, isolation=0, min_one_message=True).records
    stored = log.read(0, 1 << 20, isolation=0, min_one_message=True, in_memory=0).records
    assert isinstance(stored, StoredRecords)
    if fate == "deleted":
        log.advance_log_start(log.segments[1].base_offset)
        log.segments.remove_oldest(1, T0, 0)
        log.segments.purge(T0)
    elif fate == "compacted":
        segment.rewrite([])
    else:
        delete_topic(kit.manager, "t")
    assert fate == "compacted" or not Path(segment.log_path).exists()
    assert whole(stored) == expected


def test_a_file_that_became_too_short_is_no_answer(tmp_path: Path) -> None:
    kit = Kit(tmp_path)
    log = kit.create()
    for _ in range(10):
        kit.append(n=3)
    stored = log.read(0, 1 << 20, isolation=0, min_one_message=True, in_memory=0).records
    assert isinstance(stored, StoredRecords)
    log.active_segment.truncate(log.active_segment.size - 1 if len(log.segments) == 1 else 0)
    with open(log.segments[0].log_path, "r+b") as file:
        file.truncate(10)
    with pytest.raises(OSError, match="ends at"):
        whole(stored)


def test_the_file_is_held_no_longer_than_the_answer(tmp_path: Path) -> None:
    kit = Kit(tmp_path)
    log = kit.create()
    for _ in range(100):
        kit.append(n=3)
    held = [log.read(0, 1 << 20, isolation=0, min_one_message=True, in_memory=0).records for _ in range(3)]
    assert kit.manager.descriptors._pins == {log.segments[0].log_path: 3}
    held.clear()
    gc.collect()
    assert not kit.manager.descriptors._pins


def test_with_many_files_held_answers_are_read_at_once_and_short(tmp_path: Path) -> None:
    kit = Kit(tmp_path)
    log = kit.create(internal_segment_bytes="10000000")
    for _ in range(4000):
        kit.append(n=20)
    assert log.active_segment.size > 1 << 20
    kit.manager.descriptors._limit = 0
    found = log.read(0, 1 << 30, isolation=0, min_one_message=True, in_memory=0).records
    assert isinstance(found, bytes)
    assert 0 < len(found) <= 1 << 20
