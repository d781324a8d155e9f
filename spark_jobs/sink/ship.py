"""Bring the sink's modules to executors that have no oncelog installed.

    python -m oncelog.spark_jobs.sink.ship oncelog-jobs.zip      # the same zip, for spark-submit --py-files

With a local master the workers share the driver's installation and nothing is shipped.
"""

from __future__ import annotations

import sys
import tempfile
import zipfile
from functools import lru_cache
from pathlib import Path
from typing import Any


def write_zip(target: Path) -> Path:
    """A zip with the package `oncelog.spark_jobs`, importable from `PYTHONPATH`."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        root = Path(__file__).parents[1]
        archive.writestr("oncelog/", "")  # a package without __init__ is found by its folder's entry alone
        archive.writestr("oncelog/spark_jobs/", "")
        archive.writestr("oncelog/spark_jobs/sink/", "")
        for source in sorted((*root.glob("*.py"), *root.glob("sink/*.py"))):
            archive.write(source, f"oncelog/spark_jobs/{source.relative_to(root)}")
    return target


@lru_cache(maxsize=1)
def packed() -> Path:
    """The zip for this process."""
    return write_zip(Path(tempfile.mkdtemp(prefix="oncelog-ship-")) / "oncelog-jobs.zip")


def ship_modules(context: Any) -> None:
    """Give the zip to every executor of `context`, once; workers put it on their path."""
    if context.master.startswith("local[") or context.master == "local":
        return
    shipped = packed()
    if not any(file.endswith(shipped.name) for file in context.listFiles):
        context.addPyFile(str(shipped))


if __name__ == "__main__":
    print(write_zip(Path(sys.argv[1] if len(sys.argv) > 1 else "oncelog-jobs.zip")))
