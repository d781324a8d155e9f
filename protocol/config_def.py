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
import re
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
_TRIMMED = "".join(map(chr, range(0x21)))  # by Java's String.trim
_WHOLE = re.compile(r"[+-]?\d{1,100}")
_DOUBLE = re.compile(r"[+-]?(NaN|Infinity|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[fFdD]?)")
_COMMA = re.compile(r"\s*,\s*", re.ASCII)
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
    any_parts: bool = False
    not_empty: bool = False

    def parse(self, text: str) -> Any:
        """The typed value of `text`; raises KafkaError(INVALID_CONFIG) that names the setting and what it takes."""
        try:
            value = parse_type(self.type, text)
        except ValueError as error:
            raise self._bad(text, str(error)) from None
        if self.type is LIST and not self.any_parts:
            value = self._valid_list(value)
        complaint = self.validate(value) if self.validate else None
        if complaint:
            raise self._bad(text, complaint)
        return value

    def _valid_list(self, parts: tuple[str, ...]) -> tuple[str, ...]:
        """Each part once (`ConfigDef.ValidList`)."""
        if self.not_empty and not parts:
            raise self._refusal("must not be empty. Valid values include: any non-empty value")
        if "" in parts:
            raise self._refusal("values must not be empty.")
        return tuple(dict.fromkeys(parts))

    def format(self, value: Any) -> str | None:
        """`value` as Kafka prints it."""
        if value is None:
            return None
        if isinstance(value, bool):
            return "true" if value else "false"
        return ",".join(value) if isinstance(value, tuple) else str(value)

    def _bad(self, text: str, why: str) -> KafkaError:
        return KafkaError(ErrorCode.INVALID_CONFIG, f"Invalid value {text} for configuration {self.topic_name or self.kafka_name}: {why}")

    def _refusal(self, why: str) -> KafkaError:
        return KafkaError(ErrorCode.INVALID_CONFIG, f"Configuration '{self.topic_name or self.kafka_name}' {why}")


def parse_type(kind: ConfigType, text: str) -> Any:
    """The value of `text` as `ConfigDef.parseType` reads it (of doubles, no hexadecimal ones). Raises ValueError with what is expected."""
    text = text.strip(_TRIMMED)
    match kind:
        case ConfigType.BOOLEAN:
            if text.lower() not in ("true", "false"):
                raise ValueError("Expected value to be either true or false")
            return text.lower() == "true"
        case ConfigType.INT | ConfigType.SHORT | ConfigType.LONG:
            least, most = _RANGE[kind]
            if not _WHOLE.fullmatch(text) or not least <= (number := int(text)) <= most:
                raise ValueError(f"Not a number of type {kind.name}")
            return number
        case ConfigType.DOUBLE:
            if not _DOUBLE.fullmatch(text):
                raise ValueError(f"Not a number of type {kind.name}")
            return float(text.rstrip("fFdD"))
        case ConfigType.LIST:
            return tuple(_COMMA.split(text)) if text else ()
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
    any_parts: bool = False,
    not_empty: bool = False,
) -> Any:
    """A dataclass field that carries its `Option`. A list's default and value are tuples of str.

    A list keeps what it names twice once and refuses empty parts, but for `any_parts`; with `not_empty` it names something.
    """

    def check(value: Any) -> str | None:
        if at_least is not None and value < at_least:
            return f"Value must be at least {at_least}"
        if at_most is not None and value > at_most:
            return f"Value must be no more than {at_most}"
        for part in value if isinstance(value, tuple) else (value,):
            if one_of is not None and part not in one_of:
                return f"String must be one of: {', '.join(one_of)}"
        return validate(value) if validate else None

    declared = Option("", kafka_name, type, default, doc, topic, check, dynamic, ours, sensitive, aliases, any_parts, not_empty)
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
