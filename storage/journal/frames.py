"""What stands in a journal file: frames, one for each sync, each in blocks of its own.

    byte  0        4        8          16         24
          ┌────────┬────────┬──────────┬──────────┬──────────────────────────────────────────────────┬───────────
          │CRC-32C │length  │life      │sequence  │topic id (16) · partition (int32) · batch, again …│zeros
          └────────┴────────┴──────────┴──────────┴──────────────────────────────────────────────────┴───────────
                   └──────────── covered by the CRC ────────────────────────────────────────────────▶ to a block of 4096

`length` is that of what follows byte 24. A batch is as it stands in its `.log`, offset and leader epoch included, and tells its own length.
A frame never shares a block with another: a write that a power cut tears can not reach what was on disk before. `life` is drawn when the
journal is begun, so that no record of a client can look like a frame; `sequence` rises by one from frame to frame, through both files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from struct import Struct, error
from typing import NamedTuple

from oncelog.protocol.primitives import crc32c
from oncelog.protocol.records import HEADER_SIZE, LOG_OVERHEAD
from oncelog.storage.env import Buffer

BLOCK_BYTES = 4096
_LARGEST_FRAME = 1 << 20
_HEAD = Struct(">II8sQ")
_ENTRY = Struct(">16si8xi")  # topic id, partition, of the batch its length
HEAD_BYTES = _HEAD.size
ENTRY_BYTES = 20  # in front of each batch
entry_head = Struct(">16si").pack


class Frame(NamedTuple):
    """One that was found whole. `end`: where its blocks end in the file."""

    end: int
    life: bytes
    sequence: int
    payload: memoryview


class Entry(NamedTuple):
    """One batch and whose it is."""

    topic_id: bytes
    partition: int
    batch: memoryview


def in_blocks(size: int) -> int:
    """`size` bytes, as many as their blocks have."""
    return -(-size // BLOCK_BYTES) * BLOCK_BYTES


def largest_frame(file_bytes: int) -> int:
    """What a frame in a file of that size has at most; a file that has no room for one is full."""
    return min(_LARGEST_FRAME, in_blocks(file_bytes // 4))


def pack_frame(life: bytes, sequence: int, entries: Sequence[Buffer]) -> bytes:
    """A frame in whole blocks. `entries`: heads and batches, alternately."""
    payload = b"".join(entries)
    head = _HEAD.pack(0, len(payload), life, sequence)[4:]
    frame = b"".join((crc32c(payload, crc32c(head)).to_bytes(4), head, payload))
    return frame.ljust(in_blocks(len(frame)), b"\0")


def whole_frames(data: memoryview) -> Iterator[Frame]:
    """The frames of a file that are whole, in order of their place; what is none is passed over, block by block."""
    position = 0
    while position + HEAD_BYTES <= len(data):
        crc, length, life, sequence = _HEAD.unpack_from(data, position)
        end = position + HEAD_BYTES + length
        if not 0 < length <= _LARGEST_FRAME or end > len(data) or crc32c(data[position + 4 : end]) != crc:
            position += BLOCK_BYTES
            continue
        payload = data[position + HEAD_BYTES : end]
        position += in_blocks(end - position)
        yield Frame(position, life, sequence, payload)


def entries_of(frame: Frame) -> Iterator[Entry]:
    """What a frame holds; the CRC vouches for all of it."""
    payload, position = frame.payload, 0
    while position < len(payload):
        try:
            topic_id, partition, length = _ENTRY.unpack_from(payload, position)
        except error:
            return
        begin = position + ENTRY_BYTES
        position = begin + length + LOG_OVERHEAD
        if length < HEADER_SIZE - LOG_OVERHEAD or position > len(payload):
            return
        yield Entry(topic_id, partition, payload[begin:position])
