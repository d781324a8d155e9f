"""Processes that a demo or a test starts, watches, kills and starts again."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path


class ChildError(RuntimeError):
    """A child ended badly or did not do in time what it should; the message carries the end of its output."""


class Child:
    """A Python program in a process group of its own, its output read line by line."""

    def __init__(
        self, module: str, *args: str, log: Path, on_line: Callable[[str], None] | None = None, env: Mapping[str, str] | None = None
    ) -> None:
        self.command = [sys.executable, "-m", module, *args]
        self.log = log
        self.on_line = on_line
        self.env = {**os.environ, "PYTHONUNBUFFERED": "1", **(env or {})}
        self.process: subprocess.Popen[str] | None = None
        self.starts = 0
        self.started = 0.0
        """monotonic time of the last start"""

    def start(self) -> Child:
        """Start it (again)."""
        assert not self.running
        self.starts += 1
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            self.command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            env=self.env,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, args=(self.process,), daemon=True)
        self._reader.start()
        return self

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        with self.log.open("a") as log:
            for line in process.stdout:
                log.write(line)
                log.flush()
                if self.on_line:
                    self.on_line(line.rstrip("\n"))

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def kill(self) -> None:
        """SIGKILL to the process and everything it started (for a Spark driver: its JVM too)."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """SIGTERM, for a clean end."""
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        if self.process is None:
            return
        if self.running:
            with contextlib.suppress(ProcessLookupError):  # it may end by itself in this moment
                os.killpg(self.process.pid, how)
        self.process.wait(60)
        self._reader.join(10)

    def finish(self, seconds: float) -> None:
        """Wait for its end. Raises ChildError when it fails or takes longer than `seconds`."""
        assert self.process is not None
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise ChildError(f"{' '.join(self.command[1:3])} did not end within {seconds:.0f} s\n{self.tail()}") from None
        self._reader.join(10)
        if status:
            raise ChildError(f"{' '.join(self.command[1:3])} ended with status {status}\n{self.tail()}")

    def tail(self, lines: int = 25) -> str:
        """The end of all it printed."""
        return "\n".join(self.log.read_text().splitlines()[-lines:]) if self.log.exists() else ""


class Broker:
    """`oncelog serve` on a free port of 127.0.0.1, kept over restarts."""

    def __init__(self, folder: Path) -> None:
        self.port = 0
        self.folder = folder
        self._child: Child | None = None
        self._started = threading.Event()

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self, seconds: float = 30.0) -> Broker:
        """Start and wait until it serves. Raises ChildError."""
        self._started.clear()
        arguments = ("serve", "--port", str(self.port), "--data-dir", str(self.folder / "data"))
        self._child = Child("oncelog.broker", *arguments, log=self.folder / "broker.log", on_line=self._line).start()
        deadline = time.monotonic() + seconds
        while not self._started.wait(0.05):
            if not self._child.running or time.monotonic() > deadline:
                raise ChildError(f"the broker did not start\n{self._child.tail()}")
        return self

    def _line(self, line: str) -> None:
        found = re.search(r"Kafka Server started.*?:(\d+)", line)
        if found:
            self.port = self.port or int(found[1])
            self._started.set()

    def kill(self) -> None:
        """As a power cut for the process."""
        if self._child:
            self._child.kill()

    def stop(self) -> None:
        """A clean end."""
        if self._child:
            self._child.stop()
