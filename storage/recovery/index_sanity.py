"""What can be told of the indexes of a segment at the start, for a few reads: do they reach to its end, and does what they say last hold?

An entry is added before a batch when more than `index.interval.bytes` were written since the last one, so no batch begins further than
that behind the last entry; and the last time entry of a closed segment carries its largest timestamp. An entry in the middle that
lies is found by whoever follows it (`Segment.locate`, `Segment.time_floor`).
"""

from __future__ import annotations

from typing import NamedTuple

from oncelog.storage.log.segment import Segment


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
    entry = segment.last_saved_entry()
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
    last = segment.last_saved_time()
    if last is None:
        fault = "time index is missing or damaged"
    elif last[0] < largest:
        fault = "time index is too short"
    elif last[1] in stamps and stamps[last[1]] != last[0]:
        fault = "time index is damaged"
    return Look(entry, end, behind == segment.size, fault)
