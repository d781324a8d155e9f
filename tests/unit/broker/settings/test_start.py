"""What `oncelog serve` listens on: flags fill in and never replace, the environment as Apache Kafka's image reads it."""

from __future__ import annotations

from pathlib import Path

import pytest
from oncelog.broker.settings.load import load
from oncelog.broker.settings.start import data_directory, start_configs
from oncelog.protocol.errors import KafkaError

pytestmark = pytest.mark.unit

Flags = dict[str, int | str]
ADVERTISED = "KAFKA_ADVERTISED_LISTENERS"


def listeners(flags: Flags, environment: dict[str, str], override: tuple[str, ...] = ()) -> str:
    values = start_configs(flags.get("port"), flags.get("host"), None, override, False, environment)  # type: ignore[arg-type]
    load(values)
    return values["listeners"]


@pytest.mark.parametrize(
    ("flags", "environment", "expected"),
    [
        ({}, {}, "PLAINTEXT://127.0.0.1:9092"),
        ({"port": 0}, {}, "PLAINTEXT://127.0.0.1:0"),
        ({"host": "::1"}, {}, "PLAINTEXT://[::1]:9092"),
        ({}, {"ONCELOG_HOST": "0.0.0.0"}, "PLAINTEXT://0.0.0.0:9092"),
        ({"host": "127.0.0.1"}, {"ONCELOG_HOST": "0.0.0.0"}, "PLAINTEXT://127.0.0.1:9092"),
        ({}, {"ONCELOG_HOST": "0.0.0.0", "KAFKA_LISTENERS": "SASL_SSL://:9093"}, "SASL_SSL://:9093"),
        ({"host": "0.0.0.0"}, {"KAFKA_LISTENERS": "SASL_SSL://0.0.0.0:9093"}, "SASL_SSL://0.0.0.0:9093"),
        ({"host": "127.0.0.1"}, {"KAFKA_LISTENERS": "SSL://:1,CONTROLLER://:2"}, "SSL://127.0.0.1:1,CONTROLLER://:2"),
        ({"port": 1}, {"KAFKA_LISTENERS": "SSL://h:1,PLAINTEXT://h:2"}, "SSL://h:1,PLAINTEXT://h:2"),
        ({}, {ADVERTISED: "PLAINTEXT://a:1,SSL://[fd00::1]:2"}, "PLAINTEXT://0.0.0.0:1,SSL://0.0.0.0:2"),
        ({}, {ADVERTISED: "PLAINTEXT://a:1", "KAFKA_LISTENERS": ""}, "PLAINTEXT://0.0.0.0:1"),
        ({}, {ADVERTISED: "PLAINTEXT://a:1", "KAFKA_LISTENERS": "PLAINTEXT://b:2"}, "PLAINTEXT://b:2"),
        ({"port": 9092}, {ADVERTISED: "SASL_PLAINTEXT://a:19092"}, "SASL_PLAINTEXT://0.0.0.0:9092"),
        ({"host": "127.0.0.1"}, {ADVERTISED: "SASL_PLAINTEXT://a:19092"}, "SASL_PLAINTEXT://127.0.0.1:19092"),
    ],
)
def test_flags_fill_in(flags: Flags, environment: dict[str, str], expected: str) -> None:
    assert listeners(flags, environment) == expected


@pytest.mark.parametrize(
    ("flags", "environment", "said"),
    [
        ({"port": 9092}, {"KAFKA_LISTENERS": "SASL_SSL://:9093"}, "--port 9092 contradicts listeners=SASL_SSL://:9093; leave --port out"),
        ({"host": "0.0.0.0"}, {"KAFKA_LISTENERS": "SASL_SSL://127.0.0.1:9093"}, "--host 0.0.0.0 contradicts"),
        ({"host": "h"}, {"KAFKA_LISTENERS": "SSL://h:1,PLAINTEXT://other:2"}, "--host h contradicts"),
        ({"port": 3}, {ADVERTISED: "PLAINTEXT://a:1,SSL://a:2"}, "set listeners instead"),
        ({}, {"KAFKA_LISTENERS": ""}, "listeners"),
    ],
)
def test_flags_that_contradict_are_refused(flags: Flags, environment: dict[str, str], said: str) -> None:
    with pytest.raises(KafkaError) as refused:
        listeners(flags, environment)
    assert said in refused.value.message


def test_only_the_environment_derives_listeners() -> None:
    with pytest.raises(KafkaError, match="SSL is none of the listeners"):
        listeners({}, {}, ("advertised.listeners=SSL://a:1",))


def test_fast_does_not_overrule_what_is_set() -> None:
    assert start_configs(None, None, None, (), True, {})["log.flush.on.ack"] == "false"
    with pytest.raises(KafkaError, match="--fast contradicts"):
        start_configs(None, None, None, ("log.flush.on.ack=true",), True, {})


def test_where_the_data_lives(tmp_path: Path) -> None:
    image = {"ONCELOG_DATA_DIR": str(tmp_path / "image")}
    assert data_directory({}, None, image) == tmp_path / "image"
    assert data_directory({"log.dirs": str(tmp_path / "set")}, None, image) == tmp_path / "set"
    assert data_directory({"log.dirs": str(tmp_path / "set")}, tmp_path / "flag", image) == tmp_path / "flag"
