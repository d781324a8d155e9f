"""A log on the simulated disk, flushed when a test says so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from oncelog.storage.log.flush import FlushTarget

from support.simfs import SimFileSystem
from support.storage_kit import T0, Kit

DATA = Path("/data")


class LaterFlusher:
    """Flushes when told to."""

    def __init__(self) -> None:
        self.wanted: list[FlushTarget] = []
        self.set_aside: list[tuple[Callable[[], None], Callable[[], None]]] = []

    def request(self, log: FlushTarget) -> None:
        self.wanted.append(log)

    def aside(self, work: Callable[[], None], done: Callable[[], None]) -> None:
        self.set_aside.append((work, done))

    def work_aside(self) -> None:
        """What is aside is done, and told."""
        while self.set_aside:
            for part in self.set_aside.pop(0):
                part()

    def flush(self) -> None:
        from oncelog.storage.log.flush import flush_now

        wanted, self.wanted = self.wanted, []
        for log in dict.fromkeys(wanted):
            flush_now(log)

    def close(self) -> None:
        self.flush()
        self.work_aside()


def sim(seed: int) -> tuple[Kit, SimFileSystem, LaterFlusher]:
    fs, flusher = SimFileSystem(seed, now_ms=lambda: T0), LaterFlusher()
    kit = Kit(DATA, fs, flusher)
    kit.create()
    return kit, fs, flusher
