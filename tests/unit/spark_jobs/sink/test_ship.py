"""The zip for executors: all that the writing half needs, once, and not where the driver's installation is shared."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from oncelog.spark_jobs.sink import ship
from oncelog.spark_jobs.sink.ship import ship_modules, write_zip


def test_shipped_zip_needs_nothing_but_python(tmp_path: Path) -> None:
    """An executor's bare interpreter can import the writing half from the zip."""
    shipped = write_zip(tmp_path / "jobs.zip")
    assert "oncelog/spark_jobs/sink/raw_producer.py" in zipfile.ZipFile(shipped).namelist()
    program = "import oncelog.spark_jobs.sink.raw_producer as m, sys; print(m.__file__); assert 'pyspark' not in sys.modules"
    done = subprocess.run(
        [sys.executable, "-S", "-E", "-c", f"import sys; sys.path.insert(0, {str(shipped)!r}); {program}"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert str(shipped) in done.stdout


class Context:
    """What Spark's context is asked and told."""

    def __init__(self, master: str) -> None:
        self.master = master
        self.listFiles: list[str] = []

    def addPyFile(self, path: str) -> None:
        self.listFiles.append("spark://driver/files/" + Path(path).name)


@pytest.mark.parametrize(
    ("master", "ships"),
    [("local", False), ("local[*]", False), ("local[2,3]", False), ("local-cluster[2,1,512]", True), ("spark://h:7077", True)],
)
def test_a_cluster_gets_the_zip_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, master: str, ships: bool) -> None:
    monkeypatch.setattr(ship, "packed", lambda: tmp_path / "oncelog-jobs.zip")
    context = Context(master)
    for _ in range(2):
        ship_modules(context)
    assert len(context.listFiles) == ships
