"""Test programs in other languages: each prints one line of JSON facts as its last line."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from oncelog.spark_jobs.demo_parts.patience import Patience


def output(command: Sequence[str], folder: Path | None = None, seconds: float = 100, given: str | None = None) -> str:
    """stdout of a program that must end with status 0 within `seconds`, longer on a busy machine; `given` is its stdin."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=folder, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            out, err = Patience(seconds).wait(lambda slice: process.communicate(given or "", slice))
        except BaseException:
            process.kill()
            raise
    assert process.returncode == 0, f"{' '.join(command)[-300:]} ended with {process.returncode}:\n{out[-3000:]}\n{err[-6000:]}"
    return out


def facts(command: Sequence[str], folder: Path | None = None, seconds: float = 100) -> dict[str, Any]:
    """The JSON object in the last line."""
    lines = output(command, folder, seconds).strip().splitlines()
    assert lines, f"{command} printed nothing"
    found: dict[str, Any] = json.loads(lines[-1])
    return found


class Program:
    """A program that runs beside the test. What it prints goes to `log`, over all its lives; it is asked to end by the end of its input."""

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self.command, self.log = list(command), log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> Self:
        assert self._process is None
        with self.log.open("ab") as out:
            self._process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=out, stderr=subprocess.STDOUT)
        return self

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        """SIGKILL: nothing in it gets a chance to tidy up."""
        assert self._process is not None
        self._process.kill()
        self._reap()

    def end(self, seconds: float = 60) -> int:
        """No more input, and its exit status."""
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.close()
        return self._reap(seconds)

    def terminate(self, seconds: float = 60) -> int:
        """SIGTERM, and its exit status."""
        assert self._process is not None
        self._process.terminate()
        return self._reap(seconds)

    def text(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def _reap(self, seconds: float = 20) -> int:
        assert self._process is not None
        process, self._process = self._process, None
        try:
            status = Patience(seconds).wait(process.wait)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        finally:
            assert process.stdin is not None
            process.stdin.close()
        return status

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *exc: object) -> None:
        if self._process is not None:
            self.kill()
