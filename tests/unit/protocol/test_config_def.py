"""What one option takes, says and refuses; what lies over what."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from oncelog.protocol.config_def import BOOLEAN, DOUBLE, INT, LIST, LONG, SHORT, STRING, config_class, option, options_of, parse_config
from oncelog.protocol.errors import ErrorCode, KafkaError

pytestmark = pytest.mark.unit


@config_class
class Sample:
    size: int = option("log.size", INT, 7, "A size.", topic="size", at_least=2, at_most=100)
    port: int = option("port", SHORT, 1, "A port.")
    wait: int = option("wait.ms", LONG, 5, "A wait.", aliases=("wait.seconds",))
    ratio: float = option("ratio", DOUBLE, 0.5, "A ratio.", at_most=1)
    on: bool = option("on", BOOLEAN, False, "A switch.")
    kinds: tuple[str, ...] = option("kinds", LIST, ("a",), "Kinds.", one_of=("a", "b"))
    word: str = option("word", STRING, "", "A word.", validate=lambda value: "Must not be blue" if value == "blue" else None)


def parsed(**values: str) -> Sample:
    return parse_config(Sample, {name.replace("_", "."): value for name, value in values.items()})


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("size", " 2 ", 2),
        ("size", "100", 100),
        ("port", "-32768", -(2**15)),
        ("wait", str(2**63 - 1), 2**63 - 1),
        ("ratio", "1", 1.0),
        ("on", "TRUE", True),
        ("on", " false", False),
        ("kinds", "b, a,", ("b", "a")),
        ("kinds", "", ()),
        ("word", " green ", "green"),
    ],
)
def test_values(name: str, text: str, value: Any) -> None:
    assert options_of(Sample)[name].parse(text) == value


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("size", "1", "Value must be at least 2"),
        ("size", "101", "Value must be no more than 100"),
        ("size", "1.5", "not a number of type INT"),
        ("size", str(2**31), "outside the range of INT"),
        ("port", "32768", "outside the range of SHORT"),
        ("wait", str(2**63), "outside the range of LONG"),
        ("ratio", "1.01", "Value must be no more than 1"),
        ("on", "yes", "not a number of type BOOLEAN"),
        ("kinds", "a,c", "String must be one of: a, b"),
        ("word", "blue", "Must not be blue"),
    ],
)
def test_refusals(name: str, text: str, why: str) -> None:
    declared = options_of(Sample)[name]
    with pytest.raises(KafkaError) as refused:
        declared.parse(text)
    assert refused.value.code == ErrorCode.INVALID_CONFIG
    assert refused.value.message == f"Invalid value {text} for configuration {declared.topic_name or declared.kafka_name}: {why}"


@pytest.mark.parametrize(("value", "text"), [(None, None), (True, "true"), (False, "false"), (("a", "b"), "a,b"), ((), ""), (7, "7")])
def test_values_are_printed_as_kafka_prints_them(value: Any, text: str | None) -> None:
    assert options_of(Sample)["size"].format(value) == text


def test_names_of_the_broker_and_of_a_topic() -> None:
    values = {"log.size": "10", "size": "20", "no.such": "x"}
    assert parse_config(Sample, values).size == 10
    assert parse_config(Sample, values, topic_level=True).size == 20
    assert parse_config(Sample, {"wait.ms": "9"}, topic_level=True) == Sample()


def test_the_name_goes_before_its_aliases() -> None:
    assert parse_config(Sample, {"wait.seconds": "1"}).wait == 1
    assert parse_config(Sample, {"wait.seconds": "1", "wait.ms": "2"}).wait == 2


def test_values_lie_over_a_base() -> None:
    base = parsed(log_size="10", on="true")
    assert parse_config(Sample, {"log.size": "11"}, base=base) == dataclasses.replace(base, size=11)


def test_settings_do_not_change() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Sample().size = 3  # type: ignore[misc]
