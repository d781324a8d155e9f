"""From the start of the process to the first ApiVersions answer, an empty directory."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tests.bench.results import MACHINE, OURS
from tests.bench.stage import Outcome, Row, Stage

SECTION = "Start"
ROOT = Path(__file__).parents[3]
PACKAGES = ("protocol", "storage", "coordinator", "broker")


def start(stage: Stage) -> Outcome:
    with stage.window():
        seconds = stage.server.start()
    return Outcome(seconds * 1000, 1)


def first_start(stage: Stage) -> Outcome:
    """From a copy of the source that has no bytecode yet; that of its libraries is there."""
    source = stage.folder / "source" / "oncelog"
    for name in PACKAGES:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    stage.server.environment = {"PYTHONPATH": str(source.parent), "PYTHONDONTWRITEBYTECODE": ""}
    found = start(stage)
    if not any((source / "broker" / "__pycache__").glob("lifecycle.*.pyc")):
        raise RuntimeError("it did not start from the copy of the source")
    return found


def imports(stage: Stage) -> Outcome:
    """What a Python with an event loop takes that does nothing."""
    with stage.window():
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import asyncio, uvloop"], check=True, env=os.environ)
        seconds = time.perf_counter() - begin
    return Outcome(seconds * 1000)


ROWS = [
    Row("start", "start to ApiVersions", "ms", start, per="start", better="less", started=False),
    Row(
        "start-first",
        "the first start after an install, no bytecode",
        "ms",
        first_start,
        per="start",
        better="less",
        only=(OURS,),
        started=False,
    ),
    Row("start-python", "python -c 'import asyncio, uvloop'", "ms", imports, better="less", only=(MACHINE,)),
]
