"""Many seeds of a simulation, on one process or several, with a word on the progress now and then."""

from __future__ import annotations

import logging
import multiprocessing
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator

Lead = Callable[[int], Counter[str]]
TELL_EVERY_SECONDS = 20.0


class SeedFailed(AssertionError):
    """The first seed that did not hold."""


def outcomes(total: Counter[str], seconds: float) -> str:
    """Progress of transactions."""
    count = max(total["outcomes"], 1)
    return (
        f"{total['outcomes']:,} outcomes, {count / seconds:.0f}/s, {total['under faults'] / count:.0%} under faults, "
        f"{total['deaths']:,} deaths"
    )


def lead_all(
    lead: Lead,
    seeds: range,
    jobs: int,
    repeat: str,
    tell: Callable[[str], None],
    progress: Callable[[Counter[str], float], str] = outcomes,
) -> Counter[str]:
    """The sum of what `lead` counted; `tell` gets a line now and then. Raises SeedFailed, which says how to repeat the seed."""
    total: Counter[str] = Counter()
    begun = told = time.perf_counter()
    for done, (seed, counts, failure) in enumerate(_led(lead, seeds, jobs), 1):
        if failure is not None:
            raise SeedFailed(f"seed {seed} failed; repeat with: {repeat.format(seed=seed)}\n{failure}")
        total += counts
        now = time.perf_counter()
        if now - told > TELL_EVERY_SECONDS or done == len(seeds):
            told = now
            tell(f"{done} of {len(seeds)} seeds from {seeds.start} on, {progress(total, now - begun)}")
    return total


def _led(lead: Lead, seeds: range, jobs: int) -> Iterator[tuple[int, Counter[str], str | None]]:
    if jobs == 1:
        for seed in seeds:
            yield _one(lead, seed)
        return
    context = multiprocessing.get_context("spawn")
    with context.Pool(jobs, initializer=_quiet) as pool:
        yield from pool.imap_unordered(_Task(lead), seeds)


class _Task:
    """`_one` with its first argument, as processes can pass it on."""

    def __init__(self, lead: Lead) -> None:
        self.lead = lead

    def __call__(self, seed: int) -> tuple[int, Counter[str], str | None]:
        return _one(self.lead, seed)


def _one(lead: Lead, seed: int) -> tuple[int, Counter[str], str | None]:
    try:
        return seed, lead(seed), None
    except Exception:
        return seed, Counter(), traceback.format_exc()


def _quiet() -> None:
    """Brokers that are killed have much to say."""
    logging.disable(logging.CRITICAL)
