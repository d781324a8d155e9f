"""Group commit at the end of a turn."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from oncelog.broker.testkit.loop_flusher import LoopFlusher

pytestmark = pytest.mark.unit


class Target:
    """Counts how often it was flushed; may ask again while it is."""

    def __init__(self, again: LoopFlusher | None = None) -> None:
        self.flushes = 0
        self.again = again

    def begin_flush(self) -> Any:
        self.flushes += 1
        if self.again is not None and self.flushes == 1:
            self.again.request(self)

    def end_flush(self, job: Any, error: OSError | None) -> None: ...


def test_everything_asked_for_in_a_turn_is_one_flush_at_its_end() -> None:
    async def turn() -> None:
        flusher = LoopFlusher(asyncio.get_running_loop())
        one, other = Target(), Target(flusher)
        for target in (one, one, other):
            flusher.request(target)
        assert (one.flushes, other.flushes) == (0, 0)
        await asyncio.sleep(0)
        assert (one.flushes, other.flushes) == (1, 1)
        await flusher.until_idle()
        assert other.flushes == 2

    asyncio.run(turn())


def test_what_is_under_way_is_finished_by_closing_and_dropped_by_forgetting() -> None:
    async def turn() -> None:
        flusher = LoopFlusher(asyncio.get_running_loop())
        kept, lost = Target(flusher), Target()
        flusher.request(lost)
        flusher.forget()
        flusher.request(kept)
        flusher.close()
        await asyncio.sleep(0)
        assert (kept.flushes, lost.flushes) == (2, 0)

    asyncio.run(turn())


def test_other_work_is_done_at_once_and_its_failure_kept() -> None:
    def fail() -> None:
        raise OSError(28, "full")

    async def turn() -> None:
        flusher = LoopFlusher(asyncio.get_running_loop())
        assert flusher.offload(lambda: None).result(0) is None
        assert isinstance(flusher.offload(fail).exception(0), OSError)

    asyncio.run(turn())
