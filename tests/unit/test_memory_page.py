"""broker/MEMORY.md names settings that exist, with the defaults that are in force, and stays a page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from oncelog.broker.settings.broker import SECTIONS
from oncelog.protocol.config_def import options_of

PAGE = (Path(__file__).parents[2] / "broker" / "MEMORY.md").read_text("utf-8")
DEFAULTS = {
    option.kafka_name: option.format(option.default) or ""
    for section in SECTIONS
    for option in options_of(section).values()
    if option.kafka_name
}
# of a table of bounds: what | setting | default | bytes each | at the bound
ROWS = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in PAGE.splitlines() if line.startswith("|") and " | `" in line]


def test_it_is_a_page() -> None:
    assert len(PAGE.splitlines()) <= 80


def test_every_setting_in_the_text_exists() -> None:
    named = {name for name in re.findall(r"`([a-z]+(?:\.[a-z0-9]+)+)`", PAGE) if not name.endswith(".py")}
    assert named - DEFAULTS.keys() == {"queued.max.requests"}  # Kafka's alone


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_defaults_are_those_in_force(row: list[str]) -> None:
    _what, setting, default, each, outcome = row
    assert DEFAULTS[setting.strip("`")] == default
    assert each
    assert outcome


def test_every_bound_on_memory_is_there() -> None:
    """Settings whose names say that they limit how much is held."""
    limits = {name for name in DEFAULTS if re.search(r"(^|\.)(queued\.max|max\.connections|max\.size|cache\.slots|receive\.size)", name)}
    told = {row[1].strip("`") for row in ROWS} | {"max.connections.per.ip.overrides", "queued.max.requests"}
    assert limits - told == set()
    assert len(ROWS) >= 15
