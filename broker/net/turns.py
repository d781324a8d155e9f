"""Work that one turn of the loop must not hold: it comes as a generator, which says where a turn ends.

It yields None to let others have their turn, a call for another thread, or a `Deferred`; it is sent what they give. How much a turn takes
is counted, not timed, so that a simulation repeats itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from oncelog.broker.answers import holding_back
from oncelog.coordinator.deferred import Deferred, Reply

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

T = TypeVar("T")
Job: TypeAlias = Callable[[], Any] | Deferred[Any]
Steps: TypeAlias = Generator[Job | None, Any, T]

# works that may hold what another thread made for them: one batch may unpack to 64 MiB with default settings, and two would be most of
# the memory that a broker is to get by with
MAX_WITH_JOBS: Final = 1


def at_once(steps: Steps[T]) -> T:
    """What `steps` return, their turns ignored; they must not ask for anything."""
    try:
        while next(steps) is None:
            pass
    except StopIteration as end:
        result: T = end.value
        return result
    raise AssertionError("steps that ask for something are not taken at once")


class Turns:
    """Goes on with such works, turn by turn. Use on the loop's thread."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self._thread: ThreadPoolExecutor | None = None
        self._places = asyncio.Semaphore(MAX_WITH_JOBS)

    @property
    def busy(self) -> bool:
        """Is there work that has not ended?"""
        return bool(self._tasks)

    def begin(self, steps: Steps[Reply[T]]) -> Reply[T]:
        """What `steps` return when they need no other turn, else an answer to wait for."""
        try:
            job = next(steps)
        except StopIteration as end:
            result: Reply[T] = end.value
            return result
        return holding_back(self.go_on(steps, job))

    def answer(self, steps: Steps[Any], encode: Callable[[Any], Any] | None = None) -> Deferred[Any]:
        """A handler's answer that `steps` will return: a value, or itself something to wait for. `encode` is called by another thread."""
        return holding_back(self.go_on(_settled(steps, encode), None))

    def go_on(self, steps: Steps[Reply[T]], job: Job | None) -> Deferred[T]:
        """What the rest of `steps`, which has just yielded `job`, returns or raises; never, when it is given up."""
        task = asyncio.get_running_loop().create_task(self._go_on(steps, job))
        result: Deferred[T] = Deferred()

        def ended(task: asyncio.Task[Reply[T]]) -> None:
            self._tasks.discard(task)
            if not task.cancelled():
                result.become(task.result)

        self._tasks.add(task)
        task.add_done_callback(ended)
        return result

    async def _go_on(self, steps: Steps[T], job: Job | None) -> T:
        placed = False
        try:
            while True:
                if job is not None and not placed and not isinstance(job, Deferred):
                    await self._places.acquire()
                    placed = True
                job = await self._next(steps, job)
        except _Ended as ended:
            result: T = ended.value
            return result
        finally:
            steps.close()
            if placed:
                self._places.release()

    async def _next(self, steps: Steps[T], job: Job | None) -> Job | None:
        """What `steps` yields next. Raises _Ended with what it returns."""
        try:
            if job is None:
                await asyncio.sleep(0)
                return next(steps)
            try:
                made = await (_future_of(job) if isinstance(job, Deferred) else self._in_thread(job))
            except Exception as error:  # it belongs to who asked for the call
                return steps.throw(error)
            return steps.send(made)
        except StopIteration as end:
            raise _Ended(end.value) from None

    def _in_thread(self, call: Callable[[], Any]) -> asyncio.Future[Any]:
        if self._thread is None:
            from concurrent.futures import ThreadPoolExecutor  # a start can do without

            self._thread = ThreadPoolExecutor(MAX_WITH_JOBS, "oncelog-turns")
        return asyncio.get_running_loop().run_in_executor(self._thread, call)

    def close(self) -> None:
        """Give up what is under way: nobody is left to be answered."""
        for task in self._tasks:
            task.cancel()
        if self._thread is not None:
            self._thread.shutdown(wait=False, cancel_futures=True)


def _settled(steps: Steps[Any], encode: Callable[[Any], Any] | None) -> Steps[Any]:
    reply = yield from steps
    if isinstance(reply, Deferred):
        reply = yield reply
    return reply if encode is None else (yield partial(encode, reply))


def _future_of(deferred: Deferred[T]) -> asyncio.Future[T]:
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    def settle(done: Deferred[T]) -> None:
        if future.done():  # given up
            return
        if done.error is not None:
            future.set_exception(done.error)
        else:
            future.set_result(done.result())

    deferred.when_done(settle)
    return future


class _Ended(Exception):
    """The steps have returned `value`: a StopIteration cannot leave a coroutine."""

    def __init__(self, value: Any) -> None:
        self.value = value
