"""How long to wait on a machine that others use too: deadlines that stretch with its load, and children that are stuck rather than slow."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
Clock = Callable[[], float]

SAMPLE_SECONDS = 1.0
SLICE_SECONDS = 5.0
"""A blocking wait looks at the load this often."""


def machine_share() -> float:
    """The part of a processor that one busy thread gets, 0 < share <= 1: processors by threads that want one, now or in the last minute."""
    try:
        processors = len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        processors = os.cpu_count() or 1
    busy = os.getloadavg()[0]
    try:
        running = Path("/proc/loadavg").read_text().split()[3].partition("/")[0]
        busy = max(busy, float(running))
    except (OSError, IndexError, ValueError):
        pass  # no Linux
    return min(1.0, processors / max(busy, 1.0))


class Patience:
    """A time limit in seconds of a machine to oneself: each second by the clock counts as the share of a processor that was to be had."""

    def __init__(self, seconds: float, clock: Clock = time.monotonic, share: Clock = machine_share) -> None:
        self.seconds = seconds
        self._clock, self._share = clock, share
        self.restart()

    def restart(self) -> None:
        """The wait begins again."""
        self._spent = 0.0
        self._begun = self._at = self._clock()

    @property
    def spent(self) -> float:
        """Seconds that count."""
        now = self._clock()
        if now > self._at:
            self._spent += (now - self._at) * self._share()
            self._at = now
        return self._spent

    @property
    def over(self) -> bool:
        return self.spent >= self.seconds

    @property
    def slice(self) -> float:
        """Seconds by the clock that a blocking call may take before `over` is asked again."""
        return min(max(self.seconds - self.spent, 0.01), SLICE_SECONDS)

    def __str__(self) -> str:
        passed = self._clock() - self._begun
        if passed <= 1.2 * self._spent:
            return f"{self.seconds:g} s"
        return f"{self.seconds:g} s ({passed:.0f} s by the clock, for the machine is busy: load {os.getloadavg()[0]:.1f})"

    def wait(self, wait: Callable[[float], T]) -> T:
        """What `wait(seconds)` returns, called again while it raises TimeoutError (or subprocess's) and there is time. Else that error."""
        while True:
            try:
                return wait(self.slice)
            except (TimeoutError, subprocess.TimeoutExpired):
                if self.over:
                    raise


def session_cpu_seconds(session: int) -> float | None:
    """CPU time of all living processes of a session, ended children that were waited for included; None where /proc cannot tell."""
    found: float | None = None
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[3]) == session:
                found = (found or 0.0) + sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
        except (OSError, IndexError, ValueError):
            continue  # it ended in this moment
    return found


class Watch:
    """Tells stuck from slow.

    Stuck is what made no progress for `idle` seconds that count (see Patience) in which all `sessions` (it, and what it may wait for) used
    less than half of the CPU time that one busy thread would have got; or what used `busy` seconds of CPU for nothing. What `position()`
    returns (offsets, say) is looked at before the verdict: a change is progress.
    """

    def __init__(
        self,
        idle: float,
        busy: float = 900.0,
        *,
        sessions: Callable[[], Iterable[int]] = tuple,
        position: Callable[[], object] = lambda: None,
        clock: Clock = time.monotonic,
        share: Clock = machine_share,
        cpu: Callable[[int], float | None] = session_cpu_seconds,
    ) -> None:
        self._quiet = Patience(idle, clock, share)
        self._busy, self._sessions, self._position, self._cpu, self._clock = busy, sessions, position, cpu, clock
        self._cpu_seen: dict[int, float] = {}
        self._last_position = position()
        self._used = self._used_for_nothing = 0.0
        self._sample()  # what was used before does not count
        self.progress()

    def progress(self) -> None:
        """There was some."""
        self._used_for_nothing = 0.0
        self._look_again()

    def stuck(self) -> str | None:
        """Why it is stuck; None while it may only be slow."""
        if self._quiet.over or self._clock() - self._sampled >= SAMPLE_SECONDS:
            self._sample()
        if self._used_for_nothing >= self._busy:
            why = f"used {self._used_for_nothing:.0f} s of CPU time and got no further"
        elif not self._quiet.over:
            return None
        elif self._used >= 0.5 * self._quiet.spent:
            self._look_again()
            return None
        else:
            why = f"no progress and hardly any CPU time ({self._used:.1f} s) within {self._quiet}"
        position = self._position()
        if position != self._last_position:
            self._last_position = position
            self.progress()
            return None
        return why

    def _look_again(self) -> None:
        self._quiet.restart()
        self._used = 0.0

    def _sample(self) -> None:
        self._sampled = self._clock()
        for session in self._sessions():
            now = self._cpu(session) or 0.0
            more = max(now - self._cpu_seen.get(session, 0.0), 0.0)
            self._cpu_seen[session] = now
            self._used += more
            self._used_for_nothing += more
