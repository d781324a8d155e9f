"""`.snapshot` and `oncelog.window`: what is kept of a producer, and that damage is told from content."""

from __future__ import annotations

import struct

import pytest
from oncelog.protocol.primitives import crc32c
from oncelog.storage.files.snapshot import decode_snapshot, decode_window, encode_snapshot, encode_window
from oncelog.storage.log.producer_state import CachedBatch, ProducerStateEntry

pytestmark = pytest.mark.unit
T = 1_700_000_000_000
OPEN = ProducerStateEntry(7, 3, 1, T, T + 5, 40, tuple(CachedBatch(10 * n, 100 + 10 * n, 9, T + n) for n in range(5)))
ENDED = ProducerStateEntry(8, 0, 0, T, T + 5, None, (CachedBatch(5, 60, 0, T),))
BARE = ProducerStateEntry(9, 2, 4, T, T + 5, None, ())
PACKED = {entry.producer_id: entry.pack() for entry in (OPEN, ENDED, BARE)}


def test_a_snapshot_keeps_the_newest_batch() -> None:
    data = encode_snapshot(PACKED)
    assert len(data) == 2 + 4 + 4 + 3 * 46
    assert data[:2] == b"\x00\x01"
    assert struct.unpack_from(">I", data, 2) == (crc32c(data[6:]),)
    newest = OPEN.batches[-1]
    assert struct.unpack_from(">qhiqiqiq", data, 10) == (7, 3, newest.last_sequence, newest.last_offset, 9, T, 1, 40)
    read = decode_snapshot(data, T + 99)
    assert read == {
        7: OPEN._replace(arrival_ms=T + 99, batches=(newest._replace(timestamp=T),)).pack(),
        8: ENDED._replace(arrival_ms=T + 99).pack(),
        9: BARE._replace(arrival_ms=T + 99).pack(),
    }


def test_a_window_keeps_all_five() -> None:
    assert decode_window(encode_window(PACKED, 160)) == (160, PACKED)


def test_every_flipped_bit_and_every_cut_is_noticed() -> None:
    for data, decode in ((encode_snapshot(PACKED), lambda d: decode_snapshot(d, T)), (encode_window(PACKED, 160), decode_window)):
        assert decode(data) is not None
        for position in range(len(data)):
            assert decode(data[:position]) is None
            spoilt = bytearray(data)
            spoilt[position] ^= 1 << position % 8
            assert decode(bytes(spoilt)) is None
        assert decode(data + b"\0") is None


def framed(body: bytes) -> bytes:
    return struct.pack(">hI", 1, crc32c(body)) + body


@pytest.mark.parametrize("count", [0, 2, 4, -1])
def test_a_count_that_contradicts_the_length(count: int) -> None:
    body = bytearray(encode_snapshot(PACKED)[6:])
    struct.pack_into(">i", body, 0, count)
    assert decode_snapshot(framed(bytes(body)), T) is None
    window = bytearray(encode_window(PACKED, 160)[6:])
    struct.pack_into(">i", window, 8, count)
    assert decode_window(framed(bytes(window))) is None
