"""One typed option: Kafka's names, type, default, documentation and validator together (Kafka's `ConfigDef`).

A config class is a frozen dataclass whose fields are made by `option(...)`. DescribeConfigs, the generated settings table,
the command line and the parsers of files and environment all read the same `Option`.

    @config_class
    class LogConfig:
        segment_bytes: int = option("log.segment.bytes", INT, 1 << 30, "Size at which ...", topic="segment.bytes", at_least=14)

    LogConfig.parse({"log.segment.bytes": "1048576"})          # -> LogConfig; KafkaError(INVALID_CONFIG) on a bad value
    options_of(LogConfig)["segment_bytes"].kafka_name           # -> "log.segment.bytes"
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any, TypeVar, dataclass_transform

from oncelog.protocol.errors import ErrorCode, KafkaError

T = TypeVar("T")


class ConfigType(IntEnum):
    """Numbers as in DescribeConfigs v3+ `config_type`."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


_UNKNOWN, BOOLEAN, STRING, INT, SHORT, LONG, DOUBLE, LIST, CLASS, PASSWORD = ConfigType
LONG_MAX = 2**63 - 1
_RANGE = {INT: (-(2**31), 2**31 - 1), SHORT: (-(2**15), 2**15 - 1), LONG: (-(2**63), LONG_MAX)}


@dataclasses.dataclass(frozen=True, slots=True)
class Option:
    """What is known of one setting. `kafka_name` is the broker's name, `topic_name` the topic level one (None: none)."""

    attribute: str
    kafka_name: str
    type: ConfigType
    default: Any
    doc: str
    topic_name: str | None = None
    validate: Callable[[Any], str | None] | None = None
    dynamic: bool = False
    ours: bool = False
    sensitive: bool = False
    aliases: tuple[str, ...] = ()

    def parse(self, text: str) -> Any:
        """The typed value of `text`; raises KafkaError(INVALID_CONFIG) that names the setting and what it takes."""
        try:
            value = _convert(self.type, text)
        except ValueError:
            raise self._bad(text, f"not a number of type {self.type.name}") from None
        bounds = _RANGE.get(self.type)
        if bounds and not bounds[0] <= value <= bounds[1]:
            raise self._bad(text, f"outside the range of {self.type.name}")
        complaint = self.validate(value) if self.validate else None
        if complaint:
            raise self._bad(text, complaint)
        return value

    def format(self, value: Any) -> str | None:
        """`value` as Kafka prints it."""
        if value is None:
            return None
        if isinstance(value, bool):
            return "true" if value else "false"
        return ",".join(value) if isinstance(value, tuple) else str(value)

    def _bad(self, text: str, why: str) -> KafkaError:
        name = self.topic_name or self.kafka_name
        return KafkaError(ErrorCode.INVALID_CONFIG, f"Invalid value {text} for configuration {name}: {why}")


def _convert(kind: ConfigType, text: str) -> Any:
    text = text.strip()
    match kind:
        case ConfigType.BOOLEAN:
            if text.lower() not in ("true", "false"):
                raise ValueError(text)
            return text.lower() == "true"
        case ConfigType.INT | ConfigType.SHORT | ConfigType.LONG:
            return int(text)
        case ConfigType.DOUBLE:
            return float(text)
        case ConfigType.LIST:
            return tuple(part.strip() for part in text.split(",") if part.strip())
        case _:
            return text


def option(
    kafka_name: str,
    type: ConfigType,
    default: Any,
    doc: str,
    *,
    topic: str | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    one_of: tuple[str, ...] | None = None,
    validate: Callable[[Any], str | None] | None = None,
    dynamic: bool = False,
    ours: bool = False,
    sensitive: bool = False,
    aliases: tuple[str, ...] = (),
) -> Any:
    """A dataclass field that carries its `Option`. A list's default and value are tuples of str."""

    def check(value: Any) -> str | None:
        if at_least is not None and value < at_least:
            return f"Value must be at least {at_least}"
        if at_most is not None and value > at_most:
            return f"Value must be no more than {at_most}"
        for part in value if isinstance(value, tuple) else (value,):
            if one_of is not None and part not in one_of:
                return f"String must be one of: {', '.join(one_of)}"
        return validate(value) if validate else None

    declared = Option("", kafka_name, type, default, doc, topic, check, dynamic, ours, sensitive, aliases)
    return dataclasses.field(default=default, metadata={"option": declared})


@dataclass_transform(field_specifiers=(option,))
def config_class(cls: type[T]) -> type[T]:
    """Make `cls` a frozen, slotted dataclass of options."""
    return dataclasses.dataclass(frozen=True, slots=True, kw_only=True)(cls)


@functools.cache
def options_of(cls: Any) -> Mapping[str, Option]:
    """attribute -> Option, in order of declaration."""
    return {
        field.name: dataclasses.replace(field.metadata["option"], attribute=field.name)
        for field in dataclasses.fields(cls)
        if "option" in field.metadata
    }


def parse_config(cls: type[T], values: Mapping[str, str], *, topic_level: bool = False, base: T | None = None) -> T:
    """`cls` with `values` (names as Kafka writes them) laid over `base` (default: the defaults); unknown names are left alone.

    With `topic_level` the topic names count, else the broker's. Raises KafkaError(INVALID_CONFIG).
    """
    found: dict[str, Any] = {}
    for attribute, declared in options_of(cls).items():  # type: ignore[arg-type]  # a class is hashable
        names = (declared.topic_name,) if topic_level else (*reversed(declared.aliases), declared.kafka_name)
        for name in names:
            if name is not None and name in values:
                found[attribute] = declared.parse(values[name])
    return dataclasses.replace(base, **found) if base is not None else cls(**found)  # type: ignore[type-var]
