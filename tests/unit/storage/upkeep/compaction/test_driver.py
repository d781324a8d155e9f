"""Cleaning in small steps, syncs by a worker, damaged logs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from oncelog.protocol.names import TopicPartition
from oncelog.storage.upkeep.compaction.driver import LogCleaner
from support.compacted_log import T0, FakeLog


class Ticking:
    """Every look at the clock is one millisecond."""

    now = 0.0

    def time_ms(self) -> int:
        return T0

    def monotonic_ms(self) -> float:
        self.now += 1.0
        return self.now


def test_the_driver_works_in_small_steps_and_reports_the_checkpoint(log: FakeLog) -> None:
    for number in range(40):
        log.write([("a", str(number))])
    log.roll()
    done: list[tuple[TopicPartition, int]] = []
    cleaner = LogCleaner(log.fs, Ticking(), lambda partition, offset: done.append((partition, offset)))
    logs: Iterable[FakeLog] = [log]
    turns = 0
    while cleaner.step(logs, {}, T0, budget_ms=5.0):
        turns += 1
        assert turns < 200
    assert turns > 5
    assert done == [(log.topic_partition, 40)]
    assert log.records() == {39: ("a", "39")}
    assert cleaner.step(logs, {log.topic_partition: 40}, T0) is False


def test_the_driver_hands_syncs_to_a_worker_and_waits_for_it(log: FakeLog) -> None:
    class Held:
        finished = False

        def __init__(self, job: Any) -> None:
            self.job = job

        def done(self) -> bool:
            return self.finished

        def result(self) -> None:
            self.job()

    held: list[Held] = []

    def offload(job: Any) -> Held:
        held.append(Held(job))
        return held[-1]

    log.write([("a", "1"), ("a", "2")])
    log.roll()
    done: list[int] = []
    cleaner = LogCleaner(log.fs, Ticking(), lambda _partition, offset: done.append(offset), offload)
    for _ in range(50):
        cleaner.step([log], {}, T0)
    assert len(held) == 1
    assert not done
    held[0].finished = True
    while cleaner.step([log], {}, T0):
        pass
    assert done == [2]


def test_the_driver_marks_a_damaged_log_and_goes_on(log: FakeLog, tmp_path_factory: pytest.TempPathFactory) -> None:
    log.write([("a", "1")])
    log.roll()
    path = Path(log.segments[0].log_path)
    path.write_bytes(path.read_bytes()[:-1] + b"\xff")
    done: list[int] = []
    cleaner = LogCleaner(log.fs, Ticking(), lambda _partition, offset: done.append(offset))
    while cleaner.step([log], {}, T0):
        pass
    assert "wrong CRC" in cleaner.uncleanable[log.topic_partition]
    assert not done
