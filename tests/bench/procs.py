"""What was used, from /proc: CPU of a process and all that it started, peak memory, and what the rest of the machine did meanwhile."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
_TICK = os.sysconf("SC_CLK_TCK")
_PF_KTHREAD = 0x00200000
_USER, _NICE, _SYSTEM, _STEAL = 0, 1, 2, 7  # columns of the line `cpu`


def busy_seconds(text: str) -> float:
    """CPU seconds of all processes since the machine's start, from /proc/stat; with what a hypervisor took.

    Interrupts are left out: packets on loopback are handled in them, and no process is charged for that.
    """
    columns = [int(one) for one in text.split("\n", 1)[0].split()[1:]]
    return sum(columns[at] for at in (_USER, _NICE, _SYSTEM, _STEAL)) / _TICK


@dataclass(frozen=True, slots=True)
class Process:
    """`cpu`: seconds of all its threads, and of the children that it has waited for. `kernel`: it is a thread of the kernel."""

    parent: int
    cpu: float
    kernel: bool


def parse_stat(text: str) -> Process:
    """From a process's `stat`."""
    fields = text.rpartition(")")[2].split()
    return Process(int(fields[1]), sum(map(int, fields[11:15])) / _TICK, bool(int(fields[6]) & _PF_KTHREAD))


def family(parents: dict[int, int], root: int) -> set[int]:
    """`root` and everything below it."""
    children: dict[int, list[int]] = {}
    for pid, parent in parents.items():
        children.setdefault(parent, []).append(pid)
    found, todo = set(), [root]
    while todo:
        pid = todo.pop()
        found.add(pid)
        todo += children.get(pid, [])
    return found


@dataclass(frozen=True, slots=True)
class Usage:
    """CPU seconds so far: of the machine, of the broker with all that it started, and of this program with its load generators.

    The kernel's own threads are not counted to the machine: they write back what a broker wrote, and nobody is charged for that.
    """

    machine: float
    broker: float
    generator: float

    @classmethod
    def now(cls, broker: int | None) -> Usage:
        machine = busy_seconds((PROC / "stat").read_text())
        processes = dict(_processes())
        parents = {pid: one.parent for pid, one in processes.items()}
        kernel = {pid for pid, one in processes.items() if one.kernel}
        served = family(parents, broker) if broker is not None else set()
        ours = family(parents, os.getpid()) - served

        def cpu(pids: set[int]) -> float:
            return sum(processes[pid].cpu for pid in pids if pid in processes)

        return cls(machine - cpu(kernel), cpu(served), cpu(ours))


def _processes() -> Iterator[tuple[int, Process]]:
    for path in PROC.iterdir():
        if path.name.isdigit():
            try:
                text = (path / "stat").read_text()
            except (FileNotFoundError, ProcessLookupError):
                continue  # it has ended
            yield int(path.name), parse_stat(text)


def foreign_load(before: Usage, after: Usage, seconds: float) -> float:
    """Cores that neither the broker nor this program kept busy; ticks are coarse, so never below 0."""
    ours = (after.broker - before.broker) + (after.generator - before.generator)
    return max((after.machine - before.machine - ours) / seconds, 0.0)


def parse_peak(text: str) -> int:
    """The most resident bytes that a process ever had, from its `status` (VmHWM)."""
    return next(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("VmHWM:"))


def peak_bytes(pid: int) -> int:
    return parse_peak((PROC / str(pid) / "status").read_text())
