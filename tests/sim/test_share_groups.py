"""A share group on virtual time: members, brokers and disks that fail, and what must hold of every record (`support/share_world.py`).

make sim SEED=1 RUNS=60 JOBS=2 ARGS='-k share'     more than 500,000 acknowledgements
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from oncelog.broker.sharing import hosting, partition
from oncelog.broker.sharing.hosting import ShareHost
from oncelog.broker.sharing.pieces import ARCHIVED, Fate
from oncelog.protocol.errors import ErrorCode
from support.seeds import lead_all
from support.share_world import lead

SLICE = 2
SEEDS = 12  # that may pass before a break is noticed
Patch = pytest.MonkeyPatch


def progress(total: Counter[str], seconds: float) -> str:
    return f"{total['acknowledged']:,} acknowledgements, {total['acknowledged'] / seconds:.0f}/s, {total['deaths']:,} deaths"


@pytest.mark.timeout(0)
@pytest.mark.usefixtures("quiet")
def test_share_groups(seed: int, runs: int | None, request: pytest.FixtureRequest, tell: Callable[[str], None]) -> None:
    seeds = range(seed, seed + (runs or SLICE))
    total = lead_all(lead, seeds, request.config.getoption("--jobs"), "make sim SEED={seed} RUNS=1 ARGS='-k share'", tell, progress)
    tell(f"{dict(total)}; twice=0 lost=0 uncommitted=0 falling=0")
    assert total["acknowledged"] > len(seeds) * 5_000, total
    assert total["under faults"] > len(seeds) * 50, total


def acknowledgements_are_told_before_they_are_written(patch: Patch) -> None:
    write = ShareHost._write

    def hasty(host: ShareHost, change: Any) -> ErrorCode:
        write(host, change)
        return ErrorCode.NONE

    patch.setattr(ShareHost, "_write", hasty)


def aborted_records_are_handed_out(patch: Patch) -> None:
    walk = hosting.walk
    patch.setattr(hosting, "walk", lambda records, beyond, _aborted: walk(records, beyond, None))


def the_second_release_archives(patch: Patch) -> None:
    after = partition._fate_after

    def forgetful(kind: int, fate: Fate, limits: Any) -> Fate:
        return fate._replace(state=ARCHIVED) if kind == partition.RELEASE and fate.deliveries == 2 else after(kind, fate, limits)

    patch.setattr(partition, "_fate_after", forgetful)


def a_release_forgets_its_delivery(patch: Patch) -> None:
    after = partition._fate_after

    def forgetful(kind: int, fate: Fate, limits: Any) -> Fate:
        made = after(kind, fate, limits)
        return made._replace(deliveries=made.deliveries - 1) if kind == partition.RELEASE and made.deliveries > 1 else made

    patch.setattr(partition, "_fate_after", forgetful)


def accepting_only_releases(patch: Patch) -> None:
    after = partition._fate_after
    patch.setattr(partition, "_fate_after", lambda kind, *more: after(partition.RELEASE if kind == partition.ACCEPT else kind, *more))


BREAKS = [
    acknowledgements_are_told_before_they_are_written,
    aborted_records_are_handed_out,
    the_second_release_archives,
    a_release_forgets_its_delivery,
    accepting_only_releases,
]


@pytest.fixture
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("spoil", BREAKS, ids=lambda spoil: spoil.__name__)
def test_break(spoil: Callable[[Patch], None], monkeypatch: Patch, seed: int) -> None:
    """Whoever takes a safeguard out is told."""
    spoil(monkeypatch)
    with pytest.raises(AssertionError):
        _lead_some(seed)


def _lead_some(seed: int) -> None:
    for each in range(seed, seed + SEEDS):
        lead(each)
