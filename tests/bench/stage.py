"""One row of the table, and the stage that it is measured on: one broker, fresh, in a folder of its own."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench.procs import Usage, foreign_load, peak_bytes
from tests.bench.results import MACHINE, RowResult, Sample
from tests.bench.servers import SERVERS, Server, Unavailable

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Outcome:
    """`units`: how much work was done while the window was open; `more`: what else is worth noting, by name and unit."""

    value: float
    units: float | None = None
    more: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Window:
    """From the first to the last moment that counts."""

    seconds: float
    before: Usage
    after: Usage

    @property
    def broker_cpu(self) -> float:
        return self.after.broker - self.before.broker

    @property
    def generator_cores(self) -> float:
        return (self.after.generator - self.before.generator) / self.seconds

    @property
    def foreign(self) -> float:
        return foreign_load(self.before, self.after, self.seconds)


@dataclass(slots=True)
class Stage:
    """`seconds` are measured, after `warm_seconds`. `pid`: whose CPU and memory count when it is no broker's."""

    folder: Path
    seconds: float
    warm_seconds: float
    broker: Server | None
    pid: int | None = None
    taken: Window | None = None

    @property
    def server(self) -> Server:
        assert self.broker is not None, "a row of the machine has no broker"
        return self.broker

    @property
    def served_by(self) -> int | None:
        return self.broker.pid if self.broker is not None and self.broker.running else self.pid

    @contextlib.contextmanager
    def window(self) -> Iterator[None]:
        """What happens within it counts; once for each stage."""
        assert self.taken is None
        begin, before = time.perf_counter(), Usage.now(self.served_by)
        yield
        seconds = time.perf_counter() - begin
        self.taken = Window(seconds, before, Usage.now(self.served_by))


@dataclass(frozen=True, slots=True)
class Row:
    """`only`: the brokers that it is for, without it all; `started`: the broker runs when `work` begins."""

    name: str
    title: str
    unit: str
    work: Callable[[Stage], Outcome]
    per: str = "request"
    better: str = "more"
    durable: bool = False
    only: tuple[str, ...] | None = None
    started: bool = True
    section: str = ""


def both(name: str, title: str, unit: str, work: Callable[[Stage], Outcome], *, per: str = "request", better: str = "more") -> list[Row]:
    """The same row durable, every acknowledgement after fsync, and from the page cache."""
    promises = ((True, "durable"), (False, "page cache"))
    return [
        Row(f"{name}-{'durable' if durable else 'fast'}", f"{title}, {promise}", unit, work, per, better, durable)
        for durable, promise in promises
    ]


@dataclass(frozen=True, slots=True)
class Staged:
    """A row with how long it is measured, as the runner takes it."""

    row: Row
    seconds: float
    warm_seconds: float

    @property
    def result(self) -> RowResult:
        row = self.row
        return RowResult(row.name, row.section, row.title, row.unit, row.better, row.per)

    def brokers(self, asked: Sequence[str]) -> list[str]:
        if self.row.only is None:
            return list(asked)
        return [broker for broker in self.row.only if broker in (*asked, MACHINE)]

    def measure(self, broker: str) -> Sample:
        with tempfile.TemporaryDirectory(prefix="oncelog-bench-") as folder:
            server = None if broker == MACHINE else SERVERS[broker](Path(folder) / broker, durable=self.row.durable)
            stage = Stage(Path(folder), self.seconds, self.warm_seconds, server)
            try:
                if server is not None and self.row.started:
                    server.start()
                outcome = self.row.work(stage)
                return _sample(stage, outcome)
            except Exception as error:  # whatever a rival or its client does: the table says so, and the run goes on
                return Sample(error=str(error) if isinstance(error, Unavailable) else f"{type(error).__name__}: {error}")
            finally:
                if server is not None:
                    server.kill()


def _sample(stage: Stage, outcome: Outcome) -> Sample:
    taken = stage.taken
    assert taken is not None, "nothing was measured"
    cpu_us = taken.broker_cpu / outcome.units * 1e6 if outcome.units else None
    running = stage.broker is not None and stage.broker.running
    peak_mib = peak_bytes(stage.server.pid) / MIB if running else None
    return Sample(outcome.value, cpu_us, peak_mib, taken.foreign, taken.generator_cores, outcome.more)
