"""Long collections are followed by short ones, and nothing stays for good."""

from __future__ import annotations

import gc
import itertools
import weakref
from collections.abc import Iterator

import pytest
from oncelog.broker.process import garbage
from oncelog.broker.process.garbage import FREEZES, LONG_SECONDS, ShortCollections, keep_collections_short

pytestmark = pytest.mark.unit


class Node:
    """One half of a cycle."""

    def __init__(self) -> None:
        self.other: Node | None = None


def cycle() -> tuple[Node, Node]:
    one, two = Node(), Node()
    one.other, two.other = two, one
    return one, two


@pytest.fixture
def collect(monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """Full collections that take as long as is said."""
    times: Iterator[float] = iter(())
    monkeypatch.setattr(garbage.time, "perf_counter", lambda: next(times, 0.0))
    callback = ShortCollections()
    gc.unfreeze()
    others, gc.callbacks[:] = list(gc.callbacks), [callback]  # a broker in this process has one of its own, which would look at our clock

    def run(seconds: float) -> None:
        nonlocal times
        times = itertools.cycle((0.0, seconds))
        gc.collect()

    yield run
    gc.callbacks[:] = others
    gc.unfreeze()


def test_survivors_of_a_long_collection_are_set_aside(collect: object) -> None:
    assert callable(collect)
    collect(LONG_SECONDS / 2)
    assert gc.get_freeze_count() == 0
    collect(LONG_SECONDS * 2)
    assert gc.get_freeze_count() > 1_000


def test_young_collections_are_left_alone(collect: object) -> None:
    gc.collect(0)
    gc.collect(1)
    assert gc.get_freeze_count() == 0


def test_cycles_among_the_survivors_go_in_the_end(collect: object) -> None:
    assert callable(collect)
    one, two = cycle()
    gone = weakref.ref(one)
    collect(LONG_SECONDS * 2)
    del one, two
    collect(LONG_SECONDS / 2)
    assert gone() is not None  # set aside
    for _ in range(FREEZES):
        collect(LONG_SECONDS * 2)
    assert gone() is None


@pytest.mark.usefixtures("collect")
def test_a_crowd_of_new_objects_is_looked_at_in_portions() -> None:
    """By whatever collection, but those of everything: they are seldom, and followed by a freeze when long."""
    looked_at: list[int] = []

    def count(phase: str, info: dict[str, int]) -> None:
        if phase == "start" and info["generation"] < 2:
            looked_at.append(sum(len(gc.get_objects(young)) for young in range(info["generation"] + 1)))

    thresholds = gc.get_threshold()
    try:
        gc.collect()
        keep_collections_short()
        gc.callbacks[:] = [count]
        crowd = [[index] for index in range(300_000)]
    finally:
        gc.set_threshold(*thresholds)
    assert len(crowd) > sum(looked_at) / 3
    assert max(looked_at) < 60_000
