"""A slice of `make abuse`: whatever clients do, the broker's memory is bounded, and no turn of its loop keeps others waiting."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.process import BrokerProcess

from tests import abuse


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    with abuse.started(tmp_path) as process:
        yield process  # type: ignore[misc]  # the same class by another name


@pytest.mark.parametrize("attack", list(abuse.ATTACKS))
def test_memory_and_turns_stay_bounded(broker: BrokerProcess, attack: str) -> None:
    seen = abuse.run(broker, attack, seconds=1.0)  # type: ignore[arg-type]
    if seen.turn_ms > abuse.MAX_TURN_MS:  # what else runs on the machine makes a turn longer once, not twice
        seen = abuse.run(broker, attack, seconds=1.0)  # type: ignore[arg-type]
    assert seen.failure is None
    assert seen.latencies
    assert seen.rss_mb <= abuse.MAX_RSS_MB
    assert seen.turn_ms <= abuse.MAX_TURN_MS
    assert broker.running
