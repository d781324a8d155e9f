"""DeleteRecords, full and failing disks, a closed log."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.names import TopicPartition
from oncelog.protocol.records import build_batch
from oncelog.storage.upkeep.retention import delete_records
from support.flushed_when_told import sim
from support.storage_kit import T0, Kit, offsets

pytestmark = pytest.mark.unit


def test_delete_records(kit: Kit) -> None:
    for _ in range(10):
        kit.append()
    assert delete_records(kit.log, 4) == 4
    assert offsets(kit.log) == list(range(4, 10))
    for offset in (3, 11):
        with pytest.raises(KafkaError) as caught:
            kit.log.read(offset, 100, isolation=0, min_one_message=True)
        assert caught.value.code == 1 or offset == 4
    with pytest.raises(KafkaError):
        delete_records(kit.log, 11)
    assert delete_records(kit.log, -1) == 10
    assert kit.restart().log_start_offset == 10


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
