"""One broker's lives on a thread of its own: started, stopped, dropped as by a kill, started again where it was.

Everything in this module runs on that thread; `broker.py` is what tests hold.
"""

from __future__ import annotations

import asyncio
import threading
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn

from oncelog.broker import lifecycle
from oncelog.broker.journal.recorder import MemoryJournal, journaling
from oncelog.broker.settings.broker import BrokerConfig
from oncelog.broker.settings.load import load
from oncelog.broker.testkit.clock import TestClock
from oncelog.broker.testkit.controlled import Controlled
from oncelog.broker.testkit.loop_flusher import LoopFlusher
from oncelog.broker.testkit.own_folder import OwnFolder
from oncelog.storage.env import Env, OsFileSystem, SystemRandom
from oncelog.storage.memory_fs import MemoryFileSystem, ProcessView

IN_MEMORY = Path("/oncelog")
DEFAULTS = {
    "transaction.state.log.num.partitions": "5",
    "offsets.topic.num.partitions": "5",
    "share.coordinator.state.topic.num.partitions": "5",
    "group.initial.rebalance.delay.ms": "100",
    "connections.max.idle.ms": "-1",  # moved time is not a silent client's fault
}


class Died(BaseException):
    """The broker is dead: what was under way ends here. Not an Exception, so that nobody takes it for a failure to mend."""


class Life(Controlled):
    """`folder`: where the data lies; None: in memory."""

    def __init__(self, settings: dict[str, str], folder: Path | None, clock: TestClock) -> None:
        super().__init__(clock, self._die_here)
        self.memory = MemoryFileSystem(clock.time_ms) if folder is None else None
        self._folder = IN_MEMORY if folder is None else folder
        self._own: OwnFolder | None = None  # from the first start on, when it is no memory
        self._settings = {"listeners": "PLAINTEXT://127.0.0.1:0", **DEFAULTS, **settings}
        self._flusher: LoopFlusher | None = None
        self.journal = MemoryJournal()
        self.inside = journaling(self.journal)
        self.down = threading.Event()
        self.down.set()

    async def start(self) -> None:
        """Open what is on the disk and serve it. Raises OSError, KafkaError."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(_all_but_death)
        disk: Any = ProcessView(self.memory) if self.memory is not None else OsFileSystem()
        if self.memory is None and self._own is None:
            self._own = OwnFolder(self._folder, allowed=self._config().server.control_reset)
        fs: Any = self.watched(disk)
        self._flusher = LoopFlusher(loop)
        env = Env(self.clock, SystemRandom(), fs)
        broker = lifecycle.Broker(env, self._folder, self._config(), self._flusher, around=self.around)
        await broker.start()
        self.broker = broker
        self.down.clear()
        self._settings["listeners"] = ",".join(f"{each.name}://{each.config.host}:{each.port}" for each in broker.listeners)

    def _config(self) -> BrokerConfig:
        return _loaded(tuple(sorted(self._settings.items())))

    async def stop(self) -> None:
        """In order, as by SIGTERM. Down already: nothing."""
        broker, self.broker = self.broker, None
        if broker is not None:
            await broker.stop()
            self.down.set()
            if self.memory is not None:
                self.memory.kill()

    async def die(self, *, power: bool = False) -> None:
        """As by `kill -9`; `power`: what was not synced is lost (in memory only). Down already: nothing but that."""
        self.drop()
        if power and self.memory is not None:
            self.memory.power_cut()
        await asyncio.sleep(0)  # the sockets close

    def drop(self) -> None:
        """Within one turn: no answer leaves, nothing reaches the disk any more."""
        broker, self.broker = self.broker, None
        if broker is None:
            return
        assert self._fs is not None
        assert self._flusher is not None
        self._fs.die()
        self._flusher.forget()
        broker.drop()
        if self.memory is not None:
            self.memory.kill()
        self.down.set()

    def _die_here(self) -> NoReturn:
        self.drop()
        raise Died

    def save(self, folder: Path) -> None:
        """The data directory as it is now, into a `folder` of the real disk. Raises OSError."""
        if self.memory is not None:
            self.memory.save(self._folder, folder)
        else:
            import shutil

            shutil.copytree(self._folder, folder, dirs_exist_ok=True)

    async def reset(self) -> None:
        if self._own is not None:
            self._own.check()
        self.drop()
        self.crash_points.disarm()
        self.faults.clear()
        self.journal.clear()
        if self.memory is not None:
            self.memory.clear()
        if self._own is not None:
            self._own.empty()
        await asyncio.sleep(0)
        await self.start()

    async def settle(self) -> None:
        if self._flusher is not None:
            await self._flusher.until_idle()


@lru_cache(maxsize=64)
def _loaded(settings: tuple[tuple[str, str], ...]) -> BrokerConfig:
    return load(dict(settings))


def _all_but_death(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    if not isinstance(context.get("exception"), Died):
        loop.default_exception_handler(context)
