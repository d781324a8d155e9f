"""A child process that runs a few lines of Python."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from oncelog.spark_jobs.demo_parts.children import Child


class Script(Child):
    """A child that runs `code`."""

    def __init__(self, code: str, log: Path, on_line: Callable[[str], None] | None = None) -> None:
        super().__init__("script", log=log, on_line=on_line)
        self.command = [self.command[0], "-c", code]
