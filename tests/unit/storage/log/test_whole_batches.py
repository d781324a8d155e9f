"""Reads answer with whole batches: a twin that knows every batch tells which, for any position, size and bound."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from oncelog.protocol.records import build_batch, parse_header, patch_offset
from oncelog.storage.files.descriptors import Descriptors
from oncelog.storage.log import whole_batches
from oncelog.storage.log.segment import DamagedSegment, Doubt, Segment
from oncelog.storage.log.stored_records import StoredRecords
from support.simfs import SimFileSystem
from support.storage_kit import T0

BASE = 1_000


class Written:
    """A segment, and its batches as (position, bytes, next offset)."""

    def __init__(self, seed: int, count: int = 30, interval_bytes: int = 200) -> None:
        chance = random.Random(seed)
        fs = SimFileSystem(seed)
        fs.mkdir(Path("/d"))
        self.segment = Segment.create(Descriptors(fs), Path("/d"), BASE, interval_bytes, T0)
        self.batches: list[tuple[int, bytes, int]] = []
        offset = BASE
        for _ in range(count):
            records = [(T0, None, b"v" * chance.choice((1, 30, 300)))] * chance.randrange(1, 4)
            batch = build_batch(records)
            patch_offset(batch, offset, 0)
            offset += len(records) + chance.choice((0, 0, 2))  # some offsets are compacted away
            position = self.segment.append(batch, parse_header(batch).last_offset, T0, 1 << 30)
            self.batches.append((position, bytes(batch), parse_header(batch).next_offset))

    def expected(self, position: int, max_bytes: int, end: int, min_one: bool) -> tuple[bytes, int]:
        found, size, following = [], 0, -1
        for at, batch, next_offset in self.batches:
            if at < position or at >= end:
                continue
            fits = size + len(batch) <= max_bytes and at + len(batch) <= end
            if not fits and not (min_one and not found):
                break
            found.append(batch)
            size, following = size + len(batch), next_offset
            if not fits:
                break
        return b"".join(found), following

    def reopened(self) -> Segment:
        """As the next process finds it: nothing has been looked at."""
        self.segment.save_indexes(final=True)
        return Segment(self.segment.descriptors, self.segment.folder, BASE, self.segment.size, self.segment.index_interval_bytes)

    def spoil(self, number: int, at: int, segment: Segment) -> None:
        position, batch, _ = self.batches[number]
        segment.overwrite(position + at, bytes([batch[at] ^ 1]))


def whole(records: bytes | StoredRecords) -> bytes:
    return records if isinstance(records, bytes) else records.read(0, len(records))


@pytest.mark.parametrize("seed", range(12))
def test_the_batches_that_fit(seed: int) -> None:
    written, chance = Written(seed, interval_bytes=random.Random(seed).choice((0, 200, 10_000))), random.Random(seed)
    ends = [position for position, _, _ in written.batches[1:]] + [written.segment.size]
    for segment in (written.segment, written.reopened()):
        for _ in range(100):
            position = chance.choice(written.batches)[0]
            end = chance.choice([end for end in ends if end > position])
            max_bytes, min_one = chance.choice((0, 1, 60, 61, 400, 3_000, 1 << 20)), chance.random() < 0.5
            expected = written.expected(position, max_bytes, end, min_one)
            assert whole_batches.read(segment, position, max_bytes, end, min_one_message=min_one) == expected
            for in_memory in (0, 200):
                found, following = whole_batches.records(segment, position, max_bytes, end, min_one_message=min_one, in_memory=in_memory)
                assert (whole(found), following) == expected
                assert isinstance(found, StoredRecords) or len(found) <= in_memory


def test_behind_the_last_batch_there_is_nothing() -> None:
    written = Written(1)
    end = written.segment.size
    for min_one in (True, False):
        assert whole_batches.read(written.segment, end, 1_000, end, min_one_message=min_one) == (b"", -1)


def test_with_many_files_held_nothing_stays_in_its_file() -> None:
    written = Written(1)
    written.segment.descriptors._limit = 0
    found, _ = whole_batches.records(written.segment, 0, 1 << 20, written.segment.size, min_one_message=True, in_memory=0)
    assert isinstance(found, bytes)


@pytest.mark.parametrize("at", [3, 15, 16, 17, 20, 60])
def test_what_an_earlier_process_wrote_is_looked_at_when_first_read(at: int) -> None:
    """Base offset, leader epoch, magic, checksum, attributes, a record: any bit of a batch."""
    written = Written(2)
    segment = written.reopened()
    assert segment.index is not None
    written.spoil(5, at, segment)
    position = written.batches[5][0]
    before, _ = whole_batches.read(segment, 0, position, segment.size, min_one_message=True)
    assert len(before) == position
    if at == 15:  # of the epoch nothing is known here
        assert len(whole_batches.read(segment, position, 1 << 20, segment.size, min_one_message=True)[0]) == segment.size - position
        return
    for _ in range(2):
        with pytest.raises(DamagedSegment, match=f"at position {position} of"):
            whole_batches.read(segment, position, 1 << 20, segment.size, min_one_message=True)
    assert segment.walked_to == position


def test_what_was_looked_at_is_not_looked_at_again() -> None:
    written = Written(2)
    segment = written.reopened()
    whole_batches.read(segment, 0, 1 << 20, segment.size, min_one_message=True)
    assert segment.walked_to == segment.size
    written.spoil(5, 60, segment)
    assert len(whole_batches.read(segment, 0, 1 << 20, segment.size, min_one_message=True)[0]) == segment.size


def test_a_gap_in_what_was_looked_at_is_no_permission() -> None:
    written = Written(2)
    segment = written.reopened()
    whole_batches.read(segment, written.batches[9][0], 1 << 20, segment.size, min_one_message=True)
    assert segment.walked_to == 0


def test_this_process_need_not_look_at_what_it_wrote() -> None:
    written = Written(2)
    written.spoil(5, 60, written.segment)
    assert len(whole_batches.read(written.segment, 0, 1 << 20, written.segment.size, min_one_message=True)[0]) == written.segment.size


def test_a_batch_of_another_leader_epoch_than_the_checkpoint_says() -> None:
    class Epochs:
        def __init__(self, epoch: int) -> None:
            self.epoch = epoch

        def epoch_of(self, _offset: int) -> int:
            return self.epoch

    for epoch, damaged in ((0, False), (-1, False), (1, True)):
        segment = Written(3).reopened()
        segment.epochs = Epochs(epoch)  # type: ignore[assignment]
        if damaged:
            with pytest.raises(DamagedSegment):
                whole_batches.read(segment, 0, 1 << 20, segment.size, min_one_message=True)
        else:
            assert len(whole_batches.read(segment, 0, 1 << 20, segment.size, min_one_message=True)[0]) == segment.size


@pytest.mark.parametrize("length", [-1, 0, 48, 1 << 20])
def test_no_batch_where_one_must_begin(length: int) -> None:
    written = Written(4)
    position = written.batches[7][0]
    written.segment.overwrite(position + 8, length.to_bytes(4, signed=True))
    for min_one in (True, False):
        with pytest.raises(DamagedSegment):
            whole_batches.read(written.segment, position, 1 << 20, written.segment.size, min_one_message=min_one)


@pytest.mark.parametrize("in_memory", [None, 0])
def test_an_index_that_leads_astray_costs_no_batch(in_memory: int | None) -> None:
    """Of what this process wrote only the index is in doubt, and made again."""
    written = Written(5, interval_bytes=0)
    segment = written.segment
    last_offset, position = segment.index.floor_position(written.batches[20][0])
    assert position > 0
    index = bytearray(segment.index.encode(0))
    for at in range(4, len(index), 8):
        index[at : at + 4] = (int.from_bytes(index[at : at + 4]) + 3).to_bytes(4)
    segment.save_indexes(final=True)
    segment.descriptors.fs.write_atomic(segment.path(".index"), bytes(index))
    segment._index = segment._index.parse(bytes(index), BASE, segment.size)  # type: ignore[union-attr]
    end = written.batches[20][0]

    def found() -> tuple[bytes, int]:
        if in_memory is None:
            return whole_batches.read(segment, 0, end, segment.size, min_one_message=True)
        stored, following = whole_batches.records(segment, 0, end, segment.size, min_one_message=True, in_memory=in_memory)
        return whole(stored), following

    with pytest.raises(DamagedSegment) as damage:
        found()
    assert damage.value.doubt is Doubt.INDEXES
    segment.rebuild_indexes("an offset entry leads to another batch")
    assert found() == written.expected(0, end, segment.size, True)
    assert last_offset >= BASE
