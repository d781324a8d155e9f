"""A config as DescribeConfigs shows it."""

from __future__ import annotations

from typing import NamedTuple

from oncelog.broker.settings.catalogue import ConfigSource
from oncelog.protocol.config_def import ConfigType, Option


class Synonym(NamedTuple):
    """One of the values that a setting could take, were it not for those before it."""

    name: str
    value: str | None
    source: ConfigSource


class ConfigEntry(NamedTuple):
    """A config as DescribeConfigs shows it."""

    name: str
    value: str | None
    source: ConfigSource
    type: int
    read_only: bool
    sensitive: bool
    documentation: str
    synonyms: tuple[Synonym, ...]


def entry_of(name: str, declared: Option, value: str | None, synonyms: list[Synonym]) -> ConfigEntry:
    """The entry of a setting whose values, first one first, are `synonyms`; a secret shows none of them."""
    secret = declared.sensitive or declared.type is ConfigType.PASSWORD
    shown = tuple(synonym._replace(value=None) for synonym in synonyms) if secret else tuple(synonyms)
    return ConfigEntry(
        name=name,
        value=None if secret else value,
        source=synonyms[0].source if synonyms else ConfigSource.DEFAULT,
        type=declared.type,
        # a topic's, group's and subscription's settings are all dynamic, those of the broker some
        read_only=not (declared.dynamic or declared.topic_name is not None),
        sensitive=secret,
        documentation=declared.doc,
        synonyms=shown,
    )
