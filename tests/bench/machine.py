"""What a run was measured on, and with what: figures without it mean nothing."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import tempfile
from importlib.metadata import version
from pathlib import Path

from tests.referee import apache_kafka

ROOT = Path(__file__).parents[2]


def facts() -> dict[str, str]:
    return {
        "processor": _processor(Path("/proc/cpuinfo").read_text()),
        "cores": str(os.cpu_count()),
        "memory": f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / (1 << 30):.0f} GiB",
        "file system": filesystem(Path("/proc/mounts").read_text(), Path(tempfile.gettempdir()).resolve()),
        "kernel": platform.release(),
        "Python": platform.python_version(),
        "uvloop": version("uvloop"),
        "librdkafka": _librdkafka(),
        "Apache Kafka": apache_kafka.version(),
        "kfake": kfake((Path(__file__).with_name("kfake") / "go.mod").read_text()),
        "source": _source(),
    }


def _processor(text: str) -> str:
    found = re.search(r"^model name\s*: (.+)$", text, re.MULTILINE)
    return found[1].strip() if found else platform.machine()


def filesystem(mounts: str, folder: Path) -> str:
    """The type of the file system that `folder` is on, from /proc/mounts."""
    kinds = {fields[1]: fields[2] for fields in (line.split() for line in mounts.splitlines())}
    return next(kinds[str(place)] for place in (folder, *folder.parents) if str(place) in kinds)


def kfake(module: str) -> str:
    """The version that go.mod asks for."""
    found = re.search(r"franz-go/pkg/kfake (\S+)", module)
    assert found is not None
    return found[1]


def _librdkafka() -> str:
    import confluent_kafka

    return str(confluent_kafka.libversion()[0])


def _source() -> str:
    """The commit, and whether the product was changed since."""
    try:
        commit = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.strip()
        changed = subprocess.run(["git", "status", "--porcelain", "--untracked-files=no"], cwd=ROOT, capture_output=True, check=True).stdout
    except (FileNotFoundError, subprocess.CalledProcessError):
        return "unknown"
    return f"{commit}, changed" if changed else commit
