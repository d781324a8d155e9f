"""The clock of a test."""

from __future__ import annotations

import pytest
from oncelog.broker.testkit.clock import TestClock
from support.process import wait_until

pytestmark = pytest.mark.unit


def test_a_standing_clock_moves_when_told() -> None:
    clock = TestClock(stands=True)
    time_ms, monotonic_ms = clock.time_ms(), clock.monotonic_ms()
    clock.move(900_000)
    assert clock.time_ms() in (time_ms + 900_000, time_ms + 900_001)
    assert clock.monotonic_ms() == monotonic_ms + 900_000


def test_a_running_clock_does_so_too() -> None:
    clock = TestClock()
    begin = clock.monotonic_ms()
    wait_until(lambda: clock.monotonic_ms() > begin, 5.0, "time passes")
    clock.move(900_000)
    assert clock.monotonic_ms() >= begin + 900_000
    assert clock.time_ms() >= 900_000
