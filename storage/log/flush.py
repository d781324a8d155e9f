"""Group commit: one fdatasync covers everything appended to a log since the last one, off the event loop.

A log asks with `request`; the flusher takes a `FlushJob` from it, runs it on a worker thread and hands the outcome back on the loop.
While a job of a log runs, later requests wait and become one job. fdatasync frees the GIL, so a few threads serve many logs.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from oncelog.storage.env import FileSystem

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

TURN_SECONDS = 0.004  # of one turn of the loop, for all logs together
MOST_AT_ONCE = 48  # logs handed over, each with files that must stay open

Offload = Callable[[Callable[[], None]], "Future[None]"]

_log = logging.getLogger(__name__)


class Syncable(Protocol):
    """An open file, or what is to be written to one and synced with it."""

    def datasync(self) -> None:
        """Raises OSError."""


@dataclass(slots=True)
class FlushJob:
    """What makes a log durable up to `end_offset`: first `run`, which acknowledgements wait for, then `tidy`, which nobody does.

    Both are called on any thread, `tidied` like everything else on the loop's. `postponed`: a job before it is still tidying, and goes on.
    """

    fs: FileSystem
    end_offset: int
    files: Sequence[Syncable]
    pinned: Sequence[str]
    folders: Sequence[Path] = ()
    actions: Sequence[Callable[[], None]] = ()
    behind: Sequence[Callable[[], None]] = ()
    tidied: Callable[[FlushJob], None] | None = None
    postponed: bool = False
    unfinished: list[Callable[[], None]] = field(default_factory=list)
    problem: OSError | None = None

    def run(self) -> None:
        """Sync the data, then the actions: a full disk there loses nothing. Raises OSError."""
        for file in self.files:
            file.datasync()
        for folder in self.folders:
            self.fs.sync_dir(folder)
        self._carry_out(self.actions)

    def tidy(self) -> None:
        """Write what recovery could also do without."""
        self._carry_out(self.behind)

    def _carry_out(self, actions: Sequence[Callable[[], None]]) -> None:
        for position, action in enumerate(actions):
            try:
                action()
            except OSError as error:
                self.problem = error
                self.unfinished = list(actions[position:])
                return


class FlushTarget(Protocol):
    """What a flusher needs of a log."""

    def begin_flush(self) -> FlushJob | None: ...

    def end_flush(self, job: FlushJob, error: OSError | None) -> None: ...


class Flusher(Protocol):
    """Makes logs durable, soon."""

    def request(self, log: FlushTarget) -> None: ...

    def aside(self, work: Callable[[], None], done: Callable[[], None]) -> None:
        """Run `work`, which takes long and raises nothing, where no flush waits for it; then `done`, like everything else on the loop's
        thread, by `close` at the latest."""

    def close(self) -> None:
        """Finish what is under way; outcomes are handed back before it returns."""


def flush_now(log: FlushTarget) -> None:
    """One job, here and now."""
    job = log.begin_flush()
    if job is None:
        return
    try:
        job.run()
    except OSError as error:
        log.end_flush(job, error)
        return
    log.end_flush(job, None)
    if job.tidied is not None:
        job.tidy()
        job.tidied(job)


class ThreadFlusher:
    """Worker threads, completion on `loop`."""

    def __init__(self, loop: asyncio.AbstractEventLoop, threads: int = 4) -> None:
        self._loop = loop
        self._wanted: dict[FlushTarget, None] = {}
        self._busy: set[FlushTarget] = set()
        self._scheduled = False
        self._told = False  # a completion is on its way to the loop and takes along whatever is done until then
        self._jobs: queue.SimpleQueue[tuple[FlushTarget, FlushJob] | None] = queue.SimpleQueue()
        self._done: deque[Callable[[], None]] = deque()
        self._worker: ThreadPoolExecutor | None = None
        self._aside: ThreadPoolExecutor | None = None
        self._threads = [threading.Thread(target=self._work, name=f"oncelog-flush-{n}", daemon=True) for n in range(threads)]
        for thread in self._threads:
            thread.start()

    def request(self, log: FlushTarget) -> None:
        self._wanted[log] = None
        if not self._scheduled and log not in self._busy:
            self._scheduled = True
            self._loop.call_soon(self._submit)

    @property
    def idle(self) -> bool:
        """Everything that was asked for is on disk, and what came of it is known."""
        return not (self._wanted or self._busy or self._done)

    def _submit(self) -> None:
        """Hand over what is wanted; of very many logs some now and the rest in the next turn."""
        self._scheduled = False
        stop = self._loop.time() + TURN_SECONDS
        free = (log for log in self._wanted if log not in self._busy)
        for log in list(islice(free, max(MOST_AT_ONCE - len(self._busy), 0))):  # the end of one hands over the next
            del self._wanted[log]
            job = log.begin_flush()
            if job is not None:
                self._busy.add(log)
                self._jobs.put((log, job))
            if self._loop.time() > stop:
                self._scheduled = True
                self._loop.call_soon(self._submit)
                return

    def offload(self, job: Callable[[], None]) -> Future[None]:
        """Run other slow file work on a thread of its own; its outcome is polled."""
        if self._worker is None:
            from concurrent.futures import ThreadPoolExecutor

            self._worker = ThreadPoolExecutor(1, "oncelog-files")
        return self._worker.submit(job)

    def aside(self, work: Callable[[], None], done: Callable[[], None]) -> None:
        """On a thread of its own, one after the other: those of `offload` are waited for."""
        if self._aside is None:
            from concurrent.futures import ThreadPoolExecutor

            self._aside = ThreadPoolExecutor(1, "oncelog-aside")

        def run() -> None:
            work()
            self._tell(done)

        self._aside.submit(run)

    def _work(self) -> None:
        while (item := self._jobs.get()) is not None:
            log, job = item
            error: OSError | None = None
            try:
                job.run()
            except OSError as problem:
                error = problem
            self._tell(partial(self._end_flush, log, job, error))
            if job.tidied is not None and error is None:
                job.tidy()
                self._tell(partial(job.tidied, job))

    def _tell(self, outcome: Callable[[], None]) -> None:
        """Have it called on the loop's thread."""
        self._done.append(outcome)
        if self._told:
            return
        self._told = True
        try:
            self._loop.call_soon_threadsafe(self._complete)
        except RuntimeError:  # the loop is closed: close() collects the outcome
            _log.debug("flush finished after the loop was closed")

    def _end_flush(self, log: FlushTarget, job: FlushJob, error: OSError | None) -> None:
        self._busy.discard(log)
        log.end_flush(job, error)

    def _complete(self) -> None:
        self._told = False  # before looking: what is done after it tells again
        stop = self._loop.time() + TURN_SECONDS
        while self._done:
            self._done.popleft()()
            if self._done and self._loop.time() > stop:
                self._told = True
                self._loop.call_soon(self._complete)
                break
        if self._wanted and not self._scheduled:
            self._submit()

    def close(self) -> None:
        self._scheduled = True  # from here on nothing is handed over: what is asked for is done below
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()
        for worker in (self._worker, self._aside):
            if worker is not None:
                worker.shutdown()
        self._complete_all()

    def _complete_all(self) -> None:
        while self._done:
            self._done.popleft()()
        wanted = list(self._wanted)
        self._wanted.clear()
        for log in wanted:
            flush_now(log)
