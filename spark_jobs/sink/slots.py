"""Numbers that Spark's hash partitioner sends where we want them.

`DataFrame.repartition(n, column)` sends a row to task `pmod(Murmur3(column, seed 42), n)`. To have exactly one task per Kafka partition,
each target p gets an integer whose hash falls on p. (Should a later Spark hash differently, rows of one target still come together in one
task: tasks would merely be shared unevenly.)
"""

from __future__ import annotations

from functools import lru_cache
from itertools import count

MASK = 0xFFFFFFFF


def spark_hash(value: int, seed: int = 42) -> int:
    """What Spark's `hash(INT)` gives: Murmur3 x86 32 of four bytes, signed."""
    mixed = _rotate(value * 0xCC9E2D51 & MASK, 15) * 0x1B873593 & MASK
    state = (_rotate(seed ^ mixed, 13) * 5 + 0xE6546B64 & MASK) ^ 4
    state = (state ^ state >> 16) * 0x85EBCA6B & MASK
    state = (state ^ state >> 13) * 0xC2B2AE35 & MASK
    state ^= state >> 16
    return state - (1 << 32) if state >> 31 else state


def _rotate(value: int, bits: int) -> int:
    return (value << bits | value >> 32 - bits) & MASK


@lru_cache(maxsize=64)
def slots(tasks: int) -> tuple[int, ...]:
    """For each task number below `tasks` the smallest number that is sent to it."""
    found: dict[int, int] = {}
    for value in count():
        found.setdefault(spark_hash(value) % tasks, value)
        if len(found) == tasks:
            return tuple(found[task] for task in range(tasks))
    raise AssertionError("unreachable")
