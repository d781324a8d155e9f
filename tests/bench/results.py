"""What a run found, as it is kept: one JSON file, written again after every round, so that a run that was cut off is resumed from it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

MACHINE = "machine"  # stands where a broker's name does, for the limits of the machine
OURS = "oncelog"
QUIET_CORES = 0.15  # what others may keep busy beside figures that are published


class Mismatch(Exception):
    """A file of results that this run cannot go on with."""


def middle(values: list[float]) -> float | None:
    """The median, of none None."""
    return median(values) if values else None


@dataclass(frozen=True, slots=True)
class Sample:
    """One broker in one round. `cpu_us`: the broker's CPU, all threads, for each unit of work; `foreign`: cores that others kept busy."""

    value: float | None = None
    cpu_us: float | None = None
    peak_mib: float | None = None
    foreign: float = 0.0
    generator: float = 0.0  # cores of the load generator
    more: dict[str, float] = field(default_factory=dict)
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Round:
    """All brokers one after another. `attempts`: how often it was measured until the machine was quiet; `loaded`: it never was."""

    attempts: int
    loaded: bool
    samples: dict[str, Sample]


@dataclass(slots=True)
class RowResult:
    """All rounds of one row. `better`: more or less; `per`: the unit of work that CPU is counted for."""

    name: str
    section: str
    title: str
    unit: str
    better: str
    per: str
    rounds: list[Round] = field(default_factory=list)

    def brokers(self) -> list[str]:
        return list(dict.fromkeys(broker for one in self.rounds for broker in one.samples))

    def values(self, broker: str, what: str = "value") -> list[float]:
        found = (getattr(one.samples[broker], what) for one in self.rounds if broker in one.samples)
        return [value for value in found if value is not None]

    def median(self, broker: str, what: str = "value") -> float | None:
        return middle(self.values(broker, what))

    def more(self, broker: str) -> dict[str, float]:
        """Medians of everything else that was noted."""
        samples = [one.samples[broker] for one in self.rounds if broker in one.samples]
        names = dict.fromkeys(name for sample in samples for name in sample.more)
        return {name: median(sample.more[name] for sample in samples if name in sample.more) for name in names}

    def ratios(self, rival: str, what: str = "value") -> list[float]:
        """Ours over the rival's, round by round: what moves the machine moves both."""
        pairs = ((one.samples.get(OURS), one.samples.get(rival)) for one in self.rounds)
        values = ((getattr(ours, what), getattr(theirs, what)) for ours, theirs in pairs if ours and theirs)
        return [ours / theirs for ours, theirs in values if ours is not None and theirs]

    def error(self, broker: str) -> str | None:
        errors = (one.samples[broker].error for one in self.rounds if broker in one.samples)
        return next((error for error in errors if error), None)

    @property
    def loaded(self) -> bool:
        """Was a round marked, or measured under more foreign load than figures stand, whatever the run itself allowed?"""
        return any(one.loaded or any(sample.foreign > QUIET_CORES for sample in one.samples.values()) for one in self.rounds)


@dataclass(slots=True)
class Results:
    """`machine`: what it ran on; `options`: what it was asked for."""

    machine: dict[str, Any]
    options: dict[str, Any]
    rows: list[RowResult] = field(default_factory=list)

    @property
    def loaded(self) -> bool:
        return any(row.loaded for row in self.rows)

    def row(self, like: RowResult) -> RowResult:
        """The row of that name; `like` itself is added where there is none yet."""
        found = next((row for row in self.rows if row.name == like.name), None)
        if found is None:
            self.rows.append(like)
            return like
        return found

    def save(self, path: Path) -> None:
        """Whole or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(".draft")
        draft.write_text(json.dumps(asdict(self), indent=1) + "\n")
        os.replace(draft, path)


def load(path: Path) -> Results:
    read = json.loads(path.read_text())
    rows = [RowResult(**{**row, "rounds": [_round(one) for one in row["rounds"]]}) for row in read["rows"]]
    return Results(read["machine"], read["options"], rows)


def _round(read: dict[str, Any]) -> Round:
    return Round(read["attempts"], read["loaded"], {broker: Sample(**sample) for broker, sample in read["samples"].items()})


def resume(path: Path, machine: dict[str, Any], options: dict[str, Any], same: Iterable[str]) -> Results:
    """Those of an earlier run, to go on with. Raises Mismatch where rounds do not compare: another machine, source, or option of `same`."""
    found = load(path)
    differing = [name for name in machine if found.machine.get(name) != machine[name]]
    differing += [name for name in same if found.options.get(name) != options.get(name)]
    if differing:
        raise Mismatch(f"{path} was measured with another {', '.join(differing)}")
    found.options |= options
    return found
