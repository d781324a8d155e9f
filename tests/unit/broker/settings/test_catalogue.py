"""Which settings there are: units that stand for one another, what may be altered, what has no default."""

from __future__ import annotations

import pytest
from oncelog.broker.settings.broker import SECTIONS
from oncelog.broker.settings.catalogue import (
    SYNONYMS,
    THROTTLES,
    broker_options,
    in_milliseconds,
    is_kafkas,
    topic_options,
    with_coarse_units,
)
from oncelog.protocol.errors import KafkaError

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("name", "text", "milliseconds"),
    [
        ("log.retention.ms", "17", "17"),
        ("log.retention.minutes", "2", "120000"),
        ("log.retention.hours", "2", "7200000"),
        ("log.roll.hours", "1", "3600000"),
        ("log.flush.scheduler.interval.ms", "9", "9"),
    ],
)
def test_coarse_units(name: str, text: str, milliseconds: str) -> None:
    assert in_milliseconds(name, text) == milliseconds


def test_no_number_in_a_coarse_unit() -> None:
    with pytest.raises(KafkaError):
        in_milliseconds("log.retention.hours", "many")


@pytest.mark.parametrize(
    ("given", "retention_ms"),
    [
        ({"log.retention.hours": "1"}, "3600000"),
        ({"log.retention.hours": "1", "log.retention.minutes": "1"}, "60000"),
        ({"log.retention.hours": "1", "log.retention.ms": "5"}, "5"),
        ({}, None),
    ],
    ids=str,
)
def test_the_finest_unit_that_is_given_counts(given: dict[str, str], retention_ms: str | None) -> None:
    found = with_coarse_units({**given, "other": "x"})
    assert found.get("log.retention.ms") == retention_ms
    assert found["other"] == "x"
    assert "log.roll.ms" not in found


def test_every_synonym_is_a_setting_of_the_broker() -> None:
    options = broker_options(SECTIONS)
    assert [name for names in SYNONYMS.values() for name in names if name not in options] == []
    assert all(names[0] == name for name, names in SYNONYMS.items())


def test_what_no_file_names_kafka_has_no_default_for() -> None:
    options = broker_options(SECTIONS)
    assert [options[name].default for name in ("log.retention.ms", "node.id", "log.dirs", "advertised.listeners")] == [None] * 4
    assert (options["log.retention.hours"].default, options["num.partitions"].default) == (168, 1)


@pytest.mark.parametrize(
    ("name", "dynamic"),
    [
        ("log.retention.ms", True),  # a topic has it
        ("log.retention.hours", False),
        ("num.partitions", False),
        ("node.id", False),
        ("group.consumer.assignment.interval.ms", True),
        ("ssl.keystore.location", True),
        ("ssl.principal.mapping.rules", False),
    ],
)
def test_what_is_altered_while_the_broker_runs(name: str, dynamic: bool) -> None:
    declared = broker_options(SECTIONS)[name]
    assert (declared.dynamic or declared.topic_name is not None) is dynamic


def test_internal_settings_are_no_brokers() -> None:
    assert [name for name in broker_options(SECTIONS) if name.startswith("internal.") or not name] == []
    hidden = [name for name, declared in topic_options().items() if not is_kafkas(declared)]
    assert "internal.segment.bytes" in hidden
    assert len(topic_options()) - len(hidden) == 33


@pytest.mark.parametrize("value", ["*", "0:1,5:2", "", "0:1"])
def test_throttled_replicas(value: str) -> None:
    declared = topic_options()["leader.replication.throttled.replicas"]
    declared.parse(value)
    for bad in ("all", "0:1,*", "0", ":1", "a:b"):
        with pytest.raises(KafkaError):
            declared.parse(bad)


@pytest.mark.parametrize("name", sorted(THROTTLES))
def test_rates_are_not_negative(name: str) -> None:
    assert THROTTLES[name].parse("0") == 0
    with pytest.raises(KafkaError, match="at least 0"):
        THROTTLES[name].parse("-1")


def test_there_is_no_tiered_storage() -> None:
    declared = topic_options()["remote.storage.enable"]
    assert declared.parse("false") is False
    with pytest.raises(KafkaError, match="Tiered storage is disabled"):
        declared.parse("true")
