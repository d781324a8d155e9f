"""Log lines: time, level, logger, text with key=value, on standard error."""

from __future__ import annotations

import logging
import sys


def configure(level: str) -> None:
    """Send the loggers of oncelog to standard error. `level`: a name of `logging`; ValueError for another."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    root = logging.getLogger("oncelog")
    root.handlers[:] = [handler]
    root.propagate = False
    root.setLevel(level.upper())
