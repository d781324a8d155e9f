"""The unit tests under coverage, in two processes side by side: `python -m tools.unit_coverage [argument of pytest…]`.

Coverage doubles what they take, and none of those that it measures looks at the time. What both took is combined in `.coverage`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FIRST = ("broker", "coordinator", "protocol")  # of tests/unit, about half of the work


def main(arguments: Sequence[str], root: Path = ROOT) -> int:
    """Exit status of the first process that failed, else 0."""
    first = [f"tests/unit/{folder}" for folder in FIRST]
    runs = [[folder for folder in first if (root / folder).is_dir()], ["tests/unit", *(f"--ignore={folder}" for folder in first)]]
    data = [root / f".coverage.{number}" for number in range(len(runs))]
    with tempfile.TemporaryFile() as later:
        started: list[subprocess.Popen[bytes]] = []
        try:
            for what, file in zip(runs, data, strict=True):
                command = [sys.executable, "-m", "coverage", "run", f"--data-file={file}", "-m", "pytest", *arguments, *what]
                out = later if started else None  # one is seen at once, the other when it is over
                started.append(subprocess.Popen(command, cwd=root, stdout=out, stderr=out))
            failed = [status for status in [process.wait() for process in started] if status]
        finally:
            for process in started:
                process.kill()
                process.wait()
        later.seek(0)
        sys.stdout.write(later.read().decode(errors="replace"))
    sys.stdout.flush()
    combined = subprocess.run([sys.executable, "-m", "coverage", "combine", "--quiet", *map(str, data)], cwd=root, check=False)
    return (failed or [combined.returncode])[0]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
