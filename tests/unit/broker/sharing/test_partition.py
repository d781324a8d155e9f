"""The state machine of a share partition: what acknowledgements, locks and writes do; random lives against one record each."""

from __future__ import annotations

import time

import pytest
from oncelog.broker.sharing.acquiring import Acquired, Limits, Span, Wanted
from oncelog.broker.sharing.partition import ACCEPT, GAP, REJECT, RELEASE, RENEW, AcknowledgedBatch, SharePartition
from oncelog.broker.sharing.pieces import ACKNOWLEDGED, ARCHIVED, AVAILABLE
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.internal.share_state import StateBatch
from support.share_model import Life

LIMITS = Limits()


def acquire(partition: SharePartition, *spans: tuple[int, int], member: str = "a", now: float = 0.0, **more: object) -> list[Acquired]:
    wanted = Wanted(member, **{"max_records": 500, **more})  # type: ignore[arg-type]
    return partition.acquire(partition.next_offset(), [Span(*span) for span in spans], wanted, LIMITS, now)


def acknowledge(partition: SharePartition, first: int, last: int, *types: int, member: str = "a", limits: Limits = LIMITS) -> None:
    change = partition.acknowledge(member, [AcknowledgedBatch(first, last, types)], limits, 0.0)
    if change is not None:
        partition.commit(change)


def refusal(partition: SharePartition, first: int, last: int, member: str = "a") -> tuple[ErrorCode, str | None]:
    with pytest.raises(KafkaError) as refused:
        acknowledge(partition, first, last, ACCEPT, member=member)
    return refused.value.code, refused.value.message


def held(first: int = 0, last: int = 4) -> SharePartition:
    partition = SharePartition(first)
    acquire(partition, (first, last))
    return partition


@pytest.mark.parametrize("block", range(8))
def test_random_lives(block: int) -> None:
    """Each operation is compared with a dictionary of single records; the seed of a failure is in the assertion."""
    total = 0
    for seed in range(40 * block, 40 * block + 40):
        try:
            total += Life(seed).lead(250)["acknowledged"]
        except AssertionError as error:
            raise AssertionError(f"seed {seed}") from error
    assert total > 1000


def test_accepting_moves_the_start() -> None:
    partition = held()
    acknowledge(partition, 0, 2, ACCEPT)
    assert (partition.start_offset, partition.end_offset, partition.delivery_complete_count) == (3, 4, 0)
    acknowledge(partition, 4, 4, ACCEPT)
    assert (partition.start_offset, partition.delivery_complete_count) == (3, 1)
    acknowledge(partition, 3, 3, REJECT)
    assert (partition.start_offset, partition.end_offset) == (5, 4)


def test_the_start_moves_when_written_and_back_when_not() -> None:
    partition = held()
    first = partition.acknowledge("a", [AcknowledgedBatch(0, 1, [ACCEPT])], LIMITS, 0.0)
    second = partition.acknowledge("a", [AcknowledgedBatch(2, 4, [RELEASE])], LIMITS, 0.0)
    assert first is not None
    assert second is not None
    assert (first.start_offset, first.over, first.batches) == (0, 2, [StateBatch(0, 1, ACKNOWLEDGED, 1)])
    assert (partition.start_offset, partition.next_offset()) == (0, 5)  # what is being written is nobody's
    partition.commit(second)
    assert (partition.start_offset, partition.next_offset()) == (0, 2)
    partition.roll_back(first)
    assert partition.held() == {"a": 2}
    acknowledge(partition, 0, 1, ACCEPT)
    assert partition.start_offset == 2


def test_released_comes_again_until_the_limit() -> None:
    partition, limits = SharePartition(0), Limits(delivery_count=2)
    for delivery in (1, 2):
        assert acquire(partition, (0, 0)) == [Acquired(0, 0, delivery)]
        acknowledge(partition, 0, 0, RELEASE, limits=limits)
    assert partition.start_offset == 1


def test_one_type_an_offset() -> None:
    partition = held()
    acknowledge(partition, 0, 4, ACCEPT, RELEASE, REJECT, RELEASE, GAP)
    assert partition.pieces() == [
        StateBatch(1, 1, AVAILABLE, 1),
        StateBatch(2, 2, ARCHIVED, 1),
        StateBatch(3, 3, AVAILABLE, 1),
        StateBatch(4, 4, ARCHIVED, 1),
    ]
    assert acquire(partition, (0, 4)) == [Acquired(1, 1, 2), Acquired(3, 3, 2)]


def test_who_may_acknowledge_what() -> None:
    state, request = ErrorCode.INVALID_RECORD_STATE, ErrorCode.INVALID_REQUEST
    text = "Batch record not found. The request batch offsets are not found in the cache."
    assert refusal(SharePartition(0), 0, 4) == (state, text)
    partition = held()
    assert refusal(partition, 0, 4, "b") == (state, "Member is not the owner of batch record")
    assert refusal(partition, 7, 9) == (request, "Batch record not found. The first offset in request is past acquired records.")
    assert refusal(partition, 2, 9) == (request, "Batch record not found. The last offset in request is past acquired records.")
    acknowledge(partition, 0, 1, ACCEPT)
    acknowledge(partition, 0, 1, ACCEPT)  # they are over
    acknowledge(partition, 3, 3, ACCEPT)
    assert refusal(partition, 3, 3) == (state, "The offset cannot be acknowledged. The offset is not acquired.")
    assert refusal(partition, 2, 2, "b") == (state, "Member is not the owner of offset")
    released = held()
    acknowledge(released, 0, 4, RELEASE)
    assert refusal(released, 0, 4) == (state, "The batch cannot be acknowledged. The batch is not in the acquired state.")


def test_all_or_nothing() -> None:
    partition = held()
    batches = [AcknowledgedBatch(0, 1, [ACCEPT]), AcknowledgedBatch(2, 9, [ACCEPT])]
    with pytest.raises(KafkaError):
        partition.acknowledge("a", batches, LIMITS, 0.0)
    assert partition.held() == {"a": 5}
    assert partition.delivery_complete_count == 0


def test_locks_run_out() -> None:
    partition = held()
    assert partition.next_deadline_ms() == LIMITS.lock_ms
    assert partition.expire(LIMITS.lock_ms - 1, LIMITS) is None
    change = partition.expire(LIMITS.lock_ms, LIMITS)
    assert change is not None
    assert change.batches == [StateBatch(0, 4, AVAILABLE, 1)]
    partition.commit(change)
    assert acquire(partition, (0, 4), member="b", now=LIMITS.lock_ms) == [Acquired(0, 4, 2)]


def test_renewing_writes_nothing_and_keeps_the_lock() -> None:
    partition = held()
    assert partition.acknowledge("a", [AcknowledgedBatch(1, 2, [RENEW])], LIMITS, 20_000.0) is None
    change = partition.expire(LIMITS.lock_ms, LIMITS)
    assert change is not None
    assert change.batches == [StateBatch(0, 0, AVAILABLE, 1), StateBatch(3, 4, AVAILABLE, 1)]
    assert partition.next_deadline_ms() == 20_000 + LIMITS.lock_ms


def test_the_end_of_a_session_releases() -> None:
    partition = SharePartition(0)
    acquire(partition, (0, 2))
    acquire(partition, (3, 5), member="b")
    change = partition.release("a", LIMITS)
    assert change is not None
    partition.commit(change)
    assert partition.held() == {"b": 3}
    assert partition.release("a", LIMITS) is None


def test_what_was_stored_is_taken_up() -> None:
    stored = [StateBatch(7, 8, AVAILABLE, 2), StateBatch(2, 3, ACKNOWLEDGED, 1), StateBatch(4, 4, ARCHIVED, 5)]
    partition = SharePartition(2, stored)
    assert (partition.start_offset, partition.end_offset) == (5, 8)
    assert acquire(partition, (0, 9)) == [Acquired(5, 6, 1), Acquired(7, 8, 3), Acquired(9, 9, 1)]


def test_the_start_of_the_log_takes_what_is_below() -> None:
    partition = held()
    acknowledge(partition, 3, 3, ACCEPT)
    assert partition.log_starts_at(3)
    assert not partition.log_starts_at(3)
    assert (partition.start_offset, partition.held()) == (4, {"a": 1})
    acknowledge(partition, 0, 2, ACCEPT)  # silently
    assert partition.log_starts_at(20)
    assert (partition.start_offset, partition.end_offset, partition.next_offset()) == (20, 19, 20)


def test_a_write_outlives_the_records_it_was_about() -> None:
    partition = held()
    change = partition.acknowledge("a", [AcknowledgedBatch(0, 4, [RELEASE])], LIMITS, 0.0)
    assert change is not None
    partition.log_starts_at(3)
    partition.commit(change)
    assert acquire(partition, (0, 4)) == [Acquired(3, 4, 2)]
    other = held()
    gone = other.acknowledge("a", [AcknowledgedBatch(0, 4, [ACCEPT])], LIMITS, 0.0)
    assert gone is not None
    other.log_starts_at(9)
    other.roll_back(gone)
    assert (other.start_offset, other.end_offset) == (9, 8)


def test_two_thousand_locks_of_one_record_run_out_in_short_turns() -> None:
    """Each turn looks at every piece and changes 500; counted in CPU time of this thread, with room for a busy machine."""
    partition = SharePartition(0)
    assert len(acquire(partition, *[(n, n) for n in range(2000)], max_records=2000, batch_size=1)) == 2000
    longest, released = 0.0, 0
    while partition.next_deadline_ms() <= LIMITS.lock_ms:
        begun = time.thread_time()
        change = partition.expire(LIMITS.lock_ms, LIMITS)
        assert change is not None
        assert len(change.batches) == 1
        longest = max(longest, time.thread_time() - begun)
        partition.commit(change)
        released += len(change.pieces)
    assert released == 2000
    assert partition.next_offset() == 0


def test_the_held_and_the_over_are_ranges() -> None:
    """A million records in one batch are one piece."""
    partition = SharePartition(0)
    acquire(partition, (0, 999_999), max_records=2_000_000, batch_size=2_000_000)
    acknowledge(partition, 10, 999_998, ACCEPT)
    assert len(partition.pieces()) == 3
