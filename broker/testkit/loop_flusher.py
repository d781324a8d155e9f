"""Group commit without threads: everything that asked within a turn of the loop is synced at its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future

from oncelog.storage.log.flush import FlushTarget, flush_now


class LoopFlusher:
    """As `ThreadFlusher`, for disks that are memory, or tests that do not mind waiting for theirs."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._wanted: dict[FlushTarget, None] = {}

    async def until_idle(self) -> None:
        """Everything that was asked for is on disk, and what came of it too."""
        while self._wanted:
            self._flush()
            await asyncio.sleep(0)

    def request(self, log: FlushTarget) -> None:
        if not self._wanted:
            self._loop.call_soon(self._flush)
        self._wanted[log] = None

    def _flush(self) -> None:
        wanted, self._wanted = self._wanted, {}
        for log in wanted:
            flush_now(log)

    def aside(self, work: Callable[[], None], done: Callable[[], None]) -> None:
        work()
        self._loop.call_soon(done)

    def offload(self, job: Callable[[], None]) -> Future[None]:
        """Here and now."""
        done: Future[None] = Future()
        try:
            job()
        except OSError as error:
            done.set_exception(error)
        else:
            done.set_result(None)
        return done

    def forget(self) -> None:
        """The broker has died: nothing is synced any more."""
        self._wanted.clear()

    def close(self) -> None:
        while self._wanted:
            self._flush()
