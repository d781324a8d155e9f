"""A group's settings over the broker's."""

from __future__ import annotations

from oncelog.broker.sharing.acquiring import Limits
from oncelog.broker.sharing.limits import group_settings, reset_duration_ms
from oncelog.coordinator.groups.share.config import ShareGroupConfig
from oncelog.protocol.config_def import parse_config
from oncelog.protocol.names import IsolationLevel


def test_defaults() -> None:
    assert group_settings(parse_config(ShareGroupConfig, {}), {}) == (
        Limits(30_000, 5, 2_000),
        IsolationLevel.READ_UNCOMMITTED,
        "latest",
        True,
    )


def test_the_group_comes_before_the_broker() -> None:
    given = {"group.share.record.lock.duration.ms": "20000", "group.share.delivery.count.limit": "7"}
    broker = parse_config(ShareGroupConfig, given)
    own = {
        "share.delivery.count.limit": "3",
        "share.partition.max.record.locks": "100",
        "share.isolation.level": "read_committed",
        "share.auto.offset.reset": "earliest",
        "share.renew.acknowledge.enable": "false",
    }
    assert group_settings(broker, own) == (Limits(20_000, 3, 100), IsolationLevel.READ_COMMITTED, "earliest", False)


def test_durations() -> None:
    assert [reset_duration_ms(text) for text in ("earliest", "latest")] == [None, None]
    assert reset_duration_ms("by_duration:PT1H") == 3_600_000
    assert reset_duration_ms("by_duration:P1DT2H3M4.5S") == 93_784_500
    assert reset_duration_ms("by_duration:P2D") == 172_800_000
