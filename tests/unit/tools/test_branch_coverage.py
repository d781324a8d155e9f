"""The figure of the README against what was measured."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("coverage", reason="make dev installs it")
from tools import branch_coverage

PROJECT = '[tool.coverage.run]\nbranch = true\nsource = ["."]\n'
SCRIPT = "import sys\nif len(sys.argv) > 5:\n    print(1)\nfor _ in range(2):\n    pass\n"  # four branches, of which three are taken
SAYS = "Branch coverage by `tests/unit` alone: at least {} %."


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    (tmp_path / "script.py").write_text(SCRIPT)
    subprocess.run([sys.executable, "-m", "coverage", "run", "script.py"], cwd=tmp_path, check=True, timeout=60)
    return tmp_path


def test_branches_taken_of_a_hundred(project: Path) -> None:
    assert branch_coverage.percentage(project) == 75.0


@pytest.mark.parametrize(("said", "status"), [(75, 0), (74, 0), (73, 0), (76, 1)])
def test_the_readme_promises_no_more(project: Path, said: int, status: int, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "README.md").write_text(f"# x\n{SAYS.format(said)}\n")
    assert branch_coverage.main(project) == status
    told = capsys.readouterr()
    assert told.out == "branch coverage 75.0 %\n"
    assert told.err == ("" if said in (74, 75) else f"README.md says at least {said} %\n")


def test_the_readme_tells_it() -> None:
    assert branch_coverage.told((branch_coverage.ROOT / "README.md").read_text("utf-8"))
    with pytest.raises(ValueError, match="does not tell"):
        branch_coverage.told("nothing")
