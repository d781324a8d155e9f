"""The generated files are fresh, and a stale one is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import docs

pytestmark = pytest.mark.unit


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
