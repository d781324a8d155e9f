"""Test programs in other languages: each prints one line of JSON facts as its last line."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def output(command: Sequence[str], folder: Path | None = None, seconds: float = 100, given: str | None = None) -> str:
    """stdout of a program that must end with status 0 within `seconds`; `given` is its stdin."""
    done = subprocess.run(command, cwd=folder, input=given or "", capture_output=True, text=True, timeout=seconds, check=False)
    assert done.returncode == 0, f"{' '.join(command)[-300:]} ended with {done.returncode}:\n{done.stdout[-3000:]}\n{done.stderr[-6000:]}"
    return done.stdout


def facts(command: Sequence[str], folder: Path | None = None, seconds: float = 100) -> dict[str, Any]:
    """The JSON object in the last line."""
    lines = output(command, folder, seconds).strip().splitlines()
    assert lines, f"{command} printed nothing"
    found: dict[str, Any] = json.loads(lines[-1])
    return found
