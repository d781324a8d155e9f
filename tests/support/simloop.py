"""Virtual time: an event loop that never waits, the clock that goes with it, and a flusher whose disk takes its time.

`SimLoop` jumps to the next timer when nothing is ready, so a broker lives through hours in seconds, and the same seed gives the same
life. A simulated death (`simfs.Died`) comes out of `run_until_complete`: the loop is then dropped as the process would be.
"""

from __future__ import annotations

import asyncio
import random
from asyncio import base_events
from collections import deque
from collections.abc import Callable
from contextvars import Context
from functools import partial
from heapq import heappop, heappush
from typing import Any

from oncelog.storage.log.flush import FlushJob, FlushTarget

T0_MS = 1_700_000_000_000


class SimLoop(base_events.BaseEventLoop):
    """An asyncio loop on virtual seconds, without sockets and threads."""

    _ready: deque[asyncio.Handle]
    _scheduled: list[asyncio.TimerHandle]

    def __init__(self) -> None:
        super().__init__()
        self.now_seconds = 0.0

    def time(self) -> float:
        return self.now_seconds

    def _run_once(self) -> None:
        """All that is ready; when nothing is, time jumps to the next timer. asyncio's own turn without waiting and clock reading."""
        ready, scheduled = self._ready, self._scheduled
        if not ready:
            while scheduled and scheduled[0]._cancelled:  # type: ignore[attr-defined]
                heappop(scheduled)._scheduled = False  # type: ignore[attr-defined]
            if not scheduled:
                raise RuntimeError("nothing is ready and no timer is set: the simulation would wait for ever")
            self.now_seconds = max(self.now_seconds, scheduled[0].when())
        while scheduled and scheduled[0].when() <= self.now_seconds:
            handle = heappop(scheduled)
            handle._scheduled = False  # type: ignore[attr-defined]
            ready.append(handle)
        for _ in range(len(ready)):
            due = ready.popleft()
            if not due._cancelled:  # type: ignore[attr-defined]
                due._run()

    def call_at(self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None) -> asyncio.TimerHandle:
        """Without the checks for threads and closed loops, which nobody here has."""
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        heappush(self._scheduled, timer)
        timer._scheduled = True  # type: ignore[attr-defined]
        return timer

    def call_later(self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None) -> asyncio.TimerHandle:
        return self.call_at(self.now_seconds + delay, callback, *args, context=context)

    def call_soon(self, callback: Callable[..., object], *args: Any, context: Context | None = None) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def _process_events(self, event_list: Any) -> None:
        """There are none."""

    def _write_to_self(self) -> None:
        """Nobody sleeps, so nobody has to be woken."""

    def abandon(self) -> None:
        """As the death of the process: tasks, timers and callbacks are gone, nothing runs any more."""
        self._ready.clear()
        self._scheduled.clear()
        for task in asyncio.all_tasks(self):
            task._log_destroy_pending = False  # type: ignore[attr-defined]
        self.set_exception_handler(lambda _loop, _context: None)
        self.close()


class SimClock:
    """The time of day runs with `loop` and may be set (`jump`); the monotonic clock only runs. Both outlive a restart: `attach`."""

    def __init__(self, start_ms: int = T0_MS) -> None:
        self._offset_ms = float(start_ms)
        self._loop: SimLoop | None = None
        self._elapsed_ms = 0.0
        self.jumps = 0

    def attach(self, loop: SimLoop | None) -> None:
        """Go on with another loop; None: stand still."""
        if self._loop is not None:
            self._elapsed_ms += self._loop.now_seconds * 1000
        self._loop = loop

    def monotonic_ms(self) -> float:
        return self._elapsed_ms + (self._loop.now_seconds * 1000 if self._loop is not None else 0.0)

    def time_ms(self) -> int:
        return int(self._offset_ms + self.monotonic_ms())

    def jump(self, by_ms: float) -> None:
        """Set the time of day forwards or back, as an administrator or NTP would."""
        self._offset_ms += by_ms
        self.jumps += 1


class StepFlusher:
    """Group commit cut into its moments, each when `step` says so: a job is taken, the disk works, the outcome is told; the same for
    what is not urgent, while the next job of the log may begin."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self._wanted: dict[FlushTarget, None] = {}
        self._taken: dict[FlushTarget, FlushJob] = {}
        self._ran: dict[FlushTarget, tuple[FlushJob, OSError | None]] = {}
        self._untidy: dict[FlushTarget, FlushJob] = {}
        self._tidied: dict[FlushTarget, FlushJob] = {}
        self._aside: list[Callable[[], None]] = []

    def request(self, log: FlushTarget) -> None:
        self._wanted[log] = None

    def aside(self, work: Callable[[], None], done: Callable[[], None]) -> None:
        self._aside += (work, done)

    @property
    def idle(self) -> bool:
        return not (self._wanted or self._taken or self._ran or self._untidy or self._tidied or self._aside)

    def step(self) -> None:
        """One of the things that could happen next."""
        ready = [partial(self._take, log) for log in self._wanted if log not in self._taken and log not in self._ran]
        ready += [partial(self._sync, log) for log in self._taken]
        ready += [partial(self._tidy, log) for log in self._untidy]
        ready += [partial(self._tell, log) for log in self._ran][:1]
        ready += [partial(self._tell_tidied, log) for log in self._tidied][:1]
        ready += [lambda: self._aside.pop(0)()] if self._aside else []
        if ready:
            self.chance.choice(ready)()

    def _take(self, log: FlushTarget) -> None:
        del self._wanted[log]
        job = log.begin_flush()
        if job is not None:
            self._taken[log] = job

    def _sync(self, log: FlushTarget) -> None:
        job = self._taken.pop(log)
        error: OSError | None = None
        try:
            job.run()
        except OSError as problem:
            error = problem
        self._ran[log] = (job, error)

    def _tell(self, log: FlushTarget) -> None:
        job, error = self._ran.pop(log)
        if job.tidied is not None and error is None:
            self._untidy[log] = job
        log.end_flush(job, error)

    def _tidy(self, log: FlushTarget) -> None:
        job = self._tidied[log] = self._untidy.pop(log)
        job.tidy()

    def _tell_tidied(self, log: FlushTarget) -> None:
        job = self._tidied.pop(log)
        assert job.tidied is not None
        job.tidied(job)

    def flush(self) -> None:
        """Until nothing is left to do."""
        while not self.idle:
            self.step()

    def close(self) -> None:
        self.flush()

    def forget(self) -> None:
        """The process died."""
        self._wanted.clear()
        self._taken.clear()
        self._ran.clear()
        self._untidy.clear()
        self._tidied.clear()
        self._aside.clear()


class TimedFlusher:
    """Group commit on virtual time: each fdatasync takes a random while, at the end of which the disk has it and the loop is told."""

    def __init__(self, loop: SimLoop, chance: random.Random, longest_ms: float = 8.0) -> None:
        self._loop = loop
        self._chance = chance
        self._longest_ms = longest_ms
        self._wanted: dict[FlushTarget, None] = {}
        self._busy: set[FlushTarget] = set()

    def request(self, log: FlushTarget) -> None:
        if log in self._wanted:
            return
        self._wanted[log] = None
        if log not in self._busy:
            self._loop.call_soon(self._begin, log)

    def aside(self, work: Callable[[], None], done: Callable[[], None]) -> None:
        def run() -> None:
            work()
            self._loop.call_later(self._longest_ms / 1000, done)

        self._loop.call_later(self._longest_ms / 1000, run)

    def _begin(self, log: FlushTarget) -> None:
        if log in self._busy or log not in self._wanted:
            return
        del self._wanted[log]
        job = log.begin_flush()
        if job is None:
            return
        self._busy.add(log)
        self._loop.call_later(self._chance.random() * self._longest_ms / 1000, self._run, log, job)

    def _run(self, log: FlushTarget, job: FlushJob) -> None:
        error: OSError | None = None
        try:
            job.run()
        except OSError as problem:
            error = problem
        self._loop.call_later(self._chance.random() * self._longest_ms / 4000, self._tell, log, job, error)

    def _tell(self, log: FlushTarget, job: FlushJob, error: OSError | None) -> None:
        self._busy.discard(log)
        log.end_flush(job, error)
        if job.tidied is not None and error is None:
            self._loop.call_later(self._chance.random() * self._longest_ms / 1000, self._tidy, job)
        if log in self._wanted:
            self._begin(log)

    def _tidy(self, job: FlushJob) -> None:
        job.tidy()
        assert job.tidied is not None
        self._loop.call_later(self._chance.random() * self._longest_ms / 4000, job.tidied, job)

    def close(self) -> None:
        """An orderly stop is not simulated on virtual time: brokers here die."""
