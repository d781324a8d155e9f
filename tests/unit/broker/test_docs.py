"""The generated tables of the README."""

from __future__ import annotations

from pathlib import Path

import pytest
from oncelog.broker import docs
from oncelog.broker.net.dispatch import ApiRegistry
from oncelog.broker.settings.broker import SECTIONS
from oncelog.broker.support_table import NOTES, api_rows, read_reference, setting_rows

pytestmark = pytest.mark.unit


def test_every_api_has_a_row_with_our_versions_and_kafkas() -> None:
    rows = {row.key: row for row in api_rows(read_reference(docs.GOLDEN))}
    assert {one.key for one in ApiRegistry().declared()} <= rows.keys()
    assert (rows[32].ours, rows[32].kafkas, rows[32].name) == ("1-4", "1-4", "DescribeConfigs")
    assert (rows[35].ours, rows[35].kafkas) == ("1-5", "1-5")
    assert "answered, not advertised" in rows[71].note
    assert rows.keys() >= {int(key) for key in NOTES}


def test_no_api_claims_a_version_that_kafka_lacks() -> None:
    reference = read_reference(docs.GOLDEN)
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


def test_blocks_are_made_anew_and_what_stands_around_them_stays() -> None:
    text = "before\n<!-- generated: apis -->\nold\n<!-- /generated: apis -->\nafter\n"
    made = docs.regenerated(text)
    assert made.startswith("before\n<!-- generated: apis -->\n| Key | API |")
    assert made.endswith("|\n<!-- /generated: apis -->\nafter\n")
    assert docs.regenerated(made) == made


def test_a_stale_readme_is_an_error_until_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("<!-- generated: settings -->\n<!-- /generated: settings -->\n")
    monkeypatch.setattr(docs, "README", readme)
    assert docs.main(["--check"]) == 1
    assert docs.main([]) == 0
    assert docs.main(["--check"]) == 0
    assert docs.main(["--what"]) == 2
