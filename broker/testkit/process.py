"""A broker in a process of its own, for what only a process can have: `kill -9`, its memory, its exit status.

It has what `Broker` has, by the process's control port and by its listener; a power cut of it is a kill.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from oncelog.broker.journal.recorder import read
from oncelog.broker.testkit.handles import Clock, Faults, as_text
from oncelog.broker.testkit.observing import Record, level_named
from oncelog.broker.testkit.over_http import OverHttp
from oncelog.broker.testkit.over_wire import OverWire

START_SECONDS = 60.0
STOP_SECONDS = 30.0
_SERVES = "Kafka Server started"
_CONTROL = "Control port: "
_DOWN = "the broker is down: restart() it first"


class Process:
    """`oncelog serve` on a free port of 127.0.0.1; a restart keeps the port. `with Process(folder) as broker:` starts and closes it.

    `settings`: as in `server.properties`. `data_dir`: where the data lies; its journal lies beside it. `clock`: as of `Broker`; rules,
    crash points and the time that was moved end with each life of the process.
    """

    def __init__(self, data_dir: Path | str, settings: Mapping[str, object] | None = None, *, clock: str = "running") -> None:
        if clock not in ("running", "virtual"):
            raise ValueError(f'clock="{clock}": "running" or "virtual"')
        self.data_dir = Path(data_dir)
        self._settings, self._time = as_text(settings), clock
        self._journal = self.data_dir.with_name(f"{self.data_dir.name}.journal")
        self._port, self._control = 0, ""
        self._lines: list[str] = []
        self._serves = threading.Event()
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None
        self._door = OverHttp(lambda: self.control_url)
        self.clock, self.faults = Clock(self._door), Faults(self._door)

    def start(self) -> Process:
        """Serve; itself. Running already: nothing. Raises RuntimeError, with what it printed, when it ends instead; TimeoutError."""
        if self.is_up:
            return self
        if self._process is not None:
            self._end()
        self._door.forget()
        self._journal.parent.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "oncelog.broker", "serve", "--port", str(self._port), "--data-dir", str(self.data_dir)]
        command += ["--control", "0", "--clock", self._time, "--journal", str(self._journal)]
        for name, value in self._settings.items():
            command += ["--override", f"{name}={value}"]
        self._serves.clear()
        begun = len(self._lines)
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
        )
        self._reader = threading.Thread(target=self._read, args=(self._process,), name="oncelog-process", daemon=True)
        self._reader.start()
        in_time = self._serves.wait(START_SECONDS)
        if not self.is_up:
            self._end()
            raise RuntimeError("the broker ended instead of serving:\n" + "".join(self._lines[begun:]))
        if not in_time:
            self.crash()
            raise TimeoutError(f"the broker does not serve after {START_SECONDS} s:\n" + "".join(self._lines[begun:]))
        return self

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self._lines.append(line)
            if line.startswith(_CONTROL):
                self._control = line.removeprefix(_CONTROL).strip()
            if _SERVES in line:
                found = re.search(r":(\d+)", line.partition(_SERVES)[2])
                assert found is not None
                self._port = int(found[1])
                self._serves.set()
        process.wait()
        self._serves.set()  # nobody is to wait for one that has ended

    def crash(self) -> None:
        """`kill -9`. Down until `restart`; down already: nothing."""
        if self._process is not None:
            self._process.kill()
            self._end()

    def power_cut(self) -> None:
        """A crash: what a disk forgets cannot be shown on one that others use. `Broker` in memory shows it."""
        self.crash()

    def crash_at(self, point: str, nth: int = 1) -> None:
        """Be killed the `nth` time that `point` is passed (`crash_points.POINTS`). Raises ValueError for one that there is not."""
        self._door.crash_at(point, nth)

    def wait_down(self, seconds: float = START_SECONDS) -> None:
        """Return when it is down, as after `crash_at`. Raises TimeoutError."""
        if self._process is None:
            return
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            armed = ", ".join(f"{each['point']} (to be passed {each['left']} more times)" for each in self._door.armed())
            raise TimeoutError(f"the broker is still up after {seconds} s; armed: {armed or 'nothing'}") from None
        self._end()

    def reset(self) -> None:
        """As `Broker.reset`."""
        self._door.reset()

    def close(self) -> None:
        """SIGTERM, and `kill -9` if it does not end in time. Down already: nothing."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
            self._end()

    def _end(self) -> None:
        assert self._process is not None
        assert self._reader is not None
        self._process.wait()
        self._reader.join()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._process = self._reader = None

    def restart(self) -> None:
        """Stop in order, if it runs, and serve again what is on its disk, at the same address."""
        self.close()
        self.start()

    def __enter__(self) -> Process:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @property
    def is_up(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def bootstrap(self) -> str:
        """host:port, for `bootstrap.servers`. Raises RuntimeError while it is down."""
        if not self.is_up:
            raise RuntimeError(_DOWN)
        return f"127.0.0.1:{self._port}"

    @property
    def control_url(self) -> str:
        """Of the control port, another one after each start. Raises RuntimeError while it is down."""
        if not self.is_up:
            raise RuntimeError(_DOWN)
        return self._control

    def state(self) -> dict[str, Any]:
        """As `Broker.state`."""
        state: dict[str, Any] = self._door.ask("GET", "/v1/state")
        return state

    def records(self, topic: str, isolation: str = "read_committed") -> list[Record]:
        """As `Broker.records`, from consumers' view: by Fetch."""
        level = level_named(isolation)
        return OverWire(self.bootstrap).records(topic, level)

    def outcomes(self, topic: str) -> list[tuple[Record, str]]:
        """As `Broker.outcomes`."""
        return OverWire(self.bootstrap).outcomes(topic)

    def journal(self) -> list[dict[str, Any]]:
        """What exactly-once depended on, request by request (`journal/entries.py`), over all lives."""
        return read(self._journal) if self._journal.exists() else []

    def save(self, folder: Path | str) -> None:
        """Copy the data directory of a broker that is at rest, or down, as `Broker.save`. Raises OSError."""
        shutil.copytree(self.data_dir, folder, ignore=shutil.ignore_patterns("*.tmp"), dirs_exist_ok=True)

    def create_topic(self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
        """Raises KafkaError."""
        OverWire(self.bootstrap).create_topic(name, partitions, configs or {})

    @property
    def pid(self) -> int:
        """Raises RuntimeError while it is down."""
        if self._process is None:
            raise RuntimeError(_DOWN)
        return self._process.pid

    @property
    def log(self) -> list[str]:
        """Every line that it printed so far, over all starts."""
        return [line.rstrip("\n") for line in self._lines]
