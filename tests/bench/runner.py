"""Rounds: every broker in turn, A B C A B C, each fresh; a round under foreign load is measured again."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from tests.bench.results import QUIET_CORES, Results, Round, RowResult, Sample

MOST_ATTEMPTS = 4  # the first, and three more

Say = Callable[[str], None]


class Measured(Protocol):
    """A row of the table: `brokers` are those of the asked that it is for, `measure` starts one of them and measures it once."""

    @property
    def result(self) -> RowResult: ...

    def brokers(self, asked: Sequence[str]) -> list[str]: ...

    def measure(self, broker: str) -> Sample: ...


@dataclass(frozen=True, slots=True)
class Plan:
    """`quiet`: cores that others may keep busy while a row is measured."""

    brokers: Sequence[str]
    rounds: int
    quiet: float = QUIET_CORES
    attempts: int = MOST_ATTEMPTS


def todo(rows: Sequence[Measured], plan: Plan, results: Results) -> Iterator[tuple[Measured, RowResult, int]]:
    """(row, where its rounds are kept, number of the round), without those that are there already."""
    for row in rows:
        if row.brokers(plan.brokers):
            kept = results.row(row.result)
            for number in range(len(kept.rounds), plan.rounds):
                yield row, kept, number


def run(rows: Sequence[Measured], plan: Plan, results: Results, keep: Callable[[], None], say: Say) -> None:
    """`keep` is called whenever a round is done, `say` with each line of progress."""
    left = list(todo(rows, plan, results))
    for at, (row, kept, number) in enumerate(left, 1):
        say(f"[{at}/{len(left)}] {kept.title}, round {number + 1} of {plan.rounds}")
        kept.rounds.append(one_round(row, plan, say))
        keep()


def one_round(row: Measured, plan: Plan, say: Say) -> Round:
    """The first quiet attempt; where none was, the quietest, marked."""
    best: tuple[float, dict[str, Sample]] | None = None
    for attempt in range(1, plan.attempts + 1):
        samples = {}
        for broker in row.brokers(plan.brokers):
            samples[broker] = row.measure(broker)
            say(f"    {broker:8} {told(samples[broker], row.result)}")
        worst = max(sample.foreign for sample in samples.values())
        if worst <= plan.quiet:
            return Round(attempt, False, samples)
        if best is None or worst < best[0]:
            best = worst, samples
        again = "again" if attempt < plan.attempts else "marked"
        say(f"    others kept {worst:.2f} cores busy, more than {plan.quiet:g}: {again}")
    assert best is not None
    return Round(plan.attempts, True, best[1])


def told(sample: Sample, row: RowResult) -> str:
    if sample.error is not None:
        return f"- ({sample.error})"
    parts = [f"{number(sample.value)} {row.unit}"]
    if sample.cpu_us is not None:
        parts.append(f"{number(sample.cpu_us)} us of CPU a {row.per}")
    if sample.peak_mib is not None:
        parts.append(f"{number(sample.peak_mib)} MiB")
    parts.append(f"generator {sample.generator:.2f}, others {sample.foreign:.2f} cores")
    return ", ".join(parts)


def number(value: float | None) -> str:
    """Three digits that matter."""
    if value is None:
        return "–"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def print_line(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
