"""Ranges laid over each other, held against a dictionary of single offsets."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from oncelog.coordinator.share.batches import Batches, merged, pruned, sorted_apart
from oncelog.protocol.internal.share_state import StateBatch

AVAILABLE, ACKNOWLEDGED, ARCHIVED = 0, 2, 4


def batch(first: int, last: int, state: int = AVAILABLE, count: int = 1) -> StateBatch:
    return StateBatch(first, last, state, count)


batches = st.lists(
    st.builds(
        lambda first, length, state, count: batch(first, first + length, state, count),
        st.integers(0, 40),
        st.integers(0, 12),
        st.sampled_from([AVAILABLE, ACKNOWLEDGED, ARCHIVED]),
        st.integers(1, 3),
    ),
    max_size=12,
)


def by_offset(*lists: Batches | list[StateBatch], start: int = -1) -> dict[int, tuple[int, int]]:
    """Offset -> (count, state)."""
    found: dict[int, tuple[int, int]] = {}
    for one in (each for some in lists for each in some):
        for offset in range(max(one.first_offset, start), one.last_offset + 1):
            found[offset] = max(found.get(offset, (0, 0)), (one.delivery_count, one.delivery_state))
    return found


def is_tidy(found: Batches) -> bool:
    return all(
        one.last_offset < other.first_offset and (one.last_offset + 1 < other.first_offset or one[2:] != other[2:])
        for one, other in pairwise(found)
    ) and all(one.first_offset <= one.last_offset for one in found)


@given(batches, batches, st.integers(-1, 50))
def test_merging_is_the_higher_of_both_on_each_offset(known: list[StateBatch], new: list[StateBatch], start: int) -> None:
    tidy = sorted_apart(known)
    found = merged(tidy, new, start)
    assert is_tidy(tidy)
    assert is_tidy(found)
    assert by_offset(found) == by_offset(known, new, start=start)


@given(batches, st.integers(-1, 60))
def test_pruning_leaves_what_is_at_the_start_offset_and_above(some: list[StateBatch], start: int) -> None:
    tidy = sorted_apart(some)
    assert by_offset(pruned(tidy, start)) == by_offset(tidy, start=start)


def test_a_higher_count_wins_and_the_parts_outside_stay() -> None:
    known = (batch(0, 9),)
    known = merged(known, [batch(3, 5, ACKNOWLEDGED)], 0)
    assert known == (batch(0, 2), batch(3, 5, ACKNOWLEDGED), batch(6, 9))
    known = merged(known, [batch(10, 12)], 0)
    assert known == (batch(0, 2), batch(3, 5, ACKNOWLEDGED), batch(6, 12))
    assert merged(known, [batch(0, 12, AVAILABLE, 2)], 0) == (batch(0, 12, AVAILABLE, 2),)


def test_a_lower_count_that_comes_later_changes_nothing() -> None:
    assert merged((batch(0, 9, AVAILABLE, 2),), [batch(2, 3, ARCHIVED, 1)], -1) == (batch(0, 9, AVAILABLE, 2),)


def test_far_ends_are_not_touched() -> None:
    known = tuple(batch(n * 10, n * 10 + 4, ACKNOWLEDGED, n % 3 + 1) for n in range(1000))
    found = merged(known, [batch(5000, 5004, ARCHIVED, 4)], -1)
    assert found[500] == batch(5000, 5004, ARCHIVED, 4)
    assert found[:500] + found[501:] == known[:500] + known[501:]
    assert found[0] is known[0]
