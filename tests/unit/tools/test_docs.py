"""The generated files, and the rows of their tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from oncelog.broker.net.dispatch import ApiRegistry
from oncelog.broker.settings.broker import SECTIONS

from tools import docs
from tools.support_table import GOLDEN, NOTES, api_rows, read_reference, setting_rows

pytestmark = pytest.mark.unit


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


def test_the_generated_files_are_fresh(capsys: pytest.CaptureFixture[str]) -> None:
    assert (docs.main(["--check"]), capsys.readouterr().err) == (0, "")


def test_a_stale_file_is_named_until_it_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in docs.GENERATED:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    assert docs.main([], tmp_path) == 0
    assert docs.main(["--check"], tmp_path) == 0
    (tmp_path / "broker" / "APIS.md").write_text("old\n")
    (tmp_path / "broker" / "SETTINGS.md").unlink()
    assert docs.main(["--check"], tmp_path) == 1
    assert capsys.readouterr().err == "".join(
        f"{name} is stale: run `python -m tools.docs`\n" for name in ("broker/APIS.md", "broker/SETTINGS.md")
    )
    assert docs.main([], tmp_path) == 0
    assert docs.main(["--check"], tmp_path) == 0
    assert docs.main(["--what"], tmp_path) == 2
