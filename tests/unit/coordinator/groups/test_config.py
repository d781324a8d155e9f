"""What follows from the settings of the group coordinator."""

from __future__ import annotations

import pytest
from oncelog.coordinator.groups.config import GroupConfig
from oncelog.protocol.config_def import options_of
from oncelog.protocol.errors import KafkaError
from oncelog.storage.config import LogConfig


@pytest.mark.parametrize(
    ("policy", "up", "down"),
    [("bidirectional", True, True), ("upgrade", True, False), ("downgrade", False, True), ("disabled", False, False)],
)
def test_which_conversions_a_policy_allows(policy: str, up: bool, down: bool) -> None:
    config = GroupConfig(group_consumer_migration_policy=policy)
    assert (config.allows_upgrade, config.allows_downgrade) == (up, down)


def test_every_policy_that_can_be_set_is_one_of_those() -> None:
    option = next(one for one in options_of(GroupConfig).values() if one.kafka_name == "group.consumer.migration.policy")
    for policy in ("bidirectional", "upgrade", "downgrade", "disabled"):
        assert option.parse(policy) == policy
    with pytest.raises(KafkaError, match="must be one of"):
        option.parse("sideways")


def test_defaults_lie_within_the_bounds_of_a_groups_own_settings() -> None:
    config = GroupConfig()
    for name in ("session_timeout_ms", "heartbeat_interval_ms", "assignment_interval_ms"):
        least, own, most = (getattr(config, f"group_consumer_{bound}{name}") for bound in ("min_", "", "max_"))
        assert least <= own <= most


def test_retention_in_milliseconds() -> None:
    assert GroupConfig(offsets_retention_minutes=3).offsets_retention_ms == 180_000


def test_the_topic_is_made_with_configs_that_a_topic_has() -> None:
    configs = GroupConfig(offsets_topic_segment_bytes=2_000_000).topic_configs()
    assert configs == {"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": "2000000"}
    assert configs.keys() <= {option.topic_name for option in options_of(LogConfig).values()}
