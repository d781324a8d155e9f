"""A whole broker in this process, on a loop that writes down the processor time of each turn."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from oncelog.broker.lifecycle import Broker
from oncelog.broker.process.file_limits import claim
from oncelog.broker.process.garbage import keep_collections_short
from oncelog.broker.settings.load import load
from oncelog.protocol.names import TopicPartition
from oncelog.storage.env import system_env
from oncelog.storage.log.flush import ThreadFlusher
from oncelog.storage.log.log import Log

START_SECONDS = 60.0


class WatchedBroker:
    """Serves on `bootstrap`. `longest_ms`: processor time of the longest turn since `reset`, and `longest_turn`, whose it was."""

    def __init__(self, data_dir: Path, settings: Mapping[str, str]) -> None:
        self._data_dir = data_dir
        self._settings = {**settings, "listeners": "PLAINTEXT://127.0.0.1:0"}
        self._thread = threading.Thread(target=self._run, name="watched-loop", daemon=True)
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ending: asyncio.Event | None = None
        self._problem: BaseException | None = None
        self.broker: Broker | None = None
        self.bootstrap = ""
        self.reset()

    def reset(self) -> None:
        self.longest_ms, self.longest_turn = 0.0, ""

    def start(self) -> None:
        self._thread.start()
        assert self._ready.wait(START_SECONDS)
        if self._problem is not None:
            raise self._problem

    def log(self, topic: str, partition: int = 0) -> Log:
        assert self.broker is not None
        log = self.broker.logs.log(TopicPartition(topic, partition))
        assert log is not None
        return log

    def stop(self) -> None:
        assert self._loop is not None
        assert self._ending is not None
        if not self._thread.is_alive():
            return
        self._loop.call_soon_threadsafe(self._ending.set)
        self._thread.join(START_SECONDS)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as problem:
            self._problem = problem
            self._ready.set()
            raise

    async def _serve(self) -> None:
        self._loop, self._ending = asyncio.get_running_loop(), asyncio.Event()
        self.broker = Broker(system_env(), self._data_dir, load(self._settings), ThreadFlusher(self._loop), claim())
        await self.broker.start()
        keep_collections_short()
        self.bootstrap = f"127.0.0.1:{self.broker.listeners[0].port}"
        self._ready.set()
        await self._ending.wait()
        await self.broker.stop()

    def turn(self, run: Any, handle: asyncio.Handle) -> None:
        """Run `handle` as its loop does."""
        if threading.current_thread() is not self._thread:
            run(handle)
            return
        before = time.thread_time()
        run(handle)
        took = 1000 * (time.thread_time() - before)
        if took > self.longest_ms:
            self.longest_ms, self.longest_turn = took, repr(handle)


@contextmanager
def watched_broker(data_dir: Path, **settings: str) -> Iterator[WatchedBroker]:
    """A started broker; settings by their names with underscores for dots."""
    watched = WatchedBroker(data_dir, {name.replace("_", "."): value for name, value in settings.items()})
    run = asyncio.Handle._run  # type: ignore[attr-defined]
    callbacks, thresholds = list(gc.callbacks), gc.get_threshold()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asyncio.Handle, "_run", lambda handle: watched.turn(run, handle))
        watched.start()
        try:
            yield watched
        finally:
            watched.stop()
            gc.callbacks[:] = callbacks  # the broker's way of collecting is its process's
            gc.set_threshold(*thresholds)
            gc.unfreeze()
