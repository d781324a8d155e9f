"""Fixtures of the transaction coordinator's tests."""

from __future__ import annotations

import pytest
from support.txn_bench import Bench
from support.txn_machine import Machine


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def machine() -> Machine:
    return Machine()
