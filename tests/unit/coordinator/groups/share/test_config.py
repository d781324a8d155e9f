"""Settings of a share group: its own, or the broker's."""

from __future__ import annotations

import pytest
from oncelog.coordinator.groups.share.config import ShareGroupConfig, ShareLimits, limits_of
from oncelog.protocol.config_def import options_of, parse_config
from oncelog.protocol.errors import KafkaError


def test_the_brokers_unless_the_group_has_its_own() -> None:
    config = ShareGroupConfig(session_timeout_ms=46_000)
    assert limits_of(config, {}) == ShareLimits(46_000, 5_000, 1_000, 30_000, 5, 2_000, "latest", "read_uncommitted", True)
    own = {
        "share.session.timeout.ms": "50000",
        "share.heartbeat.interval.ms": "6000",
        "share.assignment.interval.ms": "0",
        "share.record.lock.duration.ms": "15000",
        "share.delivery.count.limit": "2",
        "share.partition.max.record.locks": "100",
        "share.auto.offset.reset": "earliest",
        "share.isolation.level": "read_committed",
        "share.renew.acknowledge.enable": "False",
    }
    assert limits_of(config, own) == ShareLimits(50_000, 6_000, 0, 15_000, 2, 100, "earliest", "read_committed", False)


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("group.share.max.size", 1, 1_000),
        ("group.share.record.lock.duration.ms", 1_000, 3_600_000),
        ("group.share.min.record.lock.duration.ms", 1_000, 30_000),
        ("group.share.max.record.lock.duration.ms", 30_000, 3_600_000),
        ("group.share.delivery.count.limit", 2, 10),
        ("group.share.min.delivery.count.limit", 2, 5),
        ("group.share.max.delivery.count.limit", 5, 25),
        ("group.share.partition.max.record.locks", 100, 10_000),
        ("group.share.min.partition.max.record.locks", 100, 2_000),
        ("group.share.max.partition.max.record.locks", 2_000, 10_000),
    ],
)
def test_bounds(name: str, low: int, high: int) -> None:
    attribute = next(each.attribute for each in options_of(ShareGroupConfig).values() if each.kafka_name == name)
    for value in (low, high):
        assert getattr(parse_config(ShareGroupConfig, {name: str(value)}), attribute) == value
    for value in (low - 1, high + 1):
        with pytest.raises(KafkaError):
            parse_config(ShareGroupConfig, {name: str(value)})


def test_there_is_one_assignor() -> None:
    with pytest.raises(KafkaError):
        parse_config(ShareGroupConfig, {"group.share.assignors": "uniform"})
