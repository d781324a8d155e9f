"""The recorded Apache Kafka 4.3.0 data directories: `clean` (orderly stop) and `killed` (kill -9, three open transactions)."""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parent.parent / "golden" / "storage"


def unpack(name: str, target: Path) -> Path:
    """Unpack `clean` or `killed` under `target`; the data directory."""
    with tarfile.open(GOLDEN / f"{name}.tar.gz") as archive:
        archive.extractall(target, filter="data")
    return target / name


def emptied(golden: Path, target: Path) -> Path:
    """`target`: a stopped Kafka with the topics of the recorded directory and no records."""
    made = Path(shutil.copytree(golden, target))
    for folder in made.iterdir():
        if folder.is_dir() and folder.name != "__cluster_metadata-0":
            for path in folder.iterdir():
                if path.name != "partition.metadata":
                    path.unlink()
            (folder / f"{0:020d}.log").touch()
    (made / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":1}')
    return made


def facts(name: str) -> dict[str, Any]:
    """What an independent reader found in that directory, e.g. `facts("clean")`, `facts("killed.served")`."""
    content: dict[str, Any] = json.loads((GOLDEN / f"{name}.json").read_text())
    return content
