"""DescribeConfigs: every setting, and which layer its value comes from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.administered import CASES, Harness, alter, configs

pytestmark = pytest.mark.unit


def synonyms(entry: Any) -> list[tuple[str, str | None, int]]:
    return [(synonym.name, synonym.value, synonym.source) for synonym in entry.synonyms]


def test_broker_settings_as_recorded(broker: Harness) -> None:
    recorded = json.loads((CASES / "D04.json").read_text())["conversation"][-1]
    expected = {entry["name"]: entry for entry in recorded["response"]["results"][0]["configs"]}
    seen = configs(broker, 4, "1")
    assert expected.keys() <= seen.keys(), expected.keys() - seen.keys()
    for name, entry in expected.items():
        actual = seen[name].to_dict()
        del entry["documentation"]
        assert {key: actual[key] for key in entry} == entry, name


def test_a_topic_shows_the_33_settings_of_kafka(broker: Harness) -> None:
    assert len(configs(broker, 2, "a02")) == 33


def test_layers_of_a_broker_setting(broker: Harness) -> None:
    assert alter(broker, 4, "", ("log.segment.bytes", 0, "50000000")) == 0
    assert alter(broker, 4, "1", ("log.segment.bytes", 0, "60000000")) == 0
    entry = configs(broker, 4, "1")["log.segment.bytes"]
    name = "log.segment.bytes"
    assert (entry.value, entry.config_source) == ("60000000", 2)
    assert synonyms(entry) == [(name, "60000000", 2), (name, "50000000", 3), (name, "1073741824", 5)]
    topic = configs(broker, 2, "a02")["segment.bytes"]
    assert (topic.value, topic.config_source) == ("60000000", 2)
    assert broker.broker.dynamic_configs.log_config().segment_bytes == 60_000_000
    assert alter(broker, 4, "1", ("log.segment.bytes", 1, None)) == 0
    assert configs(broker, 2, "a02")["segment.bytes"].value == "50000000"


def test_coarse_units_count_where_milliseconds_are_not_set(tmp_path: Path) -> None:
    broker = Harness(tmp_path, settings={"log.retention.hours": "2"})
    assert configs(broker, 2, "a02")["retention.ms"].value == "7200000"
    assert configs(broker, 4, "1")["log.retention.ms"].value is None
    assert broker.broker.dynamic_configs.log_config().retention_ms == 7_200_000
    assert alter(broker, 4, "1", ("log.retention.ms", 0, "60000")) == 0
    entry = configs(broker, 4, "1")["log.retention.ms"]
    assert synonyms(entry) == [("log.retention.ms", "60000", 2), ("log.retention.hours", "2", 4), ("log.retention.hours", "168", 5)]


def test_values_of_groups_fall_back_to_the_brokers(broker: Harness) -> None:
    alter(broker, 32, "g1", ("consumer.session.timeout.ms", 0, "50000"))
    entry = configs(broker, 32, "g1")["consumer.session.timeout.ms"]
    assert synonyms(entry) == [("consumer.session.timeout.ms", "50000", 8), ("group.consumer.session.timeout.ms", "45000", 5)]
    assert broker.broker.dynamic_configs.group_values("g1") == {"consumer.session.timeout.ms": "50000"}


def test_secrets_are_never_shown(tmp_path: Path) -> None:
    broker = Harness(tmp_path, settings={"ssl.key.password": "hidden"})
    entry = configs(broker, 4, "1")["ssl.key.password"]
    assert (entry.value, entry.is_sensitive, synonyms(entry)) == (None, True, [("ssl.key.password", None, 4)])
