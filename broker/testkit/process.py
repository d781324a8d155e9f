"""A broker in a process of its own, for what only a process can have: `kill -9`, its memory, its exit status."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

START_SECONDS = 60.0
STOP_SECONDS = 30.0
_SERVES = "Kafka Server started"


class Process:
    """`oncelog serve` on a free port of 127.0.0.1; a restart keeps the port. `with Process(folder) as broker:` starts and closes it.

    `settings`: as in `server.properties`. `data_dir`: where the data lies.
    """

    def __init__(self, data_dir: Path | str, settings: Mapping[str, object] | None = None) -> None:
        self.data_dir = Path(data_dir)
        self._settings = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in (settings or {}).items()}
        self._port = 0
        self._lines: list[str] = []
        self._serves = threading.Event()
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None

    def start(self) -> Process:
        """Serve; itself. Running already: nothing. Raises RuntimeError, with what it printed, when it ends instead; TimeoutError."""
        if self.is_up:
            return self
        command = [sys.executable, "-m", "oncelog.broker", "serve", "--port", str(self._port), "--data-dir", str(self.data_dir)]
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
            raise RuntimeError("the broker is down: restart() it first")
        return f"127.0.0.1:{self._port}"

    @property
    def pid(self) -> int:
        """Raises RuntimeError while it is down."""
        if self._process is None:
            raise RuntimeError("the broker is down: restart() it first")
        return self._process.pid

    @property
    def log(self) -> list[str]:
        """Every line that it printed so far, over all starts."""
        return [line.rstrip("\n") for line in self._lines]
