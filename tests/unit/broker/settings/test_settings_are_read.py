"""No setting promises what nobody does: each is read somewhere, or its text begins with "Accepted"."""

from __future__ import annotations

import re
from pathlib import Path

import oncelog.broker
import pytest
from oncelog.broker.settings.broker import SECTIONS
from oncelog.broker.settings.catalogue import SYNONYMS, ReplicationAndTieringConfig, TimeUnitConfig
from oncelog.broker.settings.group_overrides import group_options
from oncelog.broker.settings.without_effect import accepted_options
from oncelog.protocol.config_def import Option, options_of

pytestmark = pytest.mark.unit
ROOT = Path(oncelog.broker.__file__).parents[1]
CATALOGUE = (
    "broker/settings/server.py",
    "broker/settings/catalogue.py",
    "broker/settings/group_overrides.py",
    "broker/settings/without_effect.py",
)
LAYERS = ("protocol", "storage", "coordinator", "broker")
DECLARATION = re.compile(r"^    \w+: [^\n]* = option\((?:[^\n]*\)|.*?\n    \))$", re.MULTILINE | re.DOTALL)


def sources() -> dict[str, str]:
    """Every source file without the declarations of settings."""
    files = [path for layer in LAYERS for path in (ROOT / layer).rglob("*.py")]
    return {str(path.relative_to(ROOT)): DECLARATION.sub("", path.read_text()) for path in files}


def is_read(declared: Option, texts: dict[str, str]) -> bool:
    """By its attribute anywhere, or by one of its names outside the catalogue."""
    attribute = re.compile(rf"\.{declared.attribute}\b")
    names = {declared.kafka_name, declared.topic_name, *declared.aliases} - {None, ""}
    quoted = [f'"{name}"' for name in names]
    return any(attribute.search(text) or (path not in CATALOGUE and any(name in text for name in quoted)) for path, text in texts.items())


def test_every_setting_is_read_or_says_that_it_is_only_accepted() -> None:
    texts = sources()
    # a bound of a group's setting is looked up by its name made of parts: see group_overrides.check_bounds
    bounds = re.compile(r"group\.(consumer|share|streams)\.(min|max)\.")
    silent = [
        declared.kafka_name or declared.topic_name
        for cls in SECTIONS
        for declared in options_of(cls).values()
        if not declared.doc.startswith("Accepted") and not bounds.match(declared.kafka_name) and not is_read(declared, texts)
    ]
    assert silent == []


def test_the_scan_sees_a_setting_that_nobody_reads() -> None:
    texts = sources()
    idle = Option("nobody_reads_this", "nobody.reads.this", options_of(SECTIONS[0])["node_id"].type, 1, "Promises.")
    assert not is_read(idle, texts)
    assert is_read(options_of(SECTIONS[0])["num_partitions"], texts)


def test_what_a_group_sets_for_itself_is_read_or_only_accepted() -> None:
    text = "".join(sources().values())
    silent = [name for name, declared in group_options().items() if not declared.doc.startswith("Accepted") and f'"{name}"' not in text]
    assert silent == []


def test_coarse_units_stand_for_a_setting_in_milliseconds() -> None:
    stand = {name for names in SYNONYMS.values() for name in names}
    assert {declared.kafka_name for declared in options_of(TimeUnitConfig).values()} <= stand


def test_what_is_not_here_is_only_accepted() -> None:
    declared = (*options_of(ReplicationAndTieringConfig).values(), *accepted_options().values())
    assert [each.kafka_name or each.topic_name for each in declared if not each.doc.startswith("Accepted")] == []
