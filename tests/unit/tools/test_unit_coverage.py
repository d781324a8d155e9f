"""Two halves, one verdict, one file of data."""

from __future__ import annotations

from pathlib import Path

import pytest
from coverage import CoverageData

from tools.unit_coverage import main

pytestmark = pytest.mark.unit
TEST = "import {module}\n\n\ndef test_it() -> None:\n    assert {module}.one() == {expected}\n"


def project(root: Path, first: int, second: int) -> Path:
    for folder, module, expected in (("tests/unit/broker", "first", first), ("tests/unit/storage", "second", second)):
        (root / folder).mkdir(parents=True)
        (root / f"{module}.py").write_text("def one() -> int:\n    return 1\n")
        (root / folder / f"test_{module}.py").write_text(TEST.format(module=module, expected=expected))
    (root / "pyproject.toml").write_text("[tool.pytest.ini_options]\npythonpath = ['.']\n[tool.coverage.run]\nbranch = true\n")
    return root


@pytest.mark.parametrize(("first", "second", "status"), [(1, 1, 0), (2, 1, 1), (1, 2, 1)])
def test_both_halves_are_run_and_told(tmp_path: Path, capfd: pytest.CaptureFixture[str], first: int, second: int, status: int) -> None:
    root = project(tmp_path, first, second)
    assert main(["-q", "-p", "no:cacheprovider"], root) == status
    told = capfd.readouterr().out
    assert told.count("1 passed") + told.count("1 failed") == 2
    measured = CoverageData(str(root / ".coverage"))
    measured.read()
    assert {Path(file).name for file in measured.measured_files()} >= {"first.py", "second.py"}
    assert not list(root.glob(".coverage.*"))


def test_no_test_in_one_half_is_no_success(tmp_path: Path) -> None:
    root = project(tmp_path, 1, 1)
    (root / "tests/unit/broker/test_first.py").unlink()
    assert main(["-q", "-p", "no:cacheprovider"], root) == 5
