"""What is durable: acknowledged and read not before, while segments are sealed and disks fail."""

from __future__ import annotations

import errno

import pytest
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.names import TopicPartition
from support.flushed_when_told import sim
from support.storage_kit import T0

pytestmark = pytest.mark.unit


def test_readers_see_nothing_that_is_not_durable() -> None:
    kit, _, flusher = sim(1)
    heard: list[int] = []
    kit.log.add_change_listener(lambda: heard.append(kit.log.high_watermark))
    kit.append(0, pid=7, txn=True)
    kit.mark(7, True)
    assert kit.log.read(0, 999, isolation=0, min_one_message=True).records == b""
    assert kit.log.last_stable_offset == 0
    flusher.flush()
    assert heard == [2]
    assert kit.log.last_stable_offset == 2


def test_case_70_failed_sync_takes_that_log_offline_and_no_other() -> None:
    kit, fs, flusher = sim(3)
    kit.manager.create_topic("u", 1)
    kit.append()
    outcome: list[KafkaError | None] = []
    kit.log.when_durable(1, outcome.append)
    fs.fail(1, errno.EIO, only=["datasync"])
    flusher.flush()
    fs.fail(None)
    assert outcome[0] is not None
    assert outcome[0].code == ErrorCode.KAFKA_STORAGE_ERROR
    for attempt in (kit.append, lambda: kit.log.read(0, 9, isolation=0, min_one_message=True)):
        with pytest.raises(KafkaError) as caught:
            attempt()
        assert caught.value.code == ErrorCode.KAFKA_STORAGE_ERROR
    other = kit.manager.log(TopicPartition("u", 0))
    assert other is not None
    assert other.offline is None


def test_acknowledgements_do_not_wait_for_a_segment_to_be_sealed() -> None:
    """While a flush seals, the next one makes more records durable; the recovery point stays until the indexes are on disk."""
    kit, _, _ = sim(1)
    log = kit.log
    while len(log.segments) < 2:
        kit.append(n=5)
    sealing = log.durability.begin_flush()
    assert sealing is not None
    sealing.run()
    log.durability.end_flush(sealing, None)
    assert log.high_watermark == log.log_end_offset
    assert log.durability.recovery_point == 0
    while len(log.segments) < 3:
        kit.append(n=5)
    second = log.durability.begin_flush()
    assert second is not None
    assert second.tidied is None
    second.run()
    log.durability.end_flush(second, None)
    assert log.high_watermark == log.log_end_offset
    assert (log.durability.recovery_point, log.durability.deletable_end, log.settled_end) == (0, 0, 0)
    assert sealing.tidied is not None
    sealing.tidy()
    sealing.tidied(sealing)
    assert log.durability.recovery_point == sealing.end_offset < log.log_end_offset
    third = log.durability.begin_flush()  # the segment that was rolled meanwhile
    assert third is not None
    third.run()
    log.durability.end_flush(third, None)
    assert third.tidied is not None
    third.tidy()
    third.tidied(third)
    assert log.durability.recovery_point == log.settled_end == log.log_end_offset
    assert log.durability.begin_flush() is None


def test_segments_of_a_flush_under_way_are_left_alone() -> None:
    """Neither retention nor the cleaner may rename files that a flush is sealing."""
    kit, _, _ = sim(1)
    log = kit.log
    while len(log.segments) < 3:
        kit.append(n=5)
    job = log.durability.begin_flush()
    assert job is not None
    assert (log.durability.deletable_end, log.settled_end) == (0, 0)
    job.run()
    log.durability.end_flush(job, None)
    assert log.high_watermark == log.log_end_offset
    assert (log.durability.deletable_end, log.settled_end) == (0, 0)
    assert job.tidied is not None
    job.tidy()
    job.tidied(job)
    assert log.durability.deletable_end == log.settled_end == log.log_end_offset
    log.roll(T0)
    assert log.settled_end == log.segments[2].base_offset
    assert log.durability.deletable_end == log.log_end_offset


def test_a_segment_deleted_between_roll_and_flush_is_not_asked_for() -> None:
    kit, _, flusher = sim(1)
    log = kit.log
    while len(log.segments) < 3:
        kit.append(n=5)
    kept = log.segments[2].base_offset
    log.high_watermark = log.log_end_offset  # as without log.flush.on.ack
    log.advance_log_start(kept)
    log.segments.remove_oldest(2, T0, 0)
    flusher.flush()
    assert log.offline is None
    assert log.durability.recovery_point == log.log_end_offset
