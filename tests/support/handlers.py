"""The function that answers requests of an API."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from oncelog.protocol.api_keys import ApiKey


def handler(key: ApiKey) -> Any:
    package = importlib.import_module("oncelog.broker.handlers")
    (path,) = Path(package.__path__[0]).glob(f"api_{key:02d}_*.py")
    return importlib.import_module(f"oncelog.broker.handlers.{path.stem}").handle
