"""What can be told of the indexes of a segment at the start, for a few reads: do they reach to its end, and does what they say last hold?

An entry is added before a batch when more than `index.interval.bytes` were written since the last one, so no batch begins further than
that behind the last entry; and the last time entry of a closed segment carries its largest timestamp. An entry in the middle that
lies is found by whoever follows it (`Segment.locate`, `Segment.time_floor`).
"""

from __future__ import annotations

import logging
from struct import Struct
from typing import NamedTuple

from oncelog.storage.files.offset_index import ENTRY_BYTES as OFFSET_ENTRY_BYTES
from oncelog.storage.files.time_index import ENTRY_BYTES as TIME_ENTRY_BYTES
from oncelog.storage.log.segment import DamagedSegment, Segment

_ENTRY = Struct(">ii")
_TIME_ENTRY = Struct(">qi")

_log = logging.getLogger(__name__)


class Look(NamedTuple):
    """`tail`: (position, last offset) of the batch of the last index entry. `end`: offset behind the last batch that was found, -1: none.
    `whole`: the file ends with that batch. `fault`: why the indexes have to be built again, None if they need not."""

    tail: tuple[int, int] | None
    end: int
    whole: bool
    fault: str | None


def look_at_indexes(segment: Segment) -> Look:
    """Of a segment that was closed in order. Raises OSError."""
    if segment.size == 0:
        return Look(None, -1, True, None)
    entry = _last_saved_entry(segment)
    if entry is None or not segment.leads_to(*entry):
        return Look(None, -1, False, "offset index is missing or damaged")
    end, behind, largest, fault = -1, 0, -1, None
    stamps: dict[int, int] = {}
    for position, header in segment.headers(entry[0]):
        if position - entry[0] > segment.index_interval_bytes:
            return Look(None, -1, False, "offset index is too short")
        end, behind = header.next_offset, position + header.size_bytes
        largest = max(largest, header.max_timestamp)
        stamps[header.last_offset] = header.max_timestamp
    last = _last_saved_time(segment)
    if last is None:
        fault = "time index is missing or damaged"
    elif last[0] < largest:
        fault = "time index is too short"
    elif last[1] in stamps and stamps[last[1]] != last[0]:
        fault = "time index is damaged"
    return Look(entry, end, behind == segment.size, fault)


def last_told(segment: Segment) -> int:
    """An offset that an index tells of and the `.log` has lost, -1 for none: it is empty though its time index is not (compaction leaves
    neither or both), or the last entry of the offset index lies behind its end. Raises OSError."""
    if segment.size == 0:
        return segment.base_offset if _last_saved_time(segment) else -1
    entry = _last_bytes(segment, ".index", OFFSET_ENTRY_BYTES)
    relative, position = _ENTRY.unpack(entry) if entry else (-1, -1)
    return segment.base_offset + relative if position >= segment.size else -1


def _last_saved_entry(segment: Segment) -> tuple[int, int] | None:
    """(position, last offset) of the last entry of the `.index` file, read alone; None when the file cannot be right.

    A log without entries begins at (0, -1).
    """
    data = _last_bytes(segment, ".index", OFFSET_ENTRY_BYTES)
    if data is None or segment.size == 0:
        return None
    if not data:
        return 0, -1
    relative, position = _ENTRY.unpack(data)
    return (position, segment.base_offset + relative) if 0 <= position < segment.size else None


def _last_saved_time(segment: Segment) -> tuple[int, int] | None:
    """(timestamp, offset) of the last entry of the `.timeindex` file, read alone; None when the file cannot be right."""
    data = _last_bytes(segment, ".timeindex", TIME_ENTRY_BYTES)
    if not data:
        return None
    timestamp, relative = _TIME_ENTRY.unpack(data)
    return (timestamp, segment.base_offset + relative) if relative >= 0 else None


def _last_bytes(segment: Segment, suffix: str, count: int) -> bytes | None:
    """The last `count` bytes of an index; b"" when it is empty, None when it is missing or no multiple of them."""
    fs = segment.descriptors.fs
    path = segment.path(suffix)
    if not fs.exists(path):
        return None
    file = fs.open(path, writable=False)
    try:
        size = file.size()
        if size % count:
            return None
        return file.pread(count, size - count) if size else b""
    finally:
        file.close()


def end_of_sealed(segment: Segment) -> int:
    """The offset behind the last batch, found from the last index entry; -1 when the segment has to be read: the file does not end with a
    batch, or the indexes lie, or the batch that they lead to does. Raises OSError."""
    look = look_at_indexes(segment)
    if look.fault is not None:
        _log.warning("indexes rebuilt segment=%s reason=%s", segment.log_path, look.fault)
        return -1
    return look.end if look.whole else -1


def trusted_tail(segment: Segment) -> tuple[int, int] | None:
    """(position, last offset) of the last index entry when it leads to that batch; None: the whole segment must be read."""
    look = look_at_indexes(segment)
    fault = look.fault
    if look.tail is not None and fault is None:
        try:
            if segment.largest_timestamp >= -1:  # it is asked for, now that it can be mended
                return look.tail
        except DamagedSegment as damage:
            fault = str(damage)
    if fault is not None:
        _log.warning("indexes rebuilt segment=%s reason=%s", segment.log_path, fault)
    return None
