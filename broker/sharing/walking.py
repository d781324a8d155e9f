"""The batches of what was read: which offsets they have, which of them are aborted, and the part of them that was acquired.

Only headers are looked at, of a long answer that stays in its file a window of it at a time.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from operator import attrgetter
from struct import Struct
from typing import Final, NamedTuple

from oncelog.broker.sharing.acquiring import Acquired, Span
from oncelog.protocol.records import CONTROL_BIT, HEADER_SIZE, LOG_OVERHEAD, TRANSACTIONAL_BIT
from oncelog.storage.env import Buffer
from oncelog.storage.files.txn_index import AbortedTxn
from oncelog.storage.log.stored_records import StoredRecords

_HEADER: Final = Struct(">qi9xhi16xq")  # base offset, batch length, attributes, last offset delta, producer id
_WINDOW_BYTES: Final = 32 << 10
_BOTH: Final = TRANSACTIONAL_BIT | CONTROL_BIT


class Walked(NamedTuple):
    """`spans`: the batches, at the positions `starts`, the last of which ends at `end`; `aborted`: those of them nobody is to see."""

    spans: list[Span]
    starts: list[int]
    end: int
    aborted: list[Span]


def walk(records: Buffer | StoredRecords, beyond: int, aborted: Sequence[AbortedTxn] | None) -> Walked:
    """The batches up to the one that reaches `beyond`. Raises OSError."""
    spans: list[Span] = []
    starts: list[int] = []
    hidden: list[Span] = []
    end = 0
    by_producer: dict[int, list[AbortedTxn]] = {}
    for txn in sorted(aborted or (), key=_last_offset):
        by_producer.setdefault(txn.producer_id, []).append(txn)
    for position, (base, length, attributes, delta, producer_id) in _headers(records):
        span = Span(base, base + delta)
        spans.append(span)
        starts.append(position)
        end = position + LOG_OVERHEAD + length
        if producer_id in by_producer and attributes & _BOTH == TRANSACTIONAL_BIT:
            txns = by_producer[producer_id]
            at = bisect_left(txns, base, key=_last_offset)
            if at < len(txns) and txns[at].first_offset <= base:
                hidden.append(span)
        if span.last >= beyond:
            break
    return Walked(spans, starts, end, hidden)


_last_offset = attrgetter("last_offset")
_first, _last = attrgetter("first"), attrgetter("last")


def _headers(records: Buffer | StoredRecords) -> Iterator[tuple[int, tuple[int, int, int, int, int]]]:
    """(position, fields) of each whole batch."""
    size, position = len(records), 0
    window_start = 0
    window: Buffer = b"" if isinstance(records, StoredRecords) else records
    while position + HEADER_SIZE <= size:
        if position + HEADER_SIZE > window_start + len(window):
            assert isinstance(records, StoredRecords)
            window, window_start = records.read(position, _WINDOW_BYTES), position
        fields = _HEADER.unpack_from(window, position - window_start)
        if position + LOG_OVERHEAD + fields[1] > size:
            return
        yield position, fields
        position += LOG_OVERHEAD + fields[1]


def cut(records: Buffer | StoredRecords, walked: Walked, acquired: Sequence[Acquired]) -> Buffer | StoredRecords:
    """The batches that have something of `acquired`, with those between them."""
    spans, starts = walked.spans, walked.starts
    begin = starts[bisect_left(spans, acquired[0].first, key=_last)]
    beyond = bisect_right(spans, acquired[-1].last, key=_first)
    end = starts[beyond] if beyond < len(starts) else walked.end
    if begin == 0 and end == len(records):
        return records
    return records.part(begin, end - begin) if isinstance(records, StoredRecords) else memoryview(records)[begin:end]
