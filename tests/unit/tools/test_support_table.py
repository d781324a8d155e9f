"""Rows of APIS.md and SETTINGS.md: every API and setting has one, and it says what is declared."""

from __future__ import annotations

from pathlib import Path

import pytest
from oncelog.broker.net.dispatch import ApiRegistry
from oncelog.broker.settings.broker import SECTIONS
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.config_def import INT, LIST, config_class, option

from tools.support_table import GOLDEN, NOTES, SettingRow, api_rows, apis, read_reference, setting_rows, settings


def test_every_api_has_a_row_with_our_versions_and_kafkas() -> None:
    rows = {row.key: row for row in api_rows(read_reference(GOLDEN))}
    assert {one.key for one in ApiRegistry().declared()} <= rows.keys()
    assert (rows[32].ours, rows[32].kafkas, rows[32].name) == ("1-4", "1-4", "DescribeConfigs")
    assert (rows[35].ours, rows[35].kafkas) == ("1-5", "1-5")
    assert "answered, not advertised" in rows[71].note
    assert rows.keys() >= {int(key) for key in NOTES}


def test_no_api_claims_a_version_that_kafka_lacks() -> None:
    reference = read_reference(GOLDEN)
    for one in ApiRegistry().declared():
        if one.key in reference:
            _, lowest, highest = reference[one.key]
            assert lowest <= one.min_version <= one.max_version <= highest, one.key.name


def test_every_setting_has_a_row_with_its_meaning() -> None:
    rows = setting_rows(SECTIONS)
    names = [row.name.split(" ")[0] for row in rows]
    assert names == sorted(names)
    assert len(set(names)) == len(names)
    assert all(row.doc for row in rows)
    assert "log.segment.bytes (topic: segment.bytes)" in [row.name for row in rows]


def test_what_only_one_of_us_serves() -> None:
    rows = {row.key: row for row in api_rows({0: ("Produce", 3, 13), int(ApiKey.VOTE): ("Vote", 2, 2)})}
    assert rows.keys() == {*(one.key for one in ApiRegistry().declared()), ApiKey.VOTE}
    vote, metadata, produce = rows[ApiKey.VOTE], rows[ApiKey.METADATA], rows[ApiKey.PRODUCE]
    assert (vote.name, vote.ours, vote.kafkas, vote.note) == ("Vote", "", "2", "not served")
    assert (metadata.name, metadata.kafkas) == ("Metadata", "")
    assert (produce.kafkas, produce.note) == ("3-13", NOTES[ApiKey.PRODUCE])


@config_class
class Sample:
    size: int = option("log.size", INT, 7, "A size|s.", topic="size")
    kinds: tuple[str, ...] = option("kinds", LIST, ("a", "b"), "Kinds.", topic="kinds", ours=True)
    more: int | None = option("more", INT, None, "More.")
    later: int = option("later", INT, 1, "Later.", dynamic=True)
    hidden: int = option("internal.x", INT, 1, "Hidden.")


def test_a_settings_row_says_what_was_declared() -> None:
    assert setting_rows([Sample]) == [
        SettingRow("kinds", "list", "a,b", "any time", "oncelog only. Kinds."),
        SettingRow("later", "int", "1", "any time", "Later."),
        SettingRow("log.size (topic: size)", "int", "7", "any time", "A size|s."),
        SettingRow("more", "int", "", "start", "More."),
    ]


@pytest.mark.parametrize(("text", "columns"), [(apis(), 5), (settings(), 5)])
def test_the_tables_are_tables(text: str, columns: int) -> None:
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert len(lines) > 50
    assert {line.count("|") for line in lines} == {columns + 1}
    assert lines[1] == "| --- | --- | --- | --- | --- |"


def test_no_recording_no_table(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_reference(tmp_path / "none.json")
