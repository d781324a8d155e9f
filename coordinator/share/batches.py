"""Ranges of records laid over each other (Kafka's `PersisterStateBatchCombiner`).

On each offset the higher delivery count counts, with equal ones the higher state, whichever came later: states only go forward while a
count stands still. Neighbours that say the same become one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from heapq import heappop, heappush
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
    return known[:low] + _laid_over(known[low:high] + fresh) + known[high:]


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
    return tuple(batches) if _is_apart(batches) else _laid_over(batches)


def _is_apart(batches: Sequence[StateBatch]) -> bool:
    return all(
        one.last_offset + 1 < other.first_offset or (one.last_offset < other.first_offset and one[2:] != other[2:])
        for one, other in pairwise(batches)
    )


def _laid_over(batches: Sequence[StateBatch]) -> Batches:
    """Goes through the offsets once, with those that cover them on a heap, the weightiest on top."""
    ordered = sorted(batches)
    count = len(ordered)
    out: list[StateBatch] = []
    covering: list[tuple[int, int, int]] = []  # what weighs, negated; last offset
    following, at = 0, ordered[0].first_offset
    while covering or following < count:
        if not covering and ordered[following].first_offset > at:
            at = ordered[following].first_offset
        while following < count and ordered[following].first_offset <= at:
            _, last, state, deliveries = ordered[following]
            heappush(covering, (-deliveries, -state, last))
            following += 1
        weight, state, last = covering[0]
        if last < at:
            heappop(covering)
            continue
        end = last if following == count else min(last, ordered[following].first_offset - 1)
        _append(out, at, end, -state, -weight)
        at = end + 1
    return tuple(out)


def _append(out: list[StateBatch], first: int, last: int, state: int, deliveries: int) -> None:
    before = out[-1] if out else None
    if before is not None and before.last_offset + 1 == first and before.delivery_state == state and before.delivery_count == deliveries:
        out[-1] = StateBatch(before.first_offset, last, state, deliveries)
    else:
        out.append(StateBatch(first, last, state, deliveries))


def _first(batch: StateBatch) -> int:
    return batch.first_offset


def _last(batch: StateBatch) -> int:
    return batch.last_offset
