"""A broker in a process of its own, to be stopped, killed and started again on the same directory."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from oncelog.spark_jobs.demo_parts.patience import Patience

T = TypeVar("T")
START_SECONDS = 20.0


def wait_until(condition: Callable[[], T], seconds: float = 15.0, what: str = "the condition") -> T:
    """The first true value of `condition()`; AssertionError after `seconds`, which last longer on a busy machine."""
    patience = Patience(seconds)
    pause = 0.002
    while not (value := condition()):
        assert not patience.over, f"{what} did not come true within {patience}"
        time.sleep(pause)  # the one place where a test waits for another process
        pause = min(pause * 1.5, 0.1)
    return value


class BrokerProcess:
    """`oncelog serve` on a free port of 127.0.0.1; a restart keeps the port. `launcher`: what Python is to run."""

    launcher: tuple[str, ...] = ("-m", "oncelog.broker")

    def __init__(self, data_dir: Path, overrides: Mapping[str, str] | None = None, env: Mapping[str, str] | None = None) -> None:
        self.data_dir = data_dir
        self.overrides = dict(overrides or {})
        self.env = dict(env or {})
        self.arguments: tuple[str, ...] = ()  # more of `serve`'s
        self.port = 0
        self.output = data_dir.parent / f"{data_dir.name}.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> BrokerProcess:
        """Start and wait until it says that it serves."""
        assert not self.running
        command = [sys.executable, *self.launcher, "serve", "--port", str(self.port), "--data-dir", str(self.data_dir), *self.arguments]
        for key, value in self.overrides.items():
            command += ["--override", f"{key}={value}"]
        seen = self.output.stat().st_size if self.output.exists() else 0
        with self.output.open("ab") as out:
            self._process = subprocess.Popen(
                command, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env={**os.environ, **self.env}
            )
        wait_until(lambda: self._serves(seen), START_SECONDS, "the broker's start")
        return self

    def _serves(self, seen: int) -> bool:
        printed = self.output.read_bytes()[seen:]
        if b"Kafka Server started" in printed:
            if not self.port:
                found = re.search(rb"Kafka Server started[^\n]*?:(\d+)", printed)
                assert found, printed.decode(errors="replace")
                self.port = int(found[1])
            return True
        assert self.running, f"the broker ended with {self._process and self._process.returncode}:\n{printed.decode(errors='replace')}"
        return False

    def kill(self) -> None:
        """SIGKILL, as a power cut for the process."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """SIGTERM; the exit status."""
        return self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> int:
        assert self._process is not None
        if self.running:
            self._process.send_signal(how)
        status = Patience(30).wait(self._process.wait)
        self._process = None
        return status

    def text(self) -> str:
        """All that it printed so far, over all starts."""
        return self.output.read_text(errors="replace")

    def __enter__(self) -> BrokerProcess:
        return self.start()

    def __exit__(self, *exc: object) -> None:
        if self._process is not None:
            self.kill()


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
