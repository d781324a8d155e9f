"""Group commit, power cuts, full and failing disks, descriptors. The simulated disk keeps, drops or garbles what was not synced."""

from __future__ import annotations

import asyncio
import errno
import random
from pathlib import Path

import pytest
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.names import TopicPartition
from oncelog.protocol.records import build_batch
from oncelog.storage.files.checkpoints import read_offsets
from oncelog.storage.log.flush import FlushTarget, ThreadFlusher
from support.simfs import SimFileSystem
from support.storage_kit import T0, TP, Kit, offsets

pytestmark = pytest.mark.unit
DATA = Path("/data")


class LaterFlusher:
    """Flushes when told to."""

    def __init__(self) -> None:
        self.wanted: list[FlushTarget] = []

    def request(self, log: FlushTarget) -> None:
        self.wanted.append(log)

    def flush(self) -> None:
        from oncelog.storage.log.flush import flush_now

        for log in dict.fromkeys(self.wanted):
            flush_now(log)
        self.wanted.clear()

    def close(self) -> None:
        self.flush()


def sim(seed: int) -> tuple[Kit, SimFileSystem, LaterFlusher]:
    fs, flusher = SimFileSystem(seed, now_ms=lambda: T0), LaterFlusher()
    kit = Kit(DATA, fs, flusher)
    kit.create()
    return kit, fs, flusher


@pytest.mark.parametrize("seed", range(150))
def test_case_43_power_cut_keeps_every_acknowledged_batch(seed: int) -> None:
    kit, fs, flusher = sim(seed)
    chance = random.Random(seed)
    acknowledged: list[int] = []
    sequence = 0
    for _ in range(4):
        for _ in range(chance.randrange(60)):
            info = kit.append(sequence, pid=7)
            sequence += 1
            kit.log.when_durable(info.last_offset + 1, lambda error, offset=info.base_offset: acknowledged.append(offset))  # type: ignore[misc]
            if chance.random() < 0.2:
                flusher.flush()
            if chance.random() < 0.02:
                kit.manager._upkeep.write_checkpoints(everything=True)
        fs.crash()
        flusher.wanted.clear()
        kit.start()
        seen = offsets(kit.log)
        assert set(acknowledged) <= set(seen), f"seed {seed}"
        assert seen == list(range(len(seen)))
        entry = kit.log.state.get(7)
        assert (entry.last_sequence if entry else -1) == kit.log.log_end_offset - 1
        sequence = kit.log.log_end_offset


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


def test_case_69_full_disk_passes() -> None:
    kit, fs, flusher = sim(2)
    for _ in range(5):
        kit.append()
    flusher.flush()
    for room in range(0, 160, 7):
        fs.free_bytes = room
        try:
            kit.append()
        except KafkaError as error:
            assert error.code == ErrorCode.KAFKA_STORAGE_ERROR  # noqa: PT017 - it may also succeed
        flusher.flush()
        fs.free_bytes = None
        assert kit.log.offline is None
        assert offsets(kit.log) == list(range(kit.log.log_end_offset))
    end = kit.log.log_end_offset
    assert kit.append().base_offset == end
    kit.restart()
    assert offsets(kit.log) == list(range(end + 1))


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


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC])
def test_every_single_failing_call_leaves_a_log_that_opens(error: int) -> None:
    for nth in range(1, 400):
        kit, fs, flusher = sim(nth)
        for number in range(10):
            kit.append(number, pid=7)
        flusher.flush()
        fs.fail(nth, error)
        durable = 10
        try:
            for number in range(10, 40):
                kit.append(number, pid=7)
                flusher.flush()
                durable = max(durable, kit.log.high_watermark)
        except KafkaError as refused:
            assert refused.code == ErrorCode.KAFKA_STORAGE_ERROR  # noqa: PT017 - it may also succeed
        finished = fs.failed is None
        fs.fail(None)
        fs.crash()
        flusher.wanted.clear()
        kit.manager.descriptors._open.clear()
        kit.manager._lock = None
        kit.start()
        seen = offsets(kit.log)
        assert len(seen) >= durable, nth
        assert seen == list(range(len(seen)))
        if finished:
            return
    pytest.fail("never ran out of calls")


def test_thread_flusher_completes_on_the_loop(tmp_path: Path) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        flusher = ThreadFlusher(loop)
        kit = Kit(tmp_path / "data", flusher=flusher)
        kit.create()
        done: list[asyncio.Future[int]] = []
        for number in range(300):
            future: asyncio.Future[int] = loop.create_future()
            info = kit.append(number, pid=7)
            kit.log.when_durable(info.last_offset + 1, lambda error, f=future, o=info.base_offset: f.set_result(o))  # type: ignore[misc]
            done.append(future)
            if number % 20 == 0:
                await asyncio.sleep(0)
        async with asyncio.timeout(20):
            assert await asyncio.gather(*done) == list(range(300))
        assert kit.log.high_watermark == 300
        kit.stop()

    asyncio.run(main())


def test_case_71_few_descriptors_serve_many_segments(tmp_path: Path) -> None:
    kit = Kit(tmp_path / "data", flush_on_ack=False)
    kit.manager.descriptors._limit = 4
    kit.create(internal_segment_bytes="300")
    for _ in range(60):
        kit.append()
    assert len(kit.log.segments) > 15
    assert offsets(kit.log) == list(range(60))
    assert len(kit.manager.descriptors) <= 4


def test_case_72_second_process_is_refused() -> None:
    kit, _, _ = sim(5)
    with pytest.raises(BlockingIOError, match="in use by another process"):
        kit.start()


def test_case_42_deleted_topic_stays_deleted(tmp_path: Path) -> None:
    kit = Kit(tmp_path / "data")
    kit.create()
    kit.append()
    gone: list[str] = []
    kit.manager.on_topic_deleted.append(gone.append)
    kit.manager.delete_topic("t")
    assert gone == ["t"]
    assert next(path.name for path in kit.data_dir.glob("t-*")).endswith("-delete")
    kit.kill()
    kit.start()
    assert kit.manager.topics.get("t") is None
    kit.manager.maintenance(kit.clock.now_ms)
    assert not list(kit.data_dir.glob("t-*"))
    kit.create()
    assert offsets(kit.log) == []


def test_lost_registry_is_rebuilt_from_the_folders(tmp_path: Path) -> None:
    kit = Kit(tmp_path / "data")
    topic_id = kit.create().topic_id
    kit.append()
    kit.stop()
    (kit.data_dir / "oncelog.topics").unlink()
    kit.start()
    assert offsets(kit.log) == [0]
    assert kit.log.topic_id == topic_id


def test_voucher_does_not_outlive_the_growth_of_its_index(tmp_path: Path) -> None:
    kit = Kit(tmp_path)
    kit.create()
    kit.append(0, pid=7, txn=True)
    kit.mark(7, False)
    kit.log.take_snapshot()
    kit.log.flush()
    kit.append(0, pid=8, txn=True)
    kit.mark(8, False)
    index = next(kit.folder.glob("*.txnindex"))
    index.write_bytes(index.read_bytes()[: index.stat().st_size // 2])  # a power cut took the second entry
    kit.kill_and_start()
    assert offsets(kit.log, isolation=1) == []


def test_what_a_kill_left_in_the_page_cache_survives_the_next_power_cut() -> None:
    kit, fs, _ = sim(5)
    for number in range(20):
        kit.append(number, pid=7)
    fs.kill()
    kit.start()
    assert kit.log.high_watermark == 20
    fs.crash()
    kit.start()
    assert offsets(kit.log) == list(range(20))


def test_an_empty_watermark_checkpoint_tells_of_no_acknowledgement() -> None:
    """Kept by a power cut: the checkpoint without lines and the second segment, not the first one's data. In a compacted log that gap is
    no work of the cleaner."""
    kit, fs, _ = sim(1)
    kit.manager.alter_topic_configs("t", {"internal.segment.bytes": "2000", "cleanup.policy": "compact"})
    fs.write_atomic(DATA / "replication-offset-checkpoint", b"0\n0\n")
    sequence = 0
    while len(kit.log.segments) < 2:
        kit.append(sequence, pid=7, n=5)
        sequence += 5
    first = kit.log.segments[0].log_path
    fs.kill()
    fs.names[first].content.clear()  # type: ignore[union-attr]
    kit.start()
    assert kit.log.log_end_offset == 0
    assert kit.log.producers() == []


def test_ends_behind_a_lost_tail_are_forgotten() -> None:
    """Else other records that get their offsets later would count as aborted."""
    kit, fs, _ = sim(1)
    kit.append(0, pid=7, txn=True)
    kit.mark(7, False)
    log_path = kit.log.active_segment.log_path
    fs.kill()
    fs.names[log_path].content.clear()  # type: ignore[union-attr]
    kit.start()
    for number in range(3):
        kit.append(number, pid=7, txn=True)
    kit.mark(7, True)
    kit.log.flush()
    assert offsets(kit.log, isolation=1) == [0, 1, 2]


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


def test_a_sealed_segment_is_not_read_again_after_a_kill() -> None:
    """The recovery point reaches the disk with the next piece of upkeep, not a minute later."""
    kit, _, flusher = sim(1)
    while len(kit.log.segments) < 4:
        kit.append(n=5)
    flusher.flush()
    kit.manager.maintenance(T0)
    assert read_offsets(kit.fs, DATA / "recovery-point-offset-checkpoint") == {TP: kit.log.log_end_offset}


def test_a_closed_log_refuses(tmp_path: Path) -> None:
    """Whoever still holds it when the broker has stopped, and whoever asks for one then: nobody would write it out."""
    kit = Kit(tmp_path)
    kit.create()
    kit.append(1)
    kit.manager.create_topic("unwritten", 2)
    log, unwritten = kit.log, kit.manager.log(TopicPartition("unwritten", 0))
    assert unwritten is not None
    manager = kit.manager
    kit.stop()
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    batch = bytearray(build_batch([(T0, None, b"late")]))
    told: list[KafkaError | None] = []
    for closed in (log, unwritten):
        with pytest.raises(KafkaError) as refused:
            closed.append(batch, T0)
        assert refused.value.code == ErrorCode.KAFKA_STORAGE_ERROR
        with pytest.raises(KafkaError):
            closed.append_marker(1, 0, 0, True, T0)
        closed.when_durable(closed.log_end_offset + 1, told.append)
    assert all(error is not None for error in told)
    assert len(told) == 2
    assert manager.log(TopicPartition("unwritten", 1)) is None
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
    kit.start()
    assert kit.log.log_end_offset == 1
