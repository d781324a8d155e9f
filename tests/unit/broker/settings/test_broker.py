"""Settings: sources and their order, listeners, names nobody knows."""

from __future__ import annotations

from pathlib import Path

import pytest
from oncelog.broker.settings.broker import load, merge, read_properties
from oncelog.broker.settings.environment import settings_in
from oncelog.broker.settings.listeners import ListenerConfig
from oncelog.protocol.errors import KafkaError


def test_later_sources_win(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("num.partitions=2\nlog.retention.ms=1\nauto.create.topics.enable=false\n")
    merged = merge(file, {"KAFKA_LOG_RETENTION_MS": "2", "KAFKA_NUM_PARTITIONS": "3"}, ["num.partitions=4"])
    settings = load(merged)
    assert (settings.server.num_partitions, settings.log.retention_ms, settings.server.auto_create_topics) == (4, 2, False)


def test_environment_names() -> None:
    given = {"KAFKA_LOG_DIRS": "a", "KAFKA_X__Y": "b", "KAFKA_LISTENER_NAME_TC___0_SSL": "c", "HOME": "d"}
    assert settings_in(given, {"log.dirs", "x_y"}) == {"log.dirs": "a", "x_y": "b", "listener.name.tc-0.ssl": "c"}


def test_unknown_environment_variables_are_left_alone() -> None:
    assert merge(None, {"KAFKA_HEAP_OPTS": "-Xmx1g", "KAFKA_NODE_ID": "7"}, []) == {"node.id": "7"}


def test_properties_files() -> None:
    text = "# comment\n! too\n a = 1 \nb:2\nc 3\nlong=x,\\\n   y\nempty=\n"
    assert read_properties(text) == {"a": "1", "b": "2", "c": "3", "long": "x,y", "empty": ""}
    with pytest.raises(KafkaError, match="line 1"):
        read_properties("nonsense")


def test_a_misspelt_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(KafkaError, match=r"num.partitons; did you mean num.partitions\?"):
        load({"num.partitons": "3"})


def test_kafkas_names_without_effect_are_accepted(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger="oncelog"):
        load({"process.roles": "broker,controller", "controller.quorum.voters": "1@localhost:9093"})
    assert sum("without effect" in record.message for record in caplog.records) == 1


@pytest.mark.parametrize("value", ["x", "0", "-5"])
def test_bad_values_name_the_setting(value: str) -> None:
    with pytest.raises(KafkaError, match=r"num\.partitions"):
        load({"num.partitions": value})


def test_listeners() -> None:
    settings = load(
        {
            "listeners": "PLAINTEXT://:9092,BROKER://0.0.0.0:9093,CONTROLLER://:9094,TC-0://[::1]:0",
            "advertised.listeners": "PLAINTEXT://example:19092",
            "listener.security.protocol.map": "BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,TC-0:SASL_SSL",
            "controller.listener.names": "CONTROLLER",
        }
    )
    assert settings.listeners == (
        ListenerConfig("PLAINTEXT", "0.0.0.0", 9092, "PLAINTEXT"),
        ListenerConfig("BROKER", "0.0.0.0", 9093, "PLAINTEXT"),
        ListenerConfig("TC-0", "::1", 0, "SASL_SSL"),
    )
    assert settings.advertised == {"PLAINTEXT": ("example", 19092)}


@pytest.mark.parametrize(
    "values",
    [
        {"listeners": "PLAINTEXT:9092"},
        {"listeners": "PLAINTEXT://:99999"},
        {"listeners": "ODD://:9092"},
        {"listeners": "PLAINTEXT://:1,PLAINTEXT://:2"},
        {"listeners": "CONTROLLER://:1"},
        {"advertised.listeners": "PLAINTEXT://0.0.0.0:9092"},
    ],
)
def test_listeners_that_cannot_be(values: dict[str, str]) -> None:
    with pytest.raises(KafkaError, match="listener"):
        load(values)


NOT_TAKEN = {"config.providers"}  # what it would look up would stay as it is written


def test_every_setting_of_kafka_is_known() -> None:
    names = (Path(__file__).parents[3] / "golden" / "settings_4.3.0.txt").read_text().split()
    assert len(names) == 360
    assert {name for name in names if is_unknown(name)} == NOT_TAKEN


def is_unknown(name: str) -> bool:
    try:
        load({name: "1"})
    except KafkaError as error:
        return error.message.startswith("Unknown setting")
    return False
