"""The broker that a test holds: calls from any thread, carried out on the broker's own."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from oncelog.broker.faults.rule import Rule
from oncelog.broker.settings.control import LOOPBACK, ControlEndpoint
from oncelog.broker.testkit.clock import TestClock
from oncelog.broker.testkit.handles import PATIENCE_SECONDS, Clock, Faults, as_text
from oncelog.broker.testkit.in_turns import in_turns
from oncelog.broker.testkit.life import Died, Life
from oncelog.broker.testkit.observing import Record, outcomes_of, records_of
from oncelog.broker.testkit.state import state_pieces

if TYPE_CHECKING:
    from oncelog.broker.control.server import ControlServer

T = TypeVar("T")


class Broker:
    """A whole broker on a port of its own, ready when `start` returns; `with Broker() as broker:` starts and closes it.

    `settings`: as in `server.properties`. `data_dir`: where the data lies; None: in memory, gone with the broker.
    `clock`: "running" goes with the machine's and may be moved ahead; "virtual" stands still until it is.
    `control`: whether there is a control port, for tests in other languages (`control_url`); a number: which.
    Raises KafkaError for a setting that is wrong, OSError for a folder or port that cannot be had.
    """

    def __init__(
        self,
        settings: Mapping[str, object] | None = None,
        data_dir: Path | str | None = None,
        *,
        clock: str = "running",
        control: bool | int = False,
    ) -> None:
        if clock not in ("running", "virtual"):
            raise ValueError(f'clock="{clock}": "running" or "virtual"')
        given = as_text(settings)
        self._clock = TestClock(stands=clock == "virtual")
        self._life = Life(given, None if data_dir is None else Path(data_dir).absolute(), self._clock)
        self._control_port = None if control is False else 0 if control is True else control
        self._control: ControlServer | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        door = _Inside(self)
        self.clock, self.faults = Clock(door), Faults(door)

    # -- life

    def start(self) -> Broker:
        """Serve; itself. Running already: nothing."""
        if self._loop is None:
            self._loop = asyncio.SelectorEventLoop()
            self._thread = threading.Thread(target=self._run, name="oncelog-broker", daemon=True)
            self._thread.start()
            try:
                self._do(self._open())
            except BaseException:
                self._end()
                raise
        return self

    def close(self) -> None:
        """Stop in order and end the thread; data in memory is gone. Closed already: nothing."""
        if self._loop is not None:
            try:
                self._do(self._close())
            finally:
                self._end()

    def __enter__(self) -> Broker:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def restart(self) -> None:
        """Stop in order, if it runs, and serve again what is on its disk, at the same address."""
        self._do(self._restart())

    def crash(self) -> None:
        """As `kill -9`: nobody is answered any more, what was written is there. Down until `restart`."""
        self._do(self._life.die())

    def crash_at(self, point: str, nth: int = 1) -> None:
        """Crash the `nth` time that `point` is passed (`crash_points.POINTS`). Raises ValueError for one that there is not."""
        self._call(lambda: self._life.crash_points.arm(point, nth))

    def wait_down(self, seconds: float = PATIENCE_SECONDS) -> None:
        """Return when it is down, as after `crash_at`. Raises TimeoutError."""
        if not self._life.down.wait(seconds):
            armed = ", ".join(f"{each.point} (to be passed {each.left} more times)" for each in self._life.crash_points.armed())
            raise TimeoutError(f"the broker is still up after {seconds} s; armed: {armed or 'nothing'}")

    def power_cut(self) -> None:
        """In memory what was not synced is lost as well; in a folder it is a crash. Down until `restart`."""
        self._do(self._life.die(power=True))

    def reset(self) -> None:
        """No topics, groups and transactions are left; clients are cut off and find the same address.

        Raises PermissionError for a `data_dir` that held something at the first start, without `control.reset.enable`.
        """
        self._do(self._life.reset())

    @property
    def is_up(self) -> bool:
        return self._life.broker is not None

    # -- looking

    @property
    def bootstrap(self) -> str:
        """host:port, for `bootstrap.servers`. Raises RuntimeError while it is down."""
        listener = self._life.running.listeners[0]
        return f"{listener.config.host}:{listener.port}"

    @property
    def control_url(self) -> str:
        """Of the control port; it stays while the broker is down. Raises RuntimeError without `control`."""
        if self._control is None:
            raise RuntimeError("there is no control port: Broker(control=True), and start it")
        return self._control.url

    @property
    def console_url(self) -> str:
        """Of the inspector's page, with the token that changes need. Raises RuntimeError without `control`."""
        if self._control is None:
            raise RuntimeError("there is no control port: Broker(control=True), and start it")
        return self._control.console_url

    def state(self) -> dict[str, Any]:
        """Topics with offsets and producers, groups with members and offsets, transactional ids (`state.py`)."""

        async def told() -> str:
            return "".join([text async for text in in_turns(state_pieces(self._life.running))])

        state: dict[str, Any] = json.loads(self._do(told()))
        return state

    def records(self, topic: str, isolation: str = "read_committed") -> list[Record]:
        """What a consumer would get, by partition and offset. Raises LookupError for a topic that is not there."""
        return self._call(lambda: records_of(self._life.running, topic, isolation))

    def outcomes(self, topic: str) -> list[tuple[Record, str]]:
        """Every record that was written and what became of it, by the markers in the log: "committed", "aborted", "open", or "plain"
        for one outside transactions. Raises LookupError for a topic that is not there."""
        return self._call(lambda: outcomes_of(self._life.running, topic))

    def journal(self) -> list[dict[str, Any]]:
        """What exactly-once depended on, request by request (`journal/entries.py`), since the latest reset; the newest 10,000."""
        return self._call_or_here(self._life.journal.read)

    def save(self, folder: Path | str) -> None:
        """Copy the data directory, as it is now, into `folder`: for `oncelog verify` and `oncelog log dump`. Raises OSError."""
        self._call(lambda: self._life.save(Path(folder)))

    def create_topic(self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
        """Raises KafkaError."""
        self._call(lambda: self._life.running.logs.create_topic(name, partitions, dict(configs or {})))

    # -- the thread

    def _run(self) -> None:
        assert self._loop is not None
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    def _end(self) -> None:
        assert self._loop is not None
        assert self._thread is not None
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE_SECONDS)
        self._loop = self._thread = None

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        if self._loop is None:
            work.close()
            raise RuntimeError("the broker was not started, or is closed")
        try:
            return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE_SECONDS)
        except Died:
            raise RuntimeError("the broker crashed meanwhile, at a point that was armed: restart() it") from None

    def _call(self, work: Callable[[], T]) -> T:
        async def here() -> T:
            return work()

        return self._do(here())

    def _call_or_here(self, work: Callable[[], T]) -> T:
        """What can be asked of a closed broker too."""
        return work() if self._loop is None else self._call(work)

    async def _open(self) -> None:
        control = None
        if self._control_port is not None:
            from oncelog.broker.control.server import ControlServer

            control = ControlServer(self._life, ControlEndpoint(LOOPBACK, self._control_port))
        await self._life.start()
        if control is not None:
            try:
                await control.start()
            except OSError:
                await self._life.stop()
                raise
            self._control, self._control_port = control, control.port

    async def _close(self) -> None:
        if self._control is not None:
            await self._control.close()
            self._control = None
        await self._life.stop()

    async def _restart(self) -> None:
        await self._life.stop()
        await self._life.start()


class _Inside:
    """The door to a broker of this process."""

    def __init__(self, broker: Broker) -> None:
        self._broker, self._faults = broker, broker._life.faults
        self._known: dict[str, Rule] = {}  # those that are gone, too

    def add_rule(self, asked: Mapping[str, Any]) -> str:
        rule = self._broker._call(lambda: self._faults.add(asked))
        self._known[rule.id] = rule
        return rule.id

    def hits(self, id: str) -> int:
        return self._known[id].hits

    def rule(self, id: str) -> dict[str, Any]:
        return self._broker._call_or_here(self._known[id].as_json)

    def rules(self) -> list[dict[str, Any]]:
        return self._broker._call_or_here(lambda: [rule.as_json() for rule in self._faults.rules.values()])

    def release(self, id: str) -> int:
        return self._broker._call(lambda: self._faults.release(id))

    def remove(self, id: str) -> None:
        self._broker._call(lambda: self._faults.remove(id))

    def clear(self) -> list[str]:
        return self._broker._call_or_here(self._faults.clear)

    def now_ms(self) -> int:
        return self._broker._clock.time_ms()

    def advance(self, seconds: float) -> int:
        return self._broker._do(self._broker._life.advance(seconds))
