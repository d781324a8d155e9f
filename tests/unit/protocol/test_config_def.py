"""What one option takes, says and refuses; what lies over what."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
from oncelog.protocol.config_def import (
    BOOLEAN,
    DOUBLE,
    INT,
    LIST,
    LONG,
    SHORT,
    STRING,
    ConfigType,
    config_class,
    option,
    options_of,
    parse_config,
    parse_type,
)
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
    pairs: tuple[str, ...] = option("pairs", LIST, (), "Pairs.", any_parts=True)
    names: tuple[str, ...] = option("names", LIST, ("a",), "Names.", not_empty=True)
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
        ("kinds", " b\t,\na ", ("b", "a")),
        ("kinds", "b,a,b", ("b", "a")),
        ("kinds", "", ()),
        ("pairs", "1:2,,1:2", ("1:2", "", "1:2")),
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
        ("size", "1.5", "Not a number of type INT"),
        ("size", str(2**31), "Not a number of type INT"),
        ("port", "32768", "Not a number of type SHORT"),
        ("wait", str(2**63), "Not a number of type LONG"),
        ("ratio", "1.01", "Value must be no more than 1"),
        ("on", "yes", "Expected value to be either true or false"),
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


# text -> what Apache Kafka 4.3.0's `ConfigDef.parseType` makes of it; None: refused
WHOLE_NUMBERS = {"+5": 5, "-5": -5, "007": 7, " 5\t": 5, "\u0663": 3} | dict.fromkeys(
    ("", "  ", "+", "--5", "- 5", "1_000", "0x10", "1e3", "1.0", "5L", "\u00a05", "9" * 5000)
)
DOUBLES = {
    "1": 1,
    "+1.5": 1.5,
    "1E-3": 0.001,
    ".5": 0.5,
    "5.": 5,
    "1.5f": 1.5,
    "1d": 1,
    "1e400": math.inf,
    "-Infinity": -math.inf,
} | dict.fromkeys(("", ".", "1_0.5", "1,5", "1L", "nan", "inf", "\u0663", "\u00a01"))


@pytest.mark.parametrize("kind", [INT, SHORT, LONG])
@pytest.mark.parametrize("text", WHOLE_NUMBERS)
def test_whole_numbers_as_java_reads_them(kind: ConfigType, text: str) -> None:
    if (expected := WHOLE_NUMBERS[text]) is not None:
        assert parse_type(kind, text) == expected
        return
    with pytest.raises(ValueError, match=f"^Not a number of type {kind.name}$"):
        parse_type(kind, text)


@pytest.mark.parametrize("text", DOUBLES)
def test_doubles_as_java_reads_them(text: str) -> None:
    if (expected := DOUBLES[text]) is not None:
        assert parse_type(DOUBLE, text) == expected
        return
    with pytest.raises(ValueError, match=r"^Not a number of type DOUBLE$"):
        parse_type(DOUBLE, text)
    assert math.isnan(parse_type(DOUBLE, "NaN"))


def test_only_what_java_trims_is_trimmed() -> None:
    assert parse_type(STRING, " \x01x\x1f ") == "x"
    assert parse_type(STRING, "\u00a0x") == "\u00a0x"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("kinds", "a,", "Configuration 'kinds' values must not be empty."),
        ("kinds", ",", "Configuration 'kinds' values must not be empty."),
        ("kinds", "a,,b", "Configuration 'kinds' values must not be empty."),
        ("names", " ", "Configuration 'names' must not be empty. Valid values include: any non-empty value"),
    ],
)
def test_lists_that_kafka_refuses(name: str, text: str, message: str) -> None:
    with pytest.raises(KafkaError) as refused:
        options_of(Sample)[name].parse(text)
    assert (refused.value.code, refused.value.message) == (ErrorCode.INVALID_CONFIG, message)


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
