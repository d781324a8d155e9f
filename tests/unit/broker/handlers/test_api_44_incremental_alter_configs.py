"""IncrementalAlterConfigs: what is taken, and by which error the rest is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.administered import Harness, alter

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("kind", "name", "change", "code"),
    [
        # as Apache Kafka 4.3.0 answered
        (4, "1", ("num.partitions", 0, "3"), 42),
        (4, "1", ("no.such", 0, "3"), 0),
        (4, "", ("ssl.keystore.location", 0, "/x"), 42),
        (4, "9", ("log.retention.ms", 0, "1"), 42),
        (4, "x", ("log.retention.ms", 0, "1"), 42),
        (4, "1", ("log.retention.ms", 0, "abc"), 42),
        (4, "1", ("log.retention.ms", 2, "5"), 40),
        (4, "1", ("min.insync.replicas", 0, "2"), 40),
        (4, "", ("min.insync.replicas", 1, None), 40),
        (4, "", ("min.insync.replicas", 0, "2"), 0),
        (32, "g1", ("consumer.session.timeout.ms", 0, "50000"), 0),
        (32, "g1", ("consumer.session.timeout.ms", 0, "5"), 40),
        (32, "g1", ("nope", 0, "1"), 40),
        (32, "", ("consumer.session.timeout.ms", 0, "50000"), 42),
        (16, "cm", ("interval.ms", 0, "50000"), 0),
        (16, "cm", ("interval.ms", 0, "5"), 42),
        (16, "cm", ("nope", 0, "5"), 42),
        (16, "cm", ("match", 0, "bad"), 40),
        (16, "", ("interval.ms", 0, "5000"), 42),
        (8, "1", ("nope.x", 0, "DEBUG"), 40),
        (8, "1", ("root", 0, "LOUD"), 40),
        (8, "1", ("root", 1, None), 42),
        (8, "1", ("root", 2, "INFO"), 42),
        (8, "7", ("root", 0, "INFO"), 42),
        (99, "1", ("root", 0, "INFO"), 42),
        (2, "", ("retention.ms", 0, "1"), 42),
        (2, "a b", ("retention.ms", 0, "1"), 17),
        (2, "a02", ("segment.bytes", 0, "1"), 40),
        (2, "a02", ("cleanup.policy", 0, "shred"), 40),
    ],
)
def test_alterations_refused_and_taken(broker: Harness, kind: int, name: str, change: tuple[str, int, str | None], code: int) -> None:
    assert alter(broker, kind, name, change) == code


def test_the_brokers_own_bounds_of_group_settings(tmp_path: Path) -> None:
    broker = Harness(tmp_path, settings={"group.consumer.min.session.timeout.ms": "5001", "group.consumer.max.session.timeout.ms": "6000"})
    codes = [alter(broker, 32, "g1", ("consumer.session.timeout.ms", 0, value)) for value in ("5000", "5001", "6000", "6001")]
    assert codes == [40, 0, 0, 40]


def test_a_groups_session_outlasts_its_heartbeats(tmp_path: Path) -> None:
    broker = Harness(tmp_path, settings={"group.share.min.session.timeout.ms": "1", "group.share.max.heartbeat.interval.ms": "90000"})
    session, interval = "share.session.timeout.ms", "share.heartbeat.interval.ms"
    assert alter(broker, 32, "g1", (session, 0, "5000")) == 40, "the broker's interval"
    assert alter(broker, 32, "g1", (interval, 0, "45000")) == 40, "the broker's session"
    assert alter(broker, 32, "g1", (session, 0, "6000"), (interval, 0, "6000")) == 40
    assert alter(broker, 32, "g1", (session, 0, "6000"), (interval, 0, "5999")) == 0


def test_validation_alone_changes_nothing(broker: Harness) -> None:
    assert alter(broker, 2, "a02", ("retention.ms", 0, "5"), validate_only=True) == 0
    assert alter(broker, 4, "1", ("log.retention.ms", 0, "5"), validate_only=True) == 0
    assert broker.logs.by_name["a02"].configs == {}
    assert broker.store.sections == {}


def test_listeners_hear_of_a_changed_broker_setting(broker: Harness) -> None:
    heard: list[str | None] = []
    broker.broker.dynamic_configs.on_broker_change(lambda values: heard.append(values.get("log.retention.ms")))
    alter(broker, 4, "1", ("log.retention.ms", 0, "5"))
    alter(broker, 4, "1", ("log.retention.ms", 1, None))
    assert heard == ["5", None]
