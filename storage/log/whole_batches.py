"""Whole batches of a segment from a position on: what a read of the log answers with.

What an earlier process wrote is looked at when it is read for the first time, batch by batch. Of a long answer that may stay in its file
only headers are read, to find where its last whole batch ends.
"""

from __future__ import annotations

from struct import Struct

from oncelog.protocol.primitives import crc32c
from oncelog.protocol.records import CRC_START, CURRENT_MAGIC, HEADER_SIZE, LOG_OVERHEAD, parse_header
from oncelog.storage.log.segment import MAX_RELATIVE_OFFSET, DamagedSegment, Segment
from oncelog.storage.log.segment_file import SCAN_BYTES
from oncelog.storage.log.stored_records import StoredRecords

_WINDOW_BYTES = 8192
_WALK = Struct(">qi11xi")  # base offset, batch length, last offset delta
_WALK_MAGIC = Struct(">qi4xBi2xi")  # base offset, batch length, magic, crc, last offset delta


def read(segment: Segment, position: int, max_bytes: int, end_position: int, *, min_one_message: bool) -> tuple[bytes, int]:
    """Whole batches from `position`, at most `max_bytes` and not beyond `end_position`; the offset behind the last of them (-1: none).

    With `min_one_message` the first batch is returned whole, however large. What an earlier process wrote is looked at when it is
    read for the first time. Raises OSError, DamagedSegment.
    """
    data, next_offset = _read(segment, position, max_bytes, end_position, min_one_message=min_one_message)
    if position < segment.trusted_from and position + len(data) > segment.walked_to:
        _look_at(segment, data, position)
    return data, next_offset


def records(
    segment: Segment, position: int, max_bytes: int, end_position: int, *, min_one_message: bool, in_memory: int
) -> tuple[bytes | StoredRecords, int]:
    """As `read`, but what is longer than `in_memory` bytes stays in the file. Raises OSError, DamagedSegment."""
    limit = min(position + max_bytes, end_position)
    hold = not segment.descriptors.pins_are_many and not segment.held
    if limit - position > in_memory:
        found = _find_end(segment, position, limit) if hold and (position >= segment.trusted_from or limit <= segment.walked_to) else None
        if found is not None:
            return StoredRecords(segment.descriptors, segment.log_path, position, found[0] - position), found[1]
        max_bytes = min(max_bytes, SCAN_BYTES)
    data, next_offset = read(segment, position, max_bytes, end_position, min_one_message=min_one_message)
    if hold and len(data) > in_memory:
        return StoredRecords(segment.descriptors, segment.log_path, position, len(data)), next_offset
    return data, next_offset


def _read(segment: Segment, position: int, max_bytes: int, end_position: int, *, min_one_message: bool) -> tuple[bytes, int]:
    data = segment.read_at(position, min(max_bytes, end_position - position))
    if len(data) < HEADER_SIZE:
        wanted = min(HEADER_SIZE, end_position - position, segment.size - position)
        data = segment.read_at(position, wanted) if min_one_message else b""
        if min_one_message and len(data) < wanted:
            raise DamagedSegment(segment, position, "the file ends")
        if len(data) < HEADER_SIZE:
            return b"", -1
    base, length, delta = _WALK.unpack_from(data)
    first_size = length + LOG_OVERHEAD
    if not HEADER_SIZE <= first_size <= segment.size - position:
        raise DamagedSegment(segment, position)
    if first_size > len(data):
        if not min_one_message:
            return b"", -1
        return segment.read_at(position, min(first_size, end_position - position)), base + delta + 1
    end, next_offset = _last_whole(segment, data, position)
    return (data if end == len(data) else data[:end]), next_offset


def _look_at(segment: Segment, data: bytes, position: int) -> None:
    at, expected = 0, segment.base_offset
    while at < len(data):
        header = parse_header(data, at)
        end = at + header.size_bytes
        right = header.magic == CURRENT_MAGIC and expected <= header.base_offset <= header.last_offset
        if not right or header.last_offset - segment.base_offset > MAX_RELATIVE_OFFSET or crc32c(data[at + CRC_START : end]) != header.crc:
            raise DamagedSegment(segment, position + at)
        if segment.epochs is not None and segment.epochs.epoch_of(header.base_offset) not in (header.partition_leader_epoch, -1):
            raise DamagedSegment(segment, position + at)
        at, expected = end, header.next_offset
    if position <= segment.walked_to:
        segment.walked_to = position + len(data)


def _last_whole(segment: Segment, data: bytes, position: int) -> tuple[int, int]:
    """(end of the last whole batch in `data`, offset behind it); the index saves walking all of them."""
    indexed, at = segment.index.floor_position(position + len(data))
    start = max(at - position, 0)
    if 0 < start <= len(data) - HEADER_SIZE and not _ends_at(data, start, indexed):
        segment.led_astray(at, "an offset entry leads to another batch")
    start, next_offset = _walk(data, start)
    if next_offset < 0 and start > 0:  # the indexed batch itself is cut: walk from the front
        return _walk(data)
    return start, next_offset


def _walk(data: bytes, start: int = 0) -> tuple[int, int]:
    next_offset = -1
    while start + HEADER_SIZE <= len(data):
        base, length, delta = _WALK.unpack_from(data, start)
        end = start + length + LOG_OVERHEAD
        if end > len(data) or length < HEADER_SIZE - LOG_OVERHEAD:
            break
        start, next_offset = end, base + delta + 1
    return start, next_offset


def _find_end(segment: Segment, position: int, limit: int) -> tuple[int, int] | None:
    """(position behind the last whole batch that ends at or below `limit`, the offset behind it); None when the index is of no help.

    `position` is where a batch begins. Raises OSError.
    """
    last_offset, start = segment.index.floor_position(limit)
    if start < position:
        last_offset, start = -1, position
    end, next_offset, first = start, -1, True
    while end + HEADER_SIZE <= limit:
        window = segment.read_at(end, _WINDOW_BYTES)
        at = 0
        while at + HEADER_SIZE <= len(window):
            base, length, magic, _crc, delta = _WALK_MAGIC.unpack_from(window, at)
            if magic != CURRENT_MAGIC or length < HEADER_SIZE - LOG_OVERHEAD or (first and last_offset not in (-1, base + delta)):
                return None
            first = False
            if end + at + length + LOG_OVERHEAD > limit:
                return (end + at, next_offset) if next_offset >= 0 else None
            at, next_offset = at + length + LOG_OVERHEAD, base + delta + 1
        if at == 0:
            return None
        end += at
    return (end, next_offset) if next_offset >= 0 else None


def _ends_at(data: bytes, start: int, last_offset: int) -> bool:
    base, _, delta = _WALK.unpack_from(data, start)
    return bool(base + delta == last_offset)
