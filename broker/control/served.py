"""The broker of a process, controlled: crash points kill the process, and a reset starts another broker in it."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import signal
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from oncelog.broker import lifecycle
from oncelog.broker.control.server import ControlServer
from oncelog.broker.process.file_limits import FileLimits, claim
from oncelog.broker.settings.broker import BrokerConfig
from oncelog.broker.settings.control import ControlEndpoint
from oncelog.broker.testkit.clock import TestClock
from oncelog.broker.testkit.controlled import Controlled
from oncelog.broker.testkit.own_folder import OwnFolder
from oncelog.broker.topics.at_start import WantedTopic
from oncelog.storage.env import Env, system_env
from oncelog.storage.log.flush import ThreadFlusher

if TYPE_CHECKING:
    from oncelog.broker.lifecycle import Around

_POLL_SECONDS = 0.001
_MOST_POLLS = 1000  # clients that go on writing keep the disk busy for ever


class ServedBroker(Controlled):
    """Start and stop it as a `lifecycle.Broker`. A data directory that held something at the first start is reset only by
    `control.reset.enable`: nobody loses a cluster to a test that was pointed at the wrong port."""

    def __init__(
        self,
        config: BrokerConfig,
        data_dir: Path,
        files: FileLimits,
        clock: TestClock,
        topics: Sequence[WantedTopic] = (),
        *,
        accept_data_loss: bool,
    ) -> None:
        """`topics` are made at each start, so after a reset too."""
        super().__init__(clock, _kill)
        self._config, self._data_dir, self._files, self._topics = config, data_dir, files, topics
        self._accept_data_loss = accept_data_loss
        self._folder = OwnFolder(data_dir, allowed=config.server.control_reset)
        self._flusher: ThreadFlusher | None = None

    async def start(self) -> None:
        """Raises OSError, KafkaError."""
        env = system_env()
        fs: Any = self.watched(env.fs)
        self._flusher = ThreadFlusher(asyncio.get_running_loop())
        broker = lifecycle.Broker(
            Env(self.clock, env.random, fs, env.boot_id),
            self._data_dir,
            self._config,
            self._flusher,
            self._files,
            accept_data_loss=self._accept_data_loss,
            topics=self._topics,
            around=self.around,
        )
        await broker.start()
        self.broker = broker
        bound = tuple(dataclasses.replace(each.config, port=each.port) for each in broker.listeners)
        self._config = dataclasses.replace(self._config, listeners=bound)

    async def stop(self) -> None:
        """In order. Down already: nothing."""
        broker, self.broker = self.broker, None
        if broker is not None:
            self.faults.clear()
            await broker.stop()

    async def reset(self) -> None:
        self._folder.check()
        self.crash_points.disarm()
        await self.stop()
        await asyncio.to_thread(self._folder.empty)
        await self.start()

    async def settle(self) -> None:
        assert self._flusher is not None
        for _ in range(_MOST_POLLS):
            if self._flusher.idle:
                return
            await asyncio.sleep(_POLL_SECONDS)


@contextlib.asynccontextmanager
async def controlled(
    config: BrokerConfig,
    endpoint: ControlEndpoint,
    data_dir: Path,
    topics: Sequence[WantedTopic] = (),
    *,
    stands: bool,
    accept_data_loss: bool,
    inside: Around | None = None,
) -> AsyncIterator[lifecycle.Broker]:
    """A broker that serves within the block, and its control port. `stands`: time moves only there. Raises OSError, KafkaError."""
    served = ServedBroker(config, data_dir, claim(), TestClock(stands=stands), topics, accept_data_loss=accept_data_loss)
    served.inside = inside
    server = ControlServer(served, endpoint)
    await server.start()
    try:
        await served.start()
        print(f"Control port: {server.url}")
        print(f"Console: {server.console_url}", flush=True)
        yield served.running
    finally:
        await server.close()
        await served.stop()


def _kill() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("SIGKILL came back")
