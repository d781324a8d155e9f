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
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from oncelog.spark_jobs.demo_parts.patience import Patience, Watch

START_SECONDS, END_SECONDS = 30.0, 60.0
POLL_SECONDS = 0.05
NOISE = re.compile(r"\s|$|Caused by:|.* (WARN|INFO|DEBUG)\b|(rows=|progress |started |\[?Stage )|org\.apache\.spark\S* at ")
"""Lines that do not say why a program ended."""
ADVICE = (
    (
        r"unresolved dependency|UNRESOLVED|JAVA_GATEWAY_EXITED",
        "Spark's first start fetches its Kafka connector: is the network (or a proxy) there?",
    ),
    (r"OutOfMemory|Cannot allocate memory|insufficient memory", "free some memory: Spark takes about 2 GB."),
    (r"No space left", "free some disk, or choose another with TMPDIR or --keep."),
    (r"Permission denied", "look whose folder that is; --keep chooses another."),
)


class ChildError(RuntimeError):
    """A child ended badly, or is stuck; the message says why, where all it said stands, and what to try."""


def complaint(child: Child, why: str) -> ChildError:
    """The error about `child`."""
    said = child.tail(400)
    words = f": {text}" if (text := last_words(said.splitlines())) else ""
    tips = [tip for pattern, tip in ADVICE if re.search(pattern, said)]
    advice = f"\n  try: {tips[0]}" if tips else ""
    return ChildError(f"{child.name} {why}{words}\n  all it said: {child.log}{advice}")


def last_words(lines: Iterable[str]) -> str:
    """The last line that tells something, e.g. a traceback's; without the warnings and stack frames around it."""
    telling = [line for line in lines if not NOISE.match(line)]
    return telling[-1][:300] if telling else ""


class Child:
    """A Python program in a process group of its own, its output read line by line."""

    def __init__(
        self, module: str, *args: str, log: Path, on_line: Callable[[str], None] | None = None, env: Mapping[str, str] | None = None
    ) -> None:
        self.command = [sys.executable, "-m", module, *args]
        self.name = module.removeprefix("oncelog.")
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
            errors="backslashreplace",
            env=self.env,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, args=(self.process,), daemon=True)
        self._reader.start()
        return self

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        with self.log.open("a") as log, process.stdout as lines:
            for line in lines:
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
        try:
            Patience(END_SECONDS).wait(self.process.wait)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self._reader.join(10)

    @property
    def sessions(self) -> list[int]:
        """For a Watch: the session that it and all it started live in."""
        return [self.process.pid] if self.process else []

    def finish(self, seconds: float) -> None:
        """Wait for its end. Raises ChildError when it fails, or takes longer than `seconds` on a machine of its own."""
        patience = Patience(seconds)
        self._see_through(lambda: f"did not end within {patience}" if patience.over else None)

    def finish_unless_stuck(self, watch: Watch) -> None:
        """Wait for its end, however long it takes. Raises ChildError when it fails or is stuck."""
        self._see_through(watch.stuck)

    def _see_through(self, give_up: Callable[[], str | None]) -> None:
        assert self.process is not None
        try:
            while True:
                try:
                    status = self.process.wait(POLL_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    if why := give_up():
                        raise complaint(self, why) from None
        finally:
            self.kill()
        if status:
            raise complaint(self, f"ended with status {status}" if status > 0 else f"was killed by {signal.Signals(-status).name}")

    def remark(self, text: str) -> None:
        """A line of ours in its log."""
        with self.log.open("a") as log:
            log.write(f"demo: {text}\n")

    def tail(self, lines: int = 25) -> str:
        """The end of all it printed."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:]) if self.log.exists() else ""


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

    @property
    def sessions(self) -> list[int]:
        """For a Watch, as a child's."""
        return self._child.sessions if self._child else []

    def start(self, seconds: float = START_SECONDS) -> Broker:
        """Start and wait until it serves, `seconds` on a machine of its own. Raises ChildError."""
        self._started.clear()
        arguments = ("serve", "--port", str(self.port), "--data-dir", str(self.folder / "data"))
        self._child = Child("oncelog.broker", *arguments, log=self.folder / "broker.log", on_line=self._line).start()
        patience = Patience(seconds)
        while not self._started.wait(POLL_SECONDS):
            if not self._child.running:
                raise complaint(self._child, "did not start")
            if patience.over:
                self._child.kill()
                raise complaint(self._child, f"did not serve within {patience}")
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
