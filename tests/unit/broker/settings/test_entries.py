"""One setting as DescribeConfigs shows it: where its value comes from, and what is kept secret."""

from __future__ import annotations

import dataclasses

import pytest
from oncelog.broker.settings.catalogue import ConfigSource
from oncelog.broker.settings.entries import Synonym, entry_of
from oncelog.protocol.config_def import ConfigType, Option

pytestmark = pytest.mark.unit
PLAIN = Option("", "x.y", ConfigType.LONG, 5, "What it does.")
LAYERS = [Synonym("x.y", "7", ConfigSource.DYNAMIC_BROKER), Synonym("x.y", "5", ConfigSource.DEFAULT)]


def test_the_first_value_names_its_source() -> None:
    entry = entry_of("x.y", PLAIN, "7", LAYERS)
    assert (entry.name, entry.value, entry.source, entry.type) == ("x.y", "7", ConfigSource.DYNAMIC_BROKER, ConfigType.LONG)
    assert (entry.synonyms, entry.sensitive, entry.documentation) == (tuple(LAYERS), False, "What it does.")


def test_without_values_it_is_the_default() -> None:
    entry = entry_of("x.y", PLAIN, None, [])
    assert (entry.value, entry.source, entry.synonyms) == (None, ConfigSource.DEFAULT, ())


@pytest.mark.parametrize(
    "secret", [dataclasses.replace(PLAIN, type=ConfigType.PASSWORD), dataclasses.replace(PLAIN, sensitive=True)], ids=["password", "marked"]
)
def test_a_secret_shows_that_it_is_set_and_nothing_more(secret: Option) -> None:
    entry = entry_of("x.y", secret, "7", LAYERS)
    assert (entry.value, entry.sensitive, entry.source) == (None, True, ConfigSource.DYNAMIC_BROKER)
    assert [synonym.value for synonym in entry.synonyms] == [None, None]
    assert [synonym.source for synonym in entry.synonyms] == [ConfigSource.DYNAMIC_BROKER, ConfigSource.DEFAULT]
    assert LAYERS[0].value == "7"  # what was handed in is left as it is


@pytest.mark.parametrize(
    ("declared", "read_only"),
    [
        (PLAIN, True),
        (dataclasses.replace(PLAIN, dynamic=True), False),
        (dataclasses.replace(PLAIN, topic_name="x"), False),
        (dataclasses.replace(PLAIN, topic_name=""), False),
    ],
)
def test_what_cannot_be_altered_is_read_only(declared: Option, read_only: bool) -> None:
    assert entry_of("x.y", declared, "7", LAYERS).read_only is read_only
