"""Frames of a journal: whole or not at all, each in blocks of its own."""

from __future__ import annotations

import random

import pytest
from oncelog.protocol.records import build_batch, patch_offset
from oncelog.storage.journal.frames import BLOCK_BYTES, entries_of, entry_head, in_blocks, largest_frame, pack_frame, whole_frames

pytestmark = pytest.mark.unit
LIFE = b"12345678"
ID = b"i" * 16


def entry(offset: int, value: bytes = b"v") -> tuple[bytes, bytes]:
    batch = build_batch([(0, None, value)])
    patch_offset(batch, offset, 0)
    return entry_head(ID, 3), bytes(batch)


def test_what_goes_in_comes_out() -> None:
    first, second = entry(7), entry(8, b"w" * 5000)
    data = pack_frame(LIFE, 1, [*first, *second]) + pack_frame(LIFE, 2, entry(9))
    frames = list(whole_frames(memoryview(data)))
    assert [(frame.end, frame.life, frame.sequence) for frame in frames] == [(2 * BLOCK_BYTES, LIFE, 1), (3 * BLOCK_BYTES, LIFE, 2)]
    found = [(one.topic_id, one.partition, bytes(one.batch)) for frame in frames for one in entries_of(frame)]
    assert found == [(ID, 3, first[1]), (ID, 3, second[1]), (ID, 3, entry(9)[1])]


def test_a_frame_begins_and_ends_with_a_block() -> None:
    sizes = [len(pack_frame(LIFE, 1, entry(0, b"v" * size))) for size in (1, 3900, 3980, 4000, 9000)]
    assert all(size % BLOCK_BYTES == 0 for size in sizes)
    assert sizes == sorted(sizes)
    assert (in_blocks(0), in_blocks(1), in_blocks(BLOCK_BYTES)) == (0, BLOCK_BYTES, BLOCK_BYTES)


@pytest.mark.parametrize("way", ["flip", "zero", "cut"])
def test_damage_at_every_byte_costs_that_frame_and_no_other(way: str) -> None:
    whole = [pack_frame(LIFE, n, entry(n)) for n in (1, 2, 3)]
    used = 24 + sum(map(len, entry(2)))
    for at in range(used):
        hit = bytearray(whole[1])
        if way == "flip":
            hit[at] ^= 1 << at % 8
        elif way == "zero":
            hit[at:] = bytes(len(hit) - at)
        else:
            hit[at : at + 1] = b""
            hit += b"\0"
        frames = [frame.sequence for frame in whole_frames(memoryview(whole[0] + bytes(hit) + whole[2]))]
        assert frames == ([1, 2, 3] if bytes(hit) == whole[1] else [1, 3]), (way, at)


def test_a_file_that_ends_anywhere_has_the_frames_before() -> None:
    data = b"".join(pack_frame(LIFE, n, entry(n)) for n in (1, 2, 3))
    used = 24 + sum(map(len, entry(1)))
    for size in range(0, len(data), 7):
        whole = (size >= used) + (size >= BLOCK_BYTES + used) + (size >= 2 * BLOCK_BYTES + used)
        assert len(list(whole_frames(memoryview(data)[:size]))) == whole, size


def test_garbage_and_zeros_hold_no_frames() -> None:
    chance = random.Random(1)
    for data in (b"", bytes(5 * BLOCK_BYTES), chance.randbytes(5 * BLOCK_BYTES), b"\xff" * BLOCK_BYTES):
        assert list(whole_frames(memoryview(data))) == []


def test_the_largest_frame_leaves_room_for_others() -> None:
    assert largest_frame(32 << 20) == 1 << 20
    assert largest_frame(8 * BLOCK_BYTES) == 2 * BLOCK_BYTES
