"""The examples' own tests, run as their README says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


@pytest.mark.parametrize("folder", ["payments"])
def test_an_example_passes_its_own_tests(folder: str) -> None:
    options = [
        "-p",
        "no:cacheprovider",
        "-p",
        "no:oncelog",
        "-p",
        "oncelog.broker.pytest_plugin",
        "-c",
        os.devnull,
        "--rootdir",
        str(EXAMPLES),
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / ".src")}
    command = [sys.executable, "-m", "pytest", *options, folder]
    done = subprocess.run(command, cwd=EXAMPLES, env=environment, capture_output=True, text=True, timeout=110, check=False)
    wanted = (EXAMPLES / folder / f"test_{folder}.py").read_text().count("\ndef test_")
    assert re.search(rf"= {wanted} passed in", done.stdout), done.stdout + done.stderr


def test_the_readme_names_every_example() -> None:
    folders = [path.name for path in EXAMPLES.iterdir() if path.is_dir() and path.name != "__pycache__"]
    assert [name for name in folders if f"[`{name}/`]" not in (EXAMPLES / "README.md").read_text()] == []
