"""Ranges of records laid over each other (Kafka's `PersisterStateBatchCombiner`).

On each offset the higher delivery count counts, with equal ones the higher state, whichever came later: states only go forward while a
count stands still. Neighbours that say the same become one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise

from oncelog.protocol.internal.share_state import StateBatch

Batches = tuple[StateBatch, ...]


def merged(known: Batches, new: Sequence[StateBatch], start_offset: int) -> Batches:
    """`known`, sorted and apart, with `new`, in any order, over it; what is below `start_offset` is gone, -1: nothing is."""
    fresh = pruned(sorted_apart(new), start_offset)
    known = pruned(known, start_offset)
    if not fresh or not known:
        return fresh or known
    low = bisect_left(known, fresh[0].first_offset - 1, key=_last)
    high = bisect_left(known, fresh[-1].last_offset + 2, lo=low, key=_first)
    return known[:low] + _overlaid(known[low:high], fresh) + known[high:]


def pruned(batches: Batches, start_offset: int) -> Batches:
    """What is left of `batches`, which are sorted and apart, from `start_offset` on; -1: all of it."""
    if start_offset == -1 or not batches or batches[0].first_offset >= start_offset:
        return batches
    left = batches[bisect_left(batches, start_offset, key=_last) :]
    if left and left[0].first_offset < start_offset:
        left = (left[0]._replace(first_offset=start_offset), *left[1:])
    return left


def sorted_apart(batches: Sequence[StateBatch]) -> Batches:
    """The same without overlaps, in order, neighbours that say the same joined."""
    if all(
        one.last_offset + 1 < other.first_offset or (one.last_offset < other.first_offset and one[2:] != other[2:])
        for one, other in pairwise(batches)
    ):
        return tuple(batches)
    half = len(batches) // 2
    return _overlaid(sorted_apart(batches[:half]), sorted_apart(batches[half:]))


def _overlaid(one: Batches, other: Batches) -> Batches:
    """Both sorted and apart; so is what comes of them."""
    out: list[StateBatch] = []
    ones, others = iter(one), iter(other)
    a, b = next(ones, None), next(others, None)
    while a is not None and b is not None:
        if a.first_offset > b.first_offset:
            a, b, ones, others = b, a, others, ones
        if a.first_offset < b.first_offset:  # alone up to there
            end = min(a.last_offset, b.first_offset - 1)
            winner = a
        else:
            end = min(a.last_offset, b.last_offset)
            winner = max(a, b, key=_weight)
            b = _behind(b, end) or next(others, None)
        _append(out, StateBatch(a.first_offset, end, *winner[2:]))
        a = _behind(a, end) or next(ones, None)
    for rest, last in ((ones, a), (others, b)):
        if last is not None:
            _append(out, last)
            for batch in rest:
                _append(out, batch)
    return tuple(out)


def _append(out: list[StateBatch], batch: StateBatch) -> None:
    if out and out[-1].last_offset + 1 == batch.first_offset and out[-1][2:] == batch[2:]:
        out[-1] = out[-1]._replace(last_offset=batch.last_offset)
    else:
        out.append(batch)


def _behind(batch: StateBatch, end: int) -> StateBatch | None:
    """The part above `end`."""
    return batch._replace(first_offset=end + 1) if batch.last_offset > end else None


def _weight(batch: StateBatch) -> tuple[int, int]:
    return batch.delivery_count, batch.delivery_state


def _first(batch: StateBatch) -> int:
    return batch.first_offset


def _last(batch: StateBatch) -> int:
    return batch.last_offset
