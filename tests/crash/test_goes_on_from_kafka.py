"""The directory of a killed Apache Kafka, with transactions open in it: opened here, they go on.

Its recorder was killed seconds after the last request, and so is the time here: the producers come back before anything times out.
The other way, and what a Kafka of today leaves, is in `referee/test_open_transactions.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support import open_transactions, serve_at
from support.golden_storage import facts, unpack
from support.open_transactions import Moved, recorded
from support.process import BrokerProcess


class BrokerAt(BrokerProcess):
    launcher = (serve_at.__file__,)


@pytest.fixture(scope="module")
def moved(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Moved]:
    folder = tmp_path_factory.mktemp("golden")
    transactions = recorded()
    assert len(transactions) == 3
    last_ms = max(state["lastUpdate"] for state in facts("killed")["transactions"].values())
    served = BrokerAt(unpack("killed", folder / "served"), env={serve_at.NOW_MS: str(last_ms + 1000)})
    with served:
        yield Moved(served.bootstrap, unpack("killed", folder / "as left"), transactions)


def test_open_and_aborted_are_hidden(moved: Moved) -> None:
    open_transactions.check_open_and_aborted_are_hidden(moved)


def test_the_coordinator_knows_them(moved: Moved) -> None:
    open_transactions.check_coordinator_knows_them(moved)


def test_pending_offsets_are_unstable(moved: Moved) -> None:
    open_transactions.check_pending_offsets_are_unstable(moved)


def test_a_resent_batch_is_recognised(moved: Moved) -> None:
    open_transactions.check_resent_batch_is_recognised(moved)


def test_the_next_instance_fences(moved: Moved) -> None:
    open_transactions.check_next_instance_fences(moved)


def test_the_others_go_on_and_commit(moved: Moved) -> None:
    open_transactions.check_the_others_go_on_and_commit(moved)
