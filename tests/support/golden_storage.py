"""The recorded Apache Kafka 4.3.0 data directories: `clean` (orderly stop) and `killed` (kill -9, three open transactions)."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parent.parent / "golden" / "storage"


def unpack(name: str, target: Path) -> Path:
    """Unpack `clean` or `killed` under `target`; the data directory."""
    with tarfile.open(GOLDEN / f"{name}.tar.gz") as archive:
        archive.extractall(target, filter="data")
    return target / name


def facts(name: str) -> dict[str, Any]:
    """What an independent reader found in that directory, e.g. `facts("clean")`, `facts("killed.served")`."""
    content: dict[str, Any] = json.loads((GOLDEN / f"{name}.json").read_text())
    return content
