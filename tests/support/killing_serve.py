"""`oncelog serve` on a disk that kills it: run as a script with serve's arguments.

While the file named by KILL_FILE exists, it holds a number N: the Nth call from then on that changes the disk is the process's last.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from oncelog.storage import env as real
from oncelog.storage.env import Buffer, Env, OsFile, OsFileSystem

KILL_FILE = "ONCELOG_TEST_KILL_FILE"


class Countdown:
    """Counts changing calls on any thread once it is armed."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.left: int | None = None
        self._lock = threading.Lock()  # the loop and the flusher's threads come here

    def step(self) -> None:
        with self._lock:
            if self.left is None:
                if not os.path.exists(self.path):
                    return
                self.left = int(Path(self.path).read_text())
                os.unlink(self.path)
            self.left -= 1
            if self.left <= 0:
                os.kill(os.getpid(), signal.SIGKILL)


class KillingFile(OsFile):
    __slots__ = ("_countdown",)

    def __init__(self, fd: int, fs: OsFileSystem, countdown: Countdown) -> None:
        super().__init__(fd, fs)
        self._countdown = countdown

    def pwrite(self, buffers: Sequence[Buffer], offset: int) -> int:
        self._countdown.step()
        return super().pwrite(buffers, offset)

    def datasync(self) -> None:
        self._countdown.step()
        super().datasync()


class KillingFileSystem(OsFileSystem):
    def __init__(self, countdown: Countdown) -> None:
        self._countdown = countdown

    def open(self, path: Path, *, create: bool = False, writable: bool = True) -> OsFile:
        flags = os.O_RDWR if writable else os.O_RDONLY
        return KillingFile(os.open(path, flags | (os.O_CREAT if create else 0) | os.O_CLOEXEC, 0o644), self, self._countdown)

    def rename(self, old: Path, new: Path) -> None:
        self._countdown.step()
        super().rename(old, new)

    def write_atomic(self, path: Path, data: bytes, twin: Path | None = None) -> None:
        self._countdown.step()
        super().write_atomic(path, data, twin)


def main() -> None:
    faulthandler.register(signal.SIGUSR1)  # where is it, when it should have started long ago?
    countdown = Countdown(os.environ[KILL_FILE])
    system_env = real.system_env

    def killing_env() -> Env:
        return replace(system_env(), fs=KillingFileSystem(countdown))

    real.system_env = killing_env
    from oncelog.broker.__main__ import main as serve

    sys.argv[0] = "oncelog"
    serve()


if __name__ == "__main__":
    main()
