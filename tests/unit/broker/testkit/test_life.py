"""What one life leaves to the next."""

from __future__ import annotations

import asyncio

import pytest
from oncelog.broker.testkit.clock import TestClock
from oncelog.broker.testkit.life import Life

pytestmark = pytest.mark.unit


def test_what_is_armed_watches_the_next_life_too_and_a_reset_disarms_it() -> None:
    async def lives() -> None:
        life = Life({}, None, TestClock())
        await life.start()
        life.crash_points.arm("in-roll")
        await life.die()
        await life.start()
        assert [each.point for each in life.crash_points.armed()] == ["in-roll"]
        await life.reset()
        assert life.crash_points.armed() == []
        await life.stop()
        await life.stop()
        assert life.down.is_set()

    asyncio.run(lives())


def test_a_start_that_fails_leaves_it_down() -> None:
    async def lives() -> None:
        first, second = Life({}, None, TestClock()), None
        await first.start()
        port = first.running.listeners[0].port
        second = Life({"listeners": f"PLAINTEXT://127.0.0.1:{port}"}, None, TestClock())
        with pytest.raises(OSError):
            await second.start()
        assert second.broker is None
        await first.stop()
        await second.start()  # its disk was not left locked
        await second.stop()

    asyncio.run(lives())
