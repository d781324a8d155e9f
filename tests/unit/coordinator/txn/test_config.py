"""What follows from the settings of the transaction coordinator."""

from __future__ import annotations

import pytest
from oncelog.coordinator.txn.config import TxnConfig
from oncelog.protocol.config_def import options_of
from oncelog.storage.config import LogConfig


@pytest.mark.parametrize(("interval_ms", "sweep"), [(10_000, None), (9_999, 9_999), (1, 1)])
def test_transactions_are_swept_in_an_interval_only_when_one_was_asked_for(interval_ms: int, sweep: int | None) -> None:
    assert TxnConfig(abort_timed_out_interval_ms=interval_ms).timeout_sweep_ms == sweep
    assert TxnConfig().timeout_sweep_ms is None


def test_the_topic_is_made_with_configs_that_a_topic_has() -> None:
    configs = TxnConfig(state_log_min_isr=2, state_log_segment_bytes=2_000_000).topic_configs()
    assert configs == {
        "cleanup.policy": "compact",
        "compression.type": "uncompressed",
        "min.insync.replicas": "2",
        "segment.bytes": "2000000",
        "unclean.leader.election.enable": "false",
    }
    assert configs.keys() <= {option.topic_name for option in options_of(LogConfig).values()}
    options = {option.topic_name: option for option in options_of(LogConfig).values()}
    assert all(options[name].parse(value) is not None for name, value in configs.items())
