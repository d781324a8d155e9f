"""A slice of `python -m tests.fuzz`: mutated requests of every key and version."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support.process import BrokerProcess

sys.path.append(str(Path(__file__).parents[1]))
from fuzz import Fuzzer

SECONDS = 20.0


def test_mutated_requests(own_broker: BrokerProcess, request: pytest.FixtureRequest, seed: int) -> None:
    if request.config.getoption("--bootstrap"):
        pytest.skip("watches the broker's process")
    fuzzer = Fuzzer(own_broker, seed)
    try:
        fuzzer.run(SECONDS)
    finally:
        fuzzer.close()
    assert fuzzer.answered > 200
    assert fuzzer.closed > 20
