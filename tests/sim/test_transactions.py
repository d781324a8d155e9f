"""Whole brokers against exactly-once workloads, on virtual time: kills, power cuts, lost and repeated requests, clocks that jump.

The clients are in `support/txn_clients.py`, faults and invariants in `support/txn_world.py`. Long runs:

    make sim SEED=1 RUNS=500 JOBS=2 ARGS='-k exactly'     500 seeds from 1 on, more than a million outcomes of transactions
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.seeds import lead_all
from support.txn_world import lead

SLICE = 3


@pytest.mark.timeout(0)
@pytest.mark.usefixtures("quiet")
def test_exactly_once(seed: int, runs: int | None, request: pytest.FixtureRequest, tell: Callable[[str], None]) -> None:
    seeds = range(seed, seed + (runs or SLICE))
    total = lead_all(lead, seeds, request.config.getoption("--jobs"), "make sim SEED={seed} RUNS=1 ARGS='-k exactly'", tell)
    tell(f"{dict(total)}; torn=0 visible=0 doubled=0 lost=0 stuck=0")
    assert total["outcomes"] > len(seeds) * 200, total
    assert total["under faults"] > total["outcomes"] / 3, total
