"""What follows from the settings of the share coordinator."""

from __future__ import annotations

import pytest
from oncelog.coordinator.share.config import ShareCoordinatorConfig
from oncelog.protocol.config_def import options_of, parse_config
from oncelog.protocol.errors import KafkaError
from oncelog.storage.config import LogConfig


def test_the_topic_is_made_with_configs_that_a_topic_has() -> None:
    configs = ShareCoordinatorConfig(state_topic_segment_bytes=2_000_000).topic_configs()
    assert configs == {
        "cleanup.policy": "delete",
        "compression.type": "producer",
        "min.insync.replicas": "1",
        "retention.bytes": "-1",
        "retention.ms": "-1",
        "segment.bytes": "2000000",
    }
    options = {option.topic_name: option for option in options_of(LogConfig).values()}
    assert all(options[name].parse(value) is not None for name, value in configs.items())


@pytest.mark.parametrize(("updates", "fine"), [("0", True), ("500", True), ("501", False), ("-1", False)])
def test_a_snapshot_comes_after_at_most_500_updates(updates: str, fine: bool) -> None:
    values = {"share.coordinator.snapshot.update.records.per.snapshot": updates}
    if fine:
        assert parse_config(ShareCoordinatorConfig, values).snapshot_update_records_per_snapshot == int(updates)
    else:
        with pytest.raises(KafkaError):
            parse_config(ShareCoordinatorConfig, values)
