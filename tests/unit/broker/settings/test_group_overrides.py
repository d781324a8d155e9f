"""What a group may set for itself, and within which bounds."""

from __future__ import annotations

import pytest
from oncelog.broker.settings.group_overrides import check_bounds, group_options, of_broker
from oncelog.coordinator.groups.config import GroupConfig
from oncelog.protocol.config_def import options_of
from oncelog.protocol.errors import ErrorCode, KafkaError

pytestmark = pytest.mark.unit
LIMITS = {
    "group.consumer.min.session.timeout.ms": "10",
    "group.consumer.max.session.timeout.ms": "20",
    "group.streams.max.standby.replicas": "2",
    "group.share.min.record.lock.duration.ms": "1000",
}


def test_all_are_altered_while_the_broker_runs_and_override_one_of_the_brokers() -> None:
    options = group_options()
    assert all(declared.dynamic for declared in options.values())
    brokers = {declared.kafka_name: declared for declared in options_of(GroupConfig).values()}
    consumers = [name for name in options if name.startswith("consumer.")]
    assert len(consumers) == 3
    assert [options[name].default for name in consumers] == [brokers[of_broker(name)].default for name in consumers]


@pytest.mark.parametrize(
    ("name", "text", "word"),
    [
        ("consumer.session.timeout.ms", "9", "greater"),
        ("consumer.session.timeout.ms", "10", None),
        ("consumer.session.timeout.ms", "20", None),
        ("consumer.session.timeout.ms", "21", "less"),
        ("consumer.heartbeat.interval.ms", "1", None),  # the broker gives no bounds
        ("streams.num.standby.replicas", "2", None),
        ("streams.num.standby.replicas", "3", "less"),
        ("share.record.lock.duration.ms", "999", "greater"),
        ("share.auto.offset.reset", "earliest", None),
    ],
)
def test_the_brokers_bounds(name: str, text: str, word: str | None) -> None:
    if word is None:
        check_bounds({name: text}, LIMITS.get)
        return
    with pytest.raises(KafkaError, match=rf"{name} must be {word} than or equal to group\.") as refused:
        check_bounds({"consumer.heartbeat.interval.ms": "1", name: text}, LIMITS.get)
    assert refused.value.code is ErrorCode.INVALID_CONFIG


@pytest.mark.parametrize(
    "value", ["earliest", "latest", "by_duration:PT1H", "by_duration:P2D", "by_duration:P1DT2H3M4.5S", "by_duration:pt0s"]
)
def test_where_share_groups_would_begin(value: str) -> None:
    assert group_options()["share.auto.offset.reset"].parse(value) == value


@pytest.mark.parametrize(
    "value", ["", "Earliest", "by_duration:", "by_duration:P", "by_duration:PT", "by_duration:-PT1H", "by_duration:1h", "PT1H"]
)
def test_where_they_would_not(value: str) -> None:
    with pytest.raises(KafkaError):
        group_options()["share.auto.offset.reset"].parse(value)
