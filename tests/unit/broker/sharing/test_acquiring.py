"""In what portions records are handed out; the ranges are Apache Kafka's."""

from __future__ import annotations

from collections.abc import Sequence

from oncelog.broker.sharing.acquiring import Acquired, Limits, Span, Wanted
from oncelog.broker.sharing.partition import RELEASE, AcknowledgedBatch, SharePartition
from oncelog.broker.sharing.pieces import ARCHIVED, AVAILABLE
from oncelog.protocol.internal.share_state import StateBatch

TEN = [Span(10 * n, 10 * n + 9) for n in range(4)]


def fetch(
    partition: SharePartition, spans: Sequence[Span], most: int = 500, *, limits: Limits | None = None, **more: object
) -> list[Acquired]:
    offset = partition.next_offset()
    read = [span for span in spans if span.last >= offset]
    return partition.acquire(offset, read, Wanted("a", most, **more), limits or Limits(), 0.0)  # type: ignore[arg-type]


def release(partition: SharePartition, *batches: tuple[int, int]) -> None:
    change = partition.acknowledge("a", [AcknowledgedBatch(first, last, [RELEASE]) for first, last in batches], Limits(), 0.0)
    assert change is not None
    partition.commit(change)


def ranges(found: Sequence[Acquired]) -> list[tuple[int, int, int]]:
    return [tuple(each) for each in found]


def test_most_records_is_rounded_up_to_batches_or_exact() -> None:
    assert ranges(fetch(SharePartition(0), TEN, 3)) == [(0, 9, 1)]
    exact = SharePartition(0)
    assert ranges(fetch(exact, TEN, 3, exact=True)) == [(0, 2, 1)]
    assert ranges(fetch(exact, TEN, 4, exact=True)) == [(3, 6, 1)]
    assert ranges(fetch(exact, TEN, 5, exact=True)) == [(7, 11, 1)]


def test_portions_end_at_batches() -> None:
    spans = [Span(3 * n, 3 * n + 2) for n in range(4)]
    assert ranges(fetch(SharePartition(0), spans, batch_size=5)) == [(0, 5, 1), (6, 11, 1)]
    assert ranges(fetch(SharePartition(0), spans, batch_size=1)) == [(0, 2, 1), (3, 5, 1), (6, 8, 1), (9, 11, 1)]
    assert ranges(fetch(SharePartition(0), spans, batch_size=1, exact=True)) == [(0, 11, 1)]


def test_no_more_locks_than_allowed_but_whole_batches() -> None:
    limits = Limits(record_locks=15)
    partition = SharePartition(0)
    assert ranges(fetch(partition, TEN, limits=limits)) == [(0, 19, 1)]
    assert not partition.may_acquire(15)
    assert fetch(partition, TEN, limits=limits) == []
    release(partition, (0, 9))
    assert ranges(fetch(partition, TEN, limits=limits)) == [(0, 9, 2)]


def test_released_and_new_in_one_answer() -> None:
    partition = SharePartition(0)
    fetch(partition, TEN[:1])
    release(partition, (0, 9))
    assert ranges(fetch(partition, TEN[:2])) == [(0, 9, 2), (10, 19, 1)]


def test_those_that_keep_failing_come_in_shrinking_pieces() -> None:
    partition = SharePartition(0)
    seen = []
    for _ in range(6):
        found = ranges(fetch(partition, TEN[:1]))
        seen += found
        release(partition, found[0][:2])
    assert seen == [(0, 9, 1), (0, 9, 2), (0, 9, 3), (0, 4, 4), (0, 0, 5), (1, 1, 5)]


def failing(batches: Sequence[Span], times: int) -> SharePartition:
    partition = SharePartition(0)
    for _ in range(times):
        fetch(partition, batches)
        release(partition, *batches)
    return partition


def test_nothing_new_comes_with_those_that_keep_failing() -> None:
    partition = failing([Span(0, 3)], 3)
    behind = [Span(0, 3), Span(4, 13)]
    assert [ranges(fetch(partition, behind)) for _ in range(3)] == [[(0, 1, 4)], [(2, 3, 4)], [(4, 13, 1)]]


def test_the_last_attempt_is_alone() -> None:
    partition = SharePartition(0, [StateBatch(0, 0, AVAILABLE, 1), StateBatch(1, 2, AVAILABLE, 4)])
    assert [ranges(fetch(partition, [Span(0, 5)])) for _ in range(4)] == [[(0, 0, 2)], [(1, 1, 5)], [(2, 2, 5)], [(3, 5, 1)]]


def test_aborted_ones_are_left_out_and_over() -> None:
    partition = SharePartition(0)
    spans = [Span(0, 1), Span(2, 2), Span(3, 4), Span(5, 5)]
    found = partition.acquire(0, spans, Wanted("a", 500), Limits(), 0.0, [Span(3, 4)])
    assert ranges(found) == [(0, 2, 1), (5, 5, 1)]
    assert [each for each in partition.pieces() if each.delivery_state == ARCHIVED] == [StateBatch(3, 4, ARCHIVED, 0)]
    only = SharePartition(0)
    assert only.acquire(0, [Span(0, 4)], Wanted("a", 500), Limits(), 0.0, [Span(0, 4)]) == []
    assert only.start_offset == 5


def test_what_compaction_took_is_passed_over() -> None:
    partition = SharePartition(0)
    assert ranges(fetch(partition, [Span(7, 9)])) == [(7, 9, 1)]
    assert partition.start_offset == 7
    later = SharePartition(0)
    fetch(later, [Span(0, 9)])
    release(later, (0, 9))
    assert ranges(fetch(later, [Span(5, 9)])) == [(5, 9, 2)]
    assert later.start_offset == 5


def test_gaps_of_a_restart_are_portioned_as_new() -> None:
    partition = SharePartition(0, [StateBatch(20, 29, AVAILABLE, 1)])
    assert ranges(fetch(partition, TEN, 5, batch_size=5)) == [(0, 9, 1)]
    assert ranges(fetch(partition, TEN, batch_size=5)) == [(10, 19, 1), (20, 29, 2), (30, 39, 1)]


def test_isolation_begins_at_half_the_limit() -> None:
    assert [Limits(delivery_count=limit).isolated_from for limit in (2, 3, 5, 6, 10)] == [2, 2, 3, 3, 5]
