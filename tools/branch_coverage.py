"""Branch coverage of the run whose data is in `.coverage`: `python -m tools.branch_coverage` prints it, and holds the README to it."""

from __future__ import annotations

import json
import re
import sys
import tempfile
from pathlib import Path

from coverage import Coverage

ROOT = Path(__file__).resolve().parent.parent
_TOLD = re.compile(r"Branch coverage by `tests/unit` alone: at least (\d+) %")


def percentage(root: Path) -> float:
    """Branches taken, of a hundred. Raises CoverageException without data."""
    measured = Coverage(data_file=root / ".coverage", config_file=root / "pyproject.toml")
    measured.load()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        measured.json_report(outfile=str(report))
        totals = json.loads(report.read_text())["totals"]
    return 100 * float(totals["covered_branches"]) / float(totals["num_branches"])


def told(readme: str) -> int:
    """What the README says. Raises ValueError where it says nothing."""
    found = _TOLD.search(readme)
    if found is None:
        raise ValueError("the README does not tell the branch coverage")
    return int(found[1])


def main(root: Path = ROOT) -> int:
    """Exit status: 0 when the README promises no more than there is, else 1."""
    measured, claimed = percentage(root), told((root / "README.md").read_text("utf-8"))
    print(f"branch coverage {measured:.1f} %")
    if not claimed <= measured < claimed + 2:
        print(f"README.md says at least {claimed} %", file=sys.stderr)
    return 0 if claimed <= measured else 1


if __name__ == "__main__":
    sys.exit(main())
